/**
 * daemon-home.ts -- a home with a model server.
 *
 * The model's replies can be held back, so that a test controls what is under way.
 */
import { join } from "node:path";
import type { CommandCall } from "#core/call.ts";
import type { InboxRow } from "#core/ports/store.ts";
import { openSqliteReader } from "#store/sqlite/open-store.ts";
import { type Goald, lookInto, makeGoald, type StartOptions } from "./goald.ts";
import { numberedModel } from "./numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "./openai-server.ts";
import { waitUntil } from "./wait-until.ts";

export interface DaemonHome extends AsyncDisposable {
  readonly goald: Goald;
  readonly server: OpenAIServer;
  /** Holds back the replies from this request on (counted from 1), and releases those before it. */
  holdFrom(request: number): void;
  /** Releases every reply. */
  release(): void;
  /** Resolves after `count` requests. */
  asked(count: number): Promise<void>;
  /** Returns the process id of the daemon or run that holds the home; undefined when there is none. */
  hostPid(): Promise<number | undefined>;
  /** Resolves when the agent's log has `count` events of that type. */
  logged(type: string, count?: number, agent?: string): Promise<void>;
  until(isSo: () => Promise<boolean>, what: string): Promise<void>;
  /** Resolves when the agent's inbox has a message of that type. */
  delivered(type: string, agent?: string): Promise<void>;
}

export interface DaemonHomeOptions {
  readonly env?: StartOptions["env"];
  /** Replaces a model that works through `calls`. */
  readonly reply?: (request: Parameters<ReturnType<typeof numberedModel>>[0]) => string;
}

export async function makeDaemonHome(
  calls: readonly CommandCall[],
  options: DaemonHomeOptions = {},
): Promise<DaemonHome> {
  const think = options.reply ?? numberedModel(calls);
  let heldFrom = Number.POSITIVE_INFINITY;
  const held = new Map<number, () => void>();
  const server = await startOpenAIServer({
    reply: async (request, index) => {
      if (index + 1 >= heldFrom) await new Promise<void>((resolve) => held.set(index + 1, resolve));
      return think(request);
    },
    embeddings: null,
  });
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline", ...options.env });
  const holdFrom = (request: number): void => {
    heldFrom = request;
    for (const [number, letGo] of held) if (number < request) letGo();
  };
  const release = (): void => holdFrom(Number.POSITIVE_INFINITY);
  async function hostPid(): Promise<number | undefined> {
    const info = await goald.read(".goald/daemon.json");
    return info === undefined ? undefined : (JSON.parse(info) as { pid: number }).pid;
  }
  const until = (isSo: () => boolean | Promise<boolean>, what: string): Promise<void> => waitUntil(what, isSo);
  return {
    goald,
    server,
    holdFrom,
    release,
    asked: (count) => until(() => server.chats.length >= count, `request ${count}`),
    hostPid,
    until,
    logged: (type, count = 1, agent = "t") =>
      until(
        async () => (await lookInto(goald, agent)).log.filter((event) => event.type === type).length >= count,
        `${count} ${type}`,
      ),
    delivered: (type, agent = "t") =>
      until(async () => (await inboxOf(goald, agent)).some(({ message }) => message.type === type), `a ${type}`),
    [Symbol.asyncDispose]: async () => {
      release();
      await goald[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

async function inboxOf({ home }: Goald, agent: string): Promise<readonly InboxRow[]> {
  const reader = await openSqliteReader(join(home, ".goald", "goald.db"));
  try {
    return await reader.inbox(agent);
  } finally {
    await reader.close();
  }
}
