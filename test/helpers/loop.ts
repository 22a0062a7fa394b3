/**
 * loop.ts -- the real main loop on fakes: store, workspace, model and clock are in memory.
 *
 * `store` and `files` outlive a run, so `run` can be called again after a simulated crash.
 */
import { createOutgoingCheck } from "#app/agent.ts";
import { judgeByLevel } from "#app/sandbox.ts";
import type { PythonModule } from "#commands/python-modules.ts";
import { ALL_READY, loadRegistry, type Registry, type ServiceStates } from "#commands/registry.ts";
import type { AgentSettings, ReplyForm } from "#core/agent-settings.ts";
import type { Annotations, CommandCall } from "#core/call.ts";
import { type Command, type CommandContext, succeed } from "#core/command.ts";
import type { EventBody, EventOf, RecordedEvent } from "#core/event.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import type { LongTermMemory } from "#core/ports/memory.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import type { InboxMessage, Lease, Store } from "#core/ports/store.ts";
import type { Services } from "#core/services.ts";
import { type AgentState, activeFrame, openCommand } from "#core/state.ts";
import { createHttp } from "#http/http.ts";
import { createMovePreparer, type PerformParts, type PrepareMove } from "#loop/ask-model.ts";
import type { CellParts } from "#loop/cells.ts";
import { createCommandSets } from "#loop/command-set.ts";
import type { SubagentParts } from "#loop/loop-services.ts";
import { run as runLoop } from "#loop/run.ts";
import type { RunParts } from "#loop/run-parts.ts";
import { readScript } from "#loop/run-parts.ts";
import { keepText } from "#loop/turn-memory.ts";
import { createMethodIndex } from "#memory/method-index.ts";
import { rememberStep } from "#memory/remember/remember.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { loadWords } from "#prompt/words.ts";
import type { Aliases } from "#reply/arrange-args.ts";
import { freeSlug } from "#store/slug.ts";
import { stateOf } from "#views/read-agent.ts";
import { bytesOf, finished, NOTHING, SPEC, stamped, wrote } from "./events.ts";
import { type FakeClock, fakeClock } from "./fake-clock.ts";
import { type CellBehaviour, createFakeSandbox } from "./fake-sandbox.ts";
import { type MemoryStore, openMemoryStore } from "./memory-store.ts";
import { type Files, MemoryWorkspace } from "./memory-workspace.ts";
import { type Script, scriptedModel, subagentModel, textIn } from "./models.ts";
import { createOpenAIModel } from "./openai-model.ts";
import { type Answer, type ChatRequest, type OpenAIServer, startOpenAIServer } from "./openai-server.ts";
import { seedCatalogue } from "./replies.ts";

/** Parts of each move that a test may replace. Without `model` the script answers. `methods`: by words and spelling. */
type GivenMoveParts = Partial<
  Pick<PerformParts, "model" | "fallbackModel" | "memory" | "methods" | "embeddingModel"> &
    Pick<PerformParts, "priceOf" | "roomOf" | "servicePriceOf" | "downloadLimitBytes">
>;
export interface LoopOptions extends GivenMoveParts {
  readonly script: Script;
  /** Of all models. Default: 32,000. */
  readonly contextTokens?: number;
  readonly settings?: Partial<AgentSettings>;
  /** Added to the shipped catalogue; replaces a command of the same name. */
  readonly commands?: readonly Command[];
  /** Python helpers of the home; none by default. */
  readonly modules?: readonly PythonModule[];
  readonly goals?: readonly string[];
  /** Checks of the goals; none by default. */
  readonly checks?: readonly GoalCheck[];
  /** Services that the shipped commands find set up; none by default. */
  readonly services?: ServiceStates;
  /** The implementations of those services; none by default. */
  readonly serving?: Partial<Services>;
  /** Runs cells of code. */
  readonly sandbox?: Sandbox;
  readonly cells?: Partial<CellParts>;
  readonly aliases?: Aliases;
  /** The setting web.askBeforeSending; true by default. */
  readonly asksBeforeSending?: boolean;
  /** The setting web.openHosts; none by default. */
  readonly openHosts?: readonly string[];
  /** Values of settings, one a line. */
  readonly settingTexts?: string;
  /** Limits of sub-agents; by default two deep, five at a time, a quarter of the rest each. */
  readonly subagents?: Partial<SubagentParts["rules"]>;
}
/** `draining`: aborted when the host goes down in an orderly way. */
export interface RunChange extends Partial<Pick<RunParts, "scrub" | "keepText" | "draining">> {
  /** Wraps the store that the loop uses, to simulate crashes. */
  readonly store?: (
    store: MemoryStore,
  ) => Pick<Store, "load" | "commit" | "inbox" | "blob" | "read" | "deliver" | "lastFileVersion">;
  readonly prepare?: (prepare: PrepareMove) => PrepareMove;
  readonly ask?: (call: CommandCall) => Promise<PersonAnswer>;
  /** Runs another agent of the store, with files of its own. */
  readonly agent?: string;
}
export type Loop = Awaited<ReturnType<typeof makeLoop>>;

const METHODS = createMethodIndex({ embedder: openWordEmbedder(), report: () => undefined });

const NO_MEMORY: LongTermMemory = { remote: false, recall: async () => [] };

/** Parts of the moves of an agent in a store in memory. */
export function memoryPartsOf(agentId: string, store: MemoryStore, files: Files, clock: FakeClock) {
  const lastVersion = (path: string) => store.lastFileVersion(agentId, path);
  return {
    agentId,
    folder: "/nowhere",
    modelName: "test-model",
    memory: NO_MEMORY,
    recallCount: 10,
    roomOf: () => ({ contextTokens: 32_000, replyTokens: 1_000 }),
    random: () => 0,
    history: store,
    clock,
    openWorkspace: (_folder, onChange) => new MemoryWorkspace({ files, onChange, lastVersion }),
    openOwnWorkspace: (_folder, onChange) => new MemoryWorkspace({ files, onChange, own: true, lastVersion }),
    knowsAgent: async (id) => (await store.agent(id)) !== undefined,
  } satisfies Partial<PerformParts>;
}

/** `store` and `files` outlive a run; `shown` has all events shown, over all runs. */
export async function makeLoop(options: LoopOptions) {
  const {
    script,
    settings,
    commands: added = [],
    modules = [],
    goals = ["Count to twelve"],
    checks,
    ...rest
  } = options;
  const { services, serving = {}, sandbox, cells, aliases = seedCatalogue.aliases, subagents, ...others } = rest;
  const { asksBeforeSending = true, openHosts = [], settingTexts = "", contextTokens, ...given } = others;
  const store = openMemoryStore();
  const files: Files = new Map();
  const model = scriptedModel(script);
  const clock = fakeClock({ auto: true });
  const ready = { ready: true } as const;
  const isReady = { plan: ready, memories: ready, ...(sandbox ? { cells: ready } : {}), tests: ready, ...services };
  const commands = withCommands(await shippedRegistry(isReady), added);
  const registry = judgeByLevel(commands, { finding: (await sandbox?.find()) ?? null });
  const words = await shippedWords();
  const shown: RecordedEvent[] = [];
  const agent = { name: "Foo", role: "a tester", goals, ...(checks ? { checks } : {}) };
  const spec = { ...agent, approve: "never", stepLimit: 100, ...settings } as const;
  const row = await store.create(spec, "test", clock.now().toISOString());
  const commandsFor = createCommandSets(registry.all, aliases, modules);

  const filesOf = new Map<string, Files>([[row.id, files]]);

  /** Runs all agents that are due, until none is. */
  async function runAll(change: RunChange = {}): Promise<void> {
    const due = await store.due(clock.now().toISOString());
    for (const agent of due) await run({ ...change, agent });
    if (due.length > 0) await runAll(change);
  }

  /** Claims the agent and runs it, as one process does. */
  async function run(change: RunChange = {}): Promise<AgentState> {
    const { store: wrap, prepare, ask, agent = row.id, ...replaced } = change;
    const files = filesOf.get(agent) ?? new Map();
    filesOf.set(agent, files);
    const lease = await store.claim(agent);
    const parts = memoryPartsOf(agent, store, files, clock);
    const checkOutgoing = createOutgoingCheck({
      row: (await store.agent(agent)) ?? row,
      store,
      registry,
      settings: () => ({ texts: settingTexts, openHosts }),
      openFiles: ({ id }) => new MemoryWorkspace({ files: filesOf.get(id) ?? new Map() }),
    });
    const moves = createMovePreparer(() => ({
      ...parts,
      ...(asksBeforeSending ? { checkOutgoing } : {}),
      model,
      methods: METHODS,
      commandsFor,
      words,
      services: serving,
      subagents: subagentPartsIn(store, agent, subagents),
      ...(sandbox ? { cells: { sandbox, timeLimitMs: 10_000, imports: "safe", location: null, ...cells } } : {}),
      signal: new AbortController().signal,
      ...(contextTokens === undefined ? {} : { roomOf: () => ({ contextTokens, replyTokens: 1_000 }) }),
      ...given,
    }));
    const seen = wrap?.(store) ?? store;
    return runLoop(lease, {
      store: seen,
      clock,
      wait: createPerson({ store: seen, clock }, lease, ask),
      prepare: prepare?.(moves) ?? moves,
      readScript: (file) =>
        readScript(
          file,
          parts.openWorkspace("", () => undefined),
        ),
      keepText: (path, text) => keepText(path, text, (onChange) => parts.openOwnWorkspace("", onChange)),
      remoteRecall: () => false,
      rules: { epoch: lease.epoch, facts: (name) => registry.get(name) },
      remember: (before, event, read) => rememberStep(before, event, agent, read),
      scrub: (text) => text,
      onCommitted: (events) => shown.push(...events),
      ...replaced,
    });
  }
  const events = () => store.read(row.id, 0, 10_000);
  /** The events of one type. */
  const of = async <T extends EventBody["type"]>(type: T): Promise<readonly EventOf<T>[]> =>
    (await events()).filter((event) => event.type === type) as never;
  let told = 0;
  return {
    store,
    files,
    model,
    clock,
    row,
    shown,
    run,
    runAll,
    events,
    of,
    /** What came of the commands that have ended. */
    results: async () => (await of("command-finished")).map(({ observation }) => observation),
    /** Puts a message into the inbox, by default with a key of its own. */
    tell: (message: InboxMessage, agent = row.id, key = `told ${++told}`) =>
      store.deliver(agent, key, message, clock.now().toISOString()),
    /** The messages of a request to the model, by its index or from the end. */
    prompt: (at: number) => textIn(model.requests.at(at) ?? { messages: [] }),
    text: (path: string) => {
      const content = files.get(path);
      return content && Buffer.from(content).toString("utf8");
    },
  };
}

/** Runs a loop that was just made, alone or with what surrounds it, and returns it. */
export async function afterRun<T extends Loop | { readonly loop: Loop }>(made: Promise<T>): Promise<T> {
  const given = await made;
  await ("loop" in given ? given.loop : (given as Loop)).run();
  return given;
}

export function withCommands(shipped: Registry, added: readonly Command[]): Registry {
  const more = added.map((command) => ({ effect: "at-most-once" as const, timeoutMs: 1_000, needs: [], ...command }));
  const all = [...shipped.all.filter(({ name }) => !more.some((own) => own.name === name)), ...more] as Registry["all"];
  return {
    ...shipped,
    all,
    unavailable: [],
    get: (name) => all.find((command) => command.name === name),
  };
}

/** Returns the sub-agent parts for the agent `self`, without settings. */
export const subagentPartsIn = (
  store: MemoryStore,
  self: string,
  rules: Partial<SubagentParts["rules"]> = {},
): SubagentParts => ({
  rules: { maxDepth: 2, maxChildren: 5, model: "fast-model", ...rules },
  answerMs: 60_000,
  refusal: null,
  freeId: async (name) => {
    const taken = new Set((await store.agents()).map(({ id }) => id));
    return freeSlug(`${self} ${name}`, (id) => taken.has(id));
  },
  stateOf: async (id) => ((await store.agent(id)) ? stateOf(store, { id }) : undefined),
});

/** Returns a complete and valid reply. */
export const reply = (name: string, args: Readonly<Record<string, unknown>> = {}, speak = `I use ${name}.`): string =>
  JSON.stringify({
    thoughts: { text: "I think.", reasoning: "Because.", plan: "- go on", criticism: "none", speak },
    command: { name, args },
  });
export const cell = (code: string): string => reply("run_code", { code });
export const done = (reason = "All goals are reached."): string => reply("task_complete", { reason });

// The shipped commands and prompts. Each test file loads them once, since nothing changes them.

const registries = new Map<string, Promise<Registry>>();

export function shippedRegistry(services: ServiceStates = {}): Promise<Registry> {
  const key = JSON.stringify(services);
  const loaded = registries.get(key) ?? loadRegistry(["commands"], services);
  registries.set(key, loaded);
  return loaded;
}

let words: ReturnType<typeof loadWords> | undefined;

export function shippedWords(): ReturnType<typeof loadWords> {
  words ??= loadWords(["prompts"]);
  return words;
}

/** What a prompt is rebuilt from, beside the log and the rows. */
export async function shippedPromptParts(services?: ServiceStates) {
  const { all } = await shippedRegistry(services);
  const commandsFor = createCommandSets(all, { commands: {}, args: {} });
  return { commandsFor, words: await shippedWords(), contextTokens: 32_000, replyTokens: 1_000 };
}

// A loop whose agent uses one command, `outer`, that does what a test says.

/** Annotations of a command that only reads, and of one that writes. */
export const READS: Annotations = { readOnly: true, destructive: false, idempotent: true, openWorld: false };
export const WRITES: Annotations = { ...READS, readOnly: false };

/** A command of a test: without arguments, reading, and at-most-once unless `part` says otherwise. */
export const testCommand = <A extends object = object>(
  name: string,
  run: (args: A, context: CommandContext) => Promise<unknown>,
  part: Partial<Command> = {},
): Command =>
  ({
    name,
    label: name,
    summary: `does ${name}.`,
    args: { type: "object", properties: {} },
    annotations: READS,
    run,
    ...part,
  }) as unknown as Command;
/** The schema of arguments that are required texts. */
export const textArgs = (...names: readonly string[]): Command["args"] => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string", description: name }])),
  required: names,
});

/** A command named `outer` that runs `act` and returns its value as JSON. */
export const outerCommand = (
  act: (context: CommandContext) => Promise<unknown>,
  more: Partial<Command> = {},
): Command =>
  testCommand("outer", async (_args, context) => succeed(JSON.stringify(await act(context)) ?? "nothing"), {
    effect: "transactional",
    ...more,
  });

export const loopWith = (
  act: (context: CommandContext) => Promise<unknown>,
  options: Partial<LoopOptions> & Partial<Pick<Command, "effect" | "timeoutMs">> = {},
) => {
  const { effect = "transactional", timeoutMs = 1_000, ...rest } = options;
  return makeLoop({ script: [reply("outer"), done()], ...rest, commands: [outerCommand(act, { effect, timeoutMs })] });
};

/** The observation of a call, as the log has it. */
export const resultOf = async (loop: Loop, callId = "c1") =>
  (await loop.of("command-finished")).findLast((event) => event.callId === callId) as unknown as {
    readonly observation: { readonly status: string; readonly text: string; readonly code?: string };
  };

// An agent with the agents that it starts.

/** Makes Foo and the agents that it starts, each with its own list of commands. */
export const makeSubagents = (
  calls: Readonly<Record<string, readonly CommandCall[]>>,
  options: Partial<LoopOptions> = {},
): Promise<Loop> =>
  makeLoop({
    script: (request) => subagentModel(calls)(request as unknown as ChatRequest),
    services: ALL_READY,
    ...options,
  });

/** The events of one type of an agent; an empty list for an unknown agent. */
export const eventsOf = async <T extends EventBody["type"]>(
  { store }: Loop,
  agent: string,
  type: T,
): Promise<readonly EventOf<T>[]> =>
  (await store.read(agent, 0, 1_000).catch(() => [])).filter((event) => event.type === type) as never;
export const resultsOf = async (loop: Loop, agent = "foo"): Promise<readonly string[]> =>
  (await eventsOf(loop, agent, "command-finished")).map(({ observation }) => String(observation.text));
/** Why an agent is paused, else the kind of its phase. */
export const standing = async ({ store }: Loop, id: string): Promise<string> => {
  const state = await stateOf(store, { id });
  return state.paused?.code ?? activeFrame(state).phase.kind;
};

export const MOLE_FILE = "agents/foo-mole/pages/x.md";
/** Adds a sub-agent whose history says that it saved a page of that web host, and the page. */
export async function addMole({ store, row, files, clock }: Loop, host: string): Promise<void> {
  await store.create({ ...SPEC, name: "mole", id: "foo-mole", parent: row.id }, "mole", clock.now().toISOString());
  const page = { ...wrote("pages/x.md", "x"), outside: [{ from: "web", name: host } as const] };
  await store.commit(await store.claim("foo-mole"), 1, { ...NOTHING, events: stamped(2, finished(1)), files: [page] });
  files.set(MOLE_FILE, bytesOf("x"));
}

// A person in front of the main loop alone: what they do reaches the agent through its inbox.

export type PersonAnswer =
  | { readonly kind: "approved"; readonly count: number }
  | { readonly kind: "feedback"; readonly text: string }
  | { readonly kind: "leave" };

/** Without `ask` there is nobody, and the run ends at a question. */
function createPerson(
  { store, clock }: Pick<RunParts, "clock"> & { readonly store: Pick<Store, "deliver"> },
  lease: Lease,
  ask: RunChange["ask"],
): RunParts["wait"] {
  let count = 0;
  const send = (message: InboxMessage): Promise<unknown> => {
    count++;
    return store.deliver(lease.agent, `${lease.epoch}/${count}`, message, clock.now().toISOString());
  };
  return async ({ waitFor, until }, state) => {
    const { phase } = activeFrame(state);
    if (waitFor === "time" && until !== null) {
      await clock.sleep(Date.parse(until) - clock.now().getTime());
      return true;
    }
    const open = phase.kind === "awaiting-approval" ? openCommand(state, phase.callId) : undefined;
    if (!ask || !open) return false;
    const { callId } = open;
    const answer = await ask(open.call);
    if (answer.kind === "leave") await send({ type: "pause", reason: "The person stopped here." });
    else if (answer.kind === "feedback") await send({ type: "approval", callId, verdict: "denied", text: answer.text });
    else await send({ type: "approval", callId, verdict: "approved", count: answer.count });
    return true;
  };
}

// An agent whose replies are prose with code: the real loop, a model over HTTP, and a sandbox of functions.

export type ProseLoop = Awaited<ReturnType<typeof makeProseLoop>>;

let servers: OpenAIServer[] = [];
export async function closeProseLoops(): Promise<void> {
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
}

export const python = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;

/** `replies`: one for each request, or a model that reads the request. `cells`: behaviours by code. */
export async function makeProseLoop(
  form: ReplyForm,
  replies: readonly string[] | ((request: ChatRequest, index: number) => Answer),
  cells: Readonly<Record<string, CellBehaviour>>,
  options: Partial<LoopOptions> = {},
) {
  const server = await startOpenAIServer({ reply: replies });
  servers.push(server);
  const { baseUrl } = server;
  const model = createOpenAIModel({ baseUrl, apiKey: "key", http: createHttp(), timeoutMs: 20_000 });
  const sandbox = createFakeSandbox(cells);
  const loop = await makeLoop({ script: [], model, sandbox, ...options, settings: { form, ...options.settings } });
  /** Contents of the messages of one request, from 1. */
  const request = (number: number): readonly string[] =>
    server.chats[number - 1]?.messages.map(({ content }) => content) ?? [];
  /** The result that a request shows last. */
  const lastResult = (number: number): string => request(number).at(-2) ?? "";
  return { loop, server, request, lastResult };
}
