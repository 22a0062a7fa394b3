/**
 * daemon-home.ts -- a home with a model server.
 *
 * The model's replies can be held back, so that a test controls what is under way.
 */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import { isHostHeld } from "#store/sqlite/host-lock.ts";
import {
  AGENT,
  type Ended,
  endedWith,
  type Goald,
  lookInto,
  makeGoald,
  RUN,
  readStore,
  type StartOptions,
} from "./goald.ts";
import { append, numberedModel, replyWith } from "./models.ts";
import { type ChatRequest, failure, type OpenAIServerOptions, startOpenAIServer } from "./openai-server.ts";
import { waitUntil } from "./waits.ts";

export type DaemonHome = Awaited<ReturnType<typeof makeDaemonHome>>;

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
) {
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
  /** Holds back the replies from this request on (counted from 1), and releases those before it. */
  const holdFrom = (request: number): void => {
    heldFrom = request;
    for (const [number, letGo] of held) if (number < request) letGo();
  };
  const release = (): void => holdFrom(Number.POSITIVE_INFINITY);
  /** Returns the process id of the daemon or run that holds the home; undefined when there is none. */
  async function hostPid(): Promise<number | undefined> {
    const info = await goald.read(".goald/daemon.json");
    return info === undefined ? undefined : (JSON.parse(info) as { pid: number }).pid;
  }
  const until = (isSo: () => boolean | Promise<boolean>, what: string): Promise<void> => waitUntil(what, isSo);
  const home = {
    goald,
    server,
    holdFrom,
    release,
    /** Resolves after `count` requests. */
    asked: (count: number) => until(() => server.chats.length >= count, `request ${count}`),
    hostPid,
    until,
    /** Resolves when the agent's log has `count` events of that type. */
    logged: (type: string, count = 1, agent = "t") =>
      until(
        async () => (await lookInto(goald, agent)).log.filter((event) => event.type === type).length >= count,
        `${count} ${type}`,
      ),
    /** Resolves when the agent's inbox has a message of that type. */
    delivered: (type: string, agent = "t") =>
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
export async function makeWorkedHome(name: string, calls: readonly CommandCall[]) {
  const home = await makeDaemonHome(calls);
  endedWith(0, await home.goald.ask(["run", "--name", name, "--role", "r", "-g", "Work", "--continuous"]));
  return home;
}

const open = new Set<AsyncDisposable>();
afterAll(async () => {
  for (const home of open) await home[Symbol.asyncDispose]();
});

// A home in which one run of the agent "T" was recorded into `t.ndjson`.

export async function recordRun(reply: NonNullable<DaemonHomeOptions["reply"]>, options: DaemonHomeOptions = {}) {
  const home = await makeDaemonHome([], { reply, ...options });
  return { ...home, ended: await home.goald.ask(["run", ...AGENT, "--continuous", "--record", "t.ndjson"]) };
}

/** Makes a home with the recording `good.ndjson` of a run that was given a file and appended a line. Its model server is gone. */
export async function makeRecording() {
  const { goald, server } = await makeDaemonHome([append("one\n")], { files: { "workspace/t/given.txt": "given\n" } });
  /** The path of a file beside the home. */
  const at = (name: string): string => join(goald.cwd, name);
  await mkdir(at("tmp"));
  endedWith(0, await goald.ask([...RUN, "--record", "good.ndjson"]));
  await server.close();
  const recorded = (await readFile(at("good.ndjson"), "utf8")).trim().split("\n");
  return {
    goald,
    lines: recorded.map((line) => JSON.parse(line) as Record<string, unknown>),
    at,
    /** Replays a recording with `tmp` as the folder for temporary files. */
    replay: (name: string) => goald.ask(["replay", name, "--json"], { env: { TMPDIR: at("tmp") } }),
  };
}

// A home with two commands that nest work three levels deep, and a model for them.

const head = (name: string, openWorld: boolean) =>
  `name: "${name}", label: "${name}", summary: "does other work.", args: { type: "object", properties: {} },
   annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: ${openWorld} }, effect: "transactional",`;

/** `outer` writes line 1, lets the model solve a task with `inner`, which writes line 2, and writes the result as the last line. */
export async function writeNestedCommands({ write }: Goald, { openWorld = false } = {}): Promise<void> {
  await write(
    "commands/outer.ts",
    `export default { ${head("outer", openWorld)}
      async run(_args, context) {
        const append = (text) => context.call("append_to_file", { file: "lines.txt", text });
        await append("line 1\\n");
        const count = await context.run("Use inner once. Then return 5.", { type: "integer" });
        await append(\`line \${count}\\n\`);
        return \`The sub-task returned \${count}.\`;
      },
    };`,
  );
  await write(
    "commands/inner.ts",
    `export default { ${head("inner", openWorld)}
      async run(_args, context) {
        return (await context.call("append_to_file", { file: "lines.txt", text: "line 2\\n" })).status;
      },
    };`,
  );
}

export const NESTED_LINES = "line 1\nline 2\nline 5\n";

/** Decides by the prompt alone. */
export function nestedModel({ messages }: ChatRequest): string {
  const all = messages.map(({ content }) => String(content));
  const isDone = (name: string): boolean => all.some((content) => content.startsWith(`Command ${name} `));
  if (all.at(-1)?.includes("Use inner once."))
    return isDone("inner")
      ? replyWith({ name: "task_complete", args: { result: 5 } })
      : replyWith({ name: "inner", args: {} });
  return isDone("outer")
    ? replyWith({ name: "task_complete", args: { reason: "All done." } })
    : replyWith({ name: "outer", args: {} });
}

// Runs a call while a daemon with modules that Node loads first is up, in the place of a running one.

type Hooks = Pick<StartOptions, "imports" | "env">;

const hookOf = (name: string): string => fileURLToPath(new URL(`./${name}.child.ts`, import.meta.url));
const under = (env: Required<Hooks>["env"]): Hooks => ({ imports: [hookOf("kill-at")], env });
/** Kills the process at a commit, such as 12:before, or at none: 0. At its exit it prints the number of its commits. */
export const killAtCommit = (point: string): Hooks => under({ KILL_AT_COMMIT: point });
/** Kills the process at the commit of an event of the store's nth agent, such as 1:7:after. */
export const killAtEvent = (point: string): Hooks => under({ KILL_AT_EVENT: point });
/** Kills the process at a rename, such as 3:before, or a.md:before. */
export const killAtRename = (point: string): Hooks => under({ KILL_AT_RENAME: point });
/** Writes the last event of each commit into a file, such as 1:8. */
export const logCommits = (file: string): Hooks => under({ COMMIT_LOG: file });
/** Refuses every socket of the process, with a line on standard error. */
export const NO_NETWORK = { imports: [hookOf("no-network")] } satisfies Hooks;

/** Runs the call until a hook kills the daemon, then kills the call, so that nobody starts the next daemon. */
export async function killUnder(
  hooks: Hooks,
  goald: Pick<Goald, "start" | "ask" | "home">,
  args: readonly string[],
): Promise<Ended> {
  await endRunning(goald);
  const daemon = goald.start(["up", "--foreground"], hooks);
  const isReady = await daemon.see("is ready").then(
    () => true,
    () => false,
  );
  if (!isReady) return daemon.ended;
  const call = goald.start(args);
  // A daemon that is not killed ends with exit code 0.
  await Promise.race([daemon.ended, call.ended]);
  daemon.kill("SIGTERM");
  call.kill("SIGKILL");
  await call.ended;
  return daemon.ended;
}

/** Runs the call to its end, which must be exit code 0, and ends the daemon. Returns the daemon's end. */
export async function runUnder(
  hooks: Hooks,
  goald: Pick<Goald, "start" | "run" | "ask" | "home">,
  args: readonly string[],
): Promise<Ended> {
  await endRunning(goald);
  const daemon = goald.start(["up", "--foreground"], hooks);
  await daemon.see("is ready");
  endedWith(0, await goald.run(args));
  daemon.kill("SIGTERM");
  return daemon.ended;
}

async function endRunning({ ask, home }: Pick<Goald, "ask" | "home">): Promise<void> {
  if (isHostHeld(join(home, ".goald", "lock.db"))) endedWith(0, await ask(["down"]));
}
