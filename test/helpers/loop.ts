/**
 * loop.ts -- the real main loop on fakes: store, workspace, model and clock in memory, everything else as it ships.
 *
 * The world outlives the process: `store` and `files` stay, `run` may be called again after a crash.
 */
import { describeForPrompt } from "#commands/describe.ts";
import { loadRegistry, type Registry, type ServiceStates } from "#commands/registry.ts";
import type { AgentSettings } from "#core/agent-settings.ts";
import type { CommandCall } from "#core/call.ts";
import type { Command } from "#core/command.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { LanguageModel } from "#core/ports/model.ts";
import type { LongTermMemory } from "#core/ports/recall.ts";
import type { Store } from "#core/ports/store.ts";
import type { Services } from "#core/services.ts";
import type { AgentState } from "#core/state.ts";
import { type Answer, runForeground } from "#host/foreground.ts";
import { createPrepare, type PerformParts, type Prepare } from "#loop/perform.ts";
import type { SubagentParts } from "#loop/subagent-calls.ts";
import { rememberStep } from "#memory/recall/remember.ts";
import { loadWords } from "#prompt/template.ts";
import type { Aliases } from "#reply/aliases.ts";
import { createReplyReader } from "#reply/read.ts";
import { freeSlug } from "#store/slug.ts";
import { stateOf } from "#views/load-agent.ts";
import { type FakeClock, fakeClock } from "./fake-clock.ts";
import { MemoryStore } from "./memory-store.ts";
import { type Files, MemoryWorkspace } from "./memory-workspace.ts";
import { type Script, type ScriptedModel, scriptedModel } from "./scripted-model.ts";

export interface LoopOptions {
  readonly script: Script;
  readonly settings?: Partial<AgentSettings>;
  /** Added to the shipped catalogue, or in place of a command of that name. */
  readonly commands?: readonly Command[];
  readonly contextTokens?: number;
  readonly memory?: LongTermMemory;
  readonly goals?: readonly string[];
  readonly priceOf?: PerformParts["priceOf"];
  readonly roomOf?: PerformParts["roomOf"];
  readonly servicePriceOf?: PerformParts["servicePriceOf"];
  /** In the place of the scripted one, which then hears nothing. */
  readonly model?: LanguageModel;
  readonly fallbackModel?: string;
  readonly maxModelFailures?: number;
  /** What the shipped commands find set up; nothing by default. */
  readonly services?: ServiceStates;
  /** What they then ask; nothing by default. */
  readonly serving?: Partial<Services>;
  readonly aliases?: Aliases;
  /** Agents that agents start: in place of two deep, five at a time, a quarter each. */
  readonly subagents?: Partial<SubagentParts["rules"]>;
}
export interface RunChange {
  /** Around the store that the loop sees: where crashes happen. */
  readonly store?: (store: MemoryStore) => Pick<Store, "load" | "commit" | "inbox" | "blob" | "deliver">;
  readonly prepare?: (prepare: Prepare) => Prepare;
  readonly ask?: (call: CommandCall) => Promise<Answer>;
  readonly interrupt?: AbortSignal;
  readonly scrub?: (text: string) => string;
  /** Another agent of the store, in place of the first; its files are its own. */
  readonly agent?: string;
}
export interface Loop {
  readonly store: MemoryStore;
  readonly files: Files;
  readonly model: ScriptedModel;
  readonly clock: FakeClock;
  readonly row: AgentRow;
  /** What was shown, over all runs. */
  readonly shown: RecordedEvent[];
  /** One process's life: claims the agent and runs it. */
  run(change?: RunChange): Promise<AgentState>;
  events(): Promise<readonly RecordedEvent[]>;
  text(path: string): string | undefined;
  /** All agents in turn, each for as long as it has something to do. */
  runAll(change?: RunChange): Promise<void>;
}

const NO_MEMORY: LongTermMemory = { remote: false, recall: async () => [] };

export async function makeLoop(options: LoopOptions): Promise<Loop> {
  const store = new MemoryStore();
  const files: Files = new Map();
  const model = scriptedModel(options.script);
  const clock = fakeClock({ auto: true });
  const registry = withCommands(await loadRegistry(["commands"], options.services), options.commands ?? []);
  const words = await loadWords(["prompts"]);
  const shown: RecordedEvent[] = [];
  const spec = {
    name: "Foo",
    role: "a tester",
    goals: options.goals ?? ["Count to twelve"],
    approve: "never",
    stepLimit: 100,
  } as const;
  const row = await store.create({ ...spec, ...options.settings }, "test", clock.now().toISOString());
  const readReply = createReplyReader({
    schemas: Object.fromEntries(registry.all.map((command) => [command.name, command.args])),
    hasSideEffect: (name) => registry.get(name)?.annotations.readOnly !== true,
    aliases: options.aliases ?? { commands: {}, args: {} },
  });

  const filesOf = new Map<string, Files>([[row.id, files]]);

  async function runAll(change: RunChange = {}): Promise<void> {
    const due = await store.due(clock.now().toISOString());
    for (const agent of due) await run({ ...change, agent });
    if (due.length > 0) await runAll(change);
  }

  async function run(change: RunChange = {}): Promise<AgentState> {
    const { agent = row.id } = change;
    const files = filesOf.get(agent) ?? new Map();
    filesOf.set(agent, files);
    const lease = await store.claim(agent);
    const lastVersion = (path: string) => store.lastFileVersion(agent, path);
    const prepare = createPrepare({
      agentId: agent,
      subagents: subagentPartsIn(store, agent, options.subagents),
      folder: "/nowhere",
      model: options.model ?? model,
      fallbackModel: options.fallbackModel ?? null,
      modelName: "test-model",
      memory: options.memory ?? NO_MEMORY,
      recallCount: 10,
      registry,
      commandList: describeForPrompt(registry.all),
      words,
      contextTokens: options.contextTokens ?? 32_000,
      replyTokens: 1_000,
      ...(options.priceOf ? { priceOf: options.priceOf } : {}),
      ...(options.roomOf ? { roomOf: options.roomOf } : {}),
      ...(options.servicePriceOf ? { servicePriceOf: options.servicePriceOf } : {}),
      readReply,
      random: () => 0,
      openWorkspace: (_folder, onChange) => new MemoryWorkspace({ files, onChange, lastVersion }),
      openOwnWorkspace: (_folder, onChange) => new MemoryWorkspace({ files, onChange, own: true, lastVersion }),
      services: options.serving ?? {},
      knowsAgent: async (id) => (await store.agent(id)) !== undefined,
      clock,
      signal: new AbortController().signal,
    });
    return runForeground(lease, {
      store: change.store?.(store) ?? store,
      clock,
      prepare: change.prepare?.(prepare) ?? prepare,
      remoteRecall: () => false,
      rules: {
        epoch: lease.epoch,
        facts: (name) => registry.get(name),
        maxBadReplies: 3,
        maxModelFailures: options.maxModelFailures ?? 3,
      },
      remember: (before, event) => rememberStep(before, event, agent),
      scrub: change.scrub ?? ((text) => text),
      onCommitted: (events) => shown.push(...events),
      interrupt: change.interrupt ?? new AbortController().signal,
      ...(change.ask ? { ask: change.ask } : {}),
    });
  }
  return {
    store,
    files,
    model,
    clock,
    row,
    shown,
    run,
    runAll,
    events: () => store.read(row.id, 0, 10_000),
    text: (path) => {
      const content = files.get(path);
      return content && Buffer.from(content).toString("utf8");
    },
  };
}

export function withCommands(shipped: Registry, added: readonly Command[]): Registry {
  const more = added.map((command) => ({ effect: "at-most-once" as const, timeoutMs: 1_000, needs: [], ...command }));
  const all = [...shipped.all.filter(({ name }) => !more.some((own) => own.name === name)), ...more] as Registry["all"];
  return {
    ...shipped,
    all,
    unavailable: [],
    names: all.map(({ name }) => name),
    get: (name) => all.find((command) => command.name === name),
  };
}

/** What the agent `self` may start, in a world without settings. */
export const subagentPartsIn = (
  store: MemoryStore,
  self: string,
  rules: Partial<SubagentParts["rules"]> = {},
): SubagentParts => ({
  rules: { maxDepth: 2, maxChildren: 5, sharePercent: 25, model: "fast-model", ...rules },
  answerMs: 60_000,
  refusal: null,
  freeId: async (name) => {
    const taken = new Set((await store.agents()).map(({ id }) => id));
    return freeSlug(`${self} ${name}`, (id) => taken.has(id));
  },
  stateOf: async (id) => ((await store.agent(id)) ? stateOf(store, { id }) : undefined),
});

/** A reply as a good model writes it. */
export const reply = (name: string, args: Readonly<Record<string, unknown>> = {}, speak = `I use ${name}.`): string =>
  JSON.stringify({
    thoughts: { text: "I think.", reasoning: "Because.", plan: "- go on", criticism: "none", speak },
    command: { name, args },
  });
export const done = (reason = "All goals are reached."): string => reply("task_complete", { reason });
