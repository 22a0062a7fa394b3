/**
 * daemon-home.ts -- a home with a model server.
 *
 * The model's replies can be held back, so that a test controls what is under way.
 */
import { afterAll } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import { endedWith, type Goald, lookInto, makeGoald, readStore, type StartOptions } from "./goald.ts";
import { numberedModel } from "./numbered-model.ts";
import { failure } from "./openai-answers.ts";
import { type OpenAIServer, type OpenAIServerOptions, startOpenAIServer } from "./openai-server.ts";
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

export interface DaemonHomeOptions extends Omit<OpenAIServerOptions, "reply"> {
  readonly env?: StartOptions["env"];
  /** Replaces a model that works through `calls`: a model, or its answers in order. */
  readonly reply?: Exclude<OpenAIServerOptions["reply"], string | undefined>;
  /** Files below the home. */
  readonly files?: Readonly<Record<string, string>>;
}

/** The server has no embeddings, unless they are given. A home that tests share is closed at the end of their file. */
export async function makeDaemonHome(
  calls: readonly CommandCall[],
  { env, reply = numberedModel(calls), files = {}, ...options }: DaemonHomeOptions = {},
): Promise<DaemonHome> {
  let heldFrom = Number.POSITIVE_INFINITY;
  const held = new Map<number, () => void>();
  const server = await startOpenAIServer({
    reply: async (request, index) => {
      if (index + 1 >= heldFrom) await new Promise<void>((resolve) => held.set(index + 1, resolve));
      if (typeof reply === "function") return reply(request, index);
      return reply[index] ?? failure(500, `the script has ${reply.length} answers`);
    },
    embeddings: null,
    ...options,
  });
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline", ...env });
  for (const [path, text] of Object.entries(files)) await goald.write(path, text);
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
  const home: DaemonHome = {
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
      until(
        async () => (await readStore(goald, (reader) => reader.inbox(agent))).some((row) => row.message.type === type),
        `a ${type}`,
      ),
    [Symbol.asyncDispose]: async () => {
      open.delete(home);
      release();
      await goald[Symbol.asyncDispose]();
      await server.close();
    },
  };
  open.add(home);
  return home;
}

/** Makes a home in which one agent has completed its calls. */
export async function makeWorkedHome(name: string, calls: readonly CommandCall[]): Promise<DaemonHome> {
  const home = await makeDaemonHome(calls);
  endedWith(0, await home.goald.ask(["run", "--name", name, "--role", "r", "-g", "Work", "--continuous"]));
  return home;
}

const open = new Set<AsyncDisposable>();
afterAll(async () => {
  for (const home of open) await home[Symbol.asyncDispose]();
});
