/**
 * daemon-home.ts -- a home with a model server beside it, whose daemon, if one was started, ends with the test.
 *
 * The model's replies can be held back, so that a test knows what is under way when it does something.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CommandCall } from "#core/call.ts";
import type { InboxRow } from "#core/ports/inbox.ts";
import { isHostHeld } from "#store/host-lock.ts";
import { openSqliteReader } from "#store/sqlite-store.ts";
import { type Goald, lookInto, makeGoald, type StartOptions } from "./goald.ts";
import { numberedModel } from "./numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "./openai-server.ts";

export interface DaemonHome extends AsyncDisposable {
  readonly goald: Goald;
  readonly server: OpenAIServer;
  /** Replies to the requests from this one on (counted from 1) are held back, and those before it let go. */
  holdFrom(request: number): void;
  /** Lets every reply go. */
  release(): void;
  /** Resolves when so many requests have come. */
  asked(count: number): Promise<void>;
  /** Of the daemon or run that holds the home; undefined when there is none. */
  hostPid(): Promise<number | undefined>;
  /** Resolves when the agent's log has an event of that type, as often as said. */
  logged(type: string, count?: number, agent?: string): Promise<void>;
  until(isSo: () => Promise<boolean>, what: string): Promise<void>;
  /** Resolves when a message of that type lies in the agent's inbox. */
  delivered(type: string, agent?: string): Promise<void>;
}

export interface DaemonHomeOptions {
  readonly env?: StartOptions["env"];
  readonly beside?: Pick<Goald, "verbs">;
  /** In place of a model that works through `calls`. */
  readonly reply?: (request: Parameters<ReturnType<typeof numberedModel>>[0]) => string;
}

const LOOK_MS = 25;
const PATIENCE_MS = 45_000;

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
  const goald = await makeGoald(
    { OPENAI_BASE_URL: server.baseUrl, GOALD_EMBEDDER: "offline", ...options.env },
    options.beside,
  );
  const lock = join(goald.home, ".goald", "lock.db");
  const holdFrom = (request: number): void => {
    heldFrom = request;
    for (const [number, letGo] of held) if (number < request) letGo();
  };
  const release = (): void => holdFrom(Number.POSITIVE_INFINITY);
  async function hostPid(): Promise<number | undefined> {
    const info = await goald.read(".goald/daemon.json");
    return info === undefined ? undefined : (JSON.parse(info) as { pid: number }).pid;
  }
  async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    while (!(await isSo())) {
      if (performance.now() > end) throw new Error(`Waited ${PATIENCE_MS} ms in vain for ${what}.`);
      await sleep(LOOK_MS);
    }
  }
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
      // Nobody starts another one.
      await rm(join(goald.home, ".goald", "wanted"), { force: true });
      await until(async () => {
        if (!isHostHeld(lock)) return true;
        const pid = await hostPid();
        if (pid !== undefined) kill(pid);
        return false;
      }, "the daemon's end");
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

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
