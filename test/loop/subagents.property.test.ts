import { beforeAll, describe, expect, it } from "@jest/globals";
import { ALL_READY } from "#commands/registry.ts";
import type { CommandCall } from "#core/call.ts";
import type { EventBody } from "#core/event.ts";
import { spentOf } from "#core/limits.ts";
import { activeFrame } from "#core/state.ts";
import { stateOf } from "#views/read-agent.ts";
import { type Loop, type LoopOptions, makeLoop } from "../helpers/loop.ts";
import type { MemoryStore } from "../helpers/memory-store.ts";
import { messageAgent, startAgent, subagentModel, write } from "../helpers/models.ts";
import type { ChatRequest } from "../helpers/openai-server.ts";
import { type CutStore, cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";
import { someOf } from "../helpers/waits.ts";

const LIST: CommandCall = { name: "list_agents", args: {} };
const endAgent = (key: string): CommandCall => ({ name: "delete_agent", args: { key } });

/** Makes Foo and the agents that it starts, each with its own list of commands. */
const makeSubagents = (
  calls: Readonly<Record<string, readonly CommandCall[]>>,
  options: Partial<LoopOptions> = {},
): Promise<Loop> =>
  makeLoop({
    script: (request) => subagentModel(calls)(request as unknown as ChatRequest),
    services: ALL_READY,
    ...options,
  });

type Of<T> = Extract<EventBody, { readonly type: T }>;
/** Returns an empty list for an unknown agent. */
const eventsOf = async <T extends EventBody["type"]>(
  { store }: Loop,
  agent: string,
  type: T,
): Promise<readonly Of<T>[]> =>
  (await store.read(agent, 0, 1_000).catch(() => [])).filter(
    (event) => event.type === type,
  ) as unknown as readonly Of<T>[];
const resultsOf = async (loop: Loop, agent = "foo"): Promise<readonly string[]> =>
  (await eventsOf(loop, agent, "command-finished")).map(({ observation }) => String(observation.text));
const standing = async ({ store }: Loop, id: string): Promise<string> => {
  const state = await stateOf(store, { id });
  return state.paused?.code ?? activeFrame(state).phase.kind;
};

/** Foo starts two agents, messages the first, and ends the second. */
const SUBAGENT_RULES = {
  Foo: [startAgent("Ann"), startAgent("Bo"), messageAgent("foo-ann", "Once more."), endAgent("foo-bo")],
  Ann: [write("a.txt", "a")],
  Bo: [write("b.txt", "b"), LIST],
};

async function runCut(at: number, when: When, change = (store: CutStore, _real: MemoryStore) => store): Promise<Loop> {
  const loop = await makeSubagents(SUBAGENT_RULES);
  const cut = cutPowerAt(at, when);
  await expect(loop.runAll({ store: (real) => change(cut(real), real) })).rejects.toThrow(PowerCut);
  await loop.runAll();
  return loop;
}

/** Everything that can be seen of starts, tasks and reports. */
async function describeOutcome(loop: Loop) {
  const agents = (await loop.store.agents()).map(({ id, parent }) => `${id} of ${parent}`);
  const state = await stateOf(loop.store, loop.row);
  return {
    agents,
    results: (await resultsOf(loop)).toSorted(),
    tasks: (await eventsOf(loop, "foo-ann", "task-received")).map(({ text }) => text),
    turns: (await eventsOf(loop, "foo-ann", "turn-finished")).length,
    reports: (await eventsOf(loop, "foo", "agent-reported")).map(({ agent, status: how }) => `${agent} ${how}`),
    spent: spentOf(state),
    children: Object.keys(state.children),
    standing: await standing(loop, "foo"),
  };
}

/** Checked by beforeAll below. */
const COMMITS = 32;
/** Only a model request or a `prepare` happens between two commits, so a cut after one equals a cut before the next. */
const POINTS = Array.from({ length: COMMITS }, (_, at) => at + 1);

describe("a power cut at every commit of an agent with two sub-agents", () => {
  let whole: Awaited<ReturnType<typeof describeOutcome>>;
  beforeAll(async () => {
    const loop = await makeSubagents(SUBAGENT_RULES);
    await loop.runAll();
    whole = await describeOutcome(loop);
    expect(loop.store.commits.length).toBe(COMMITS);
  });

  it.each(someOf(POINTS))(
    "leaves each start, task and report exactly once, and the sums correct: before commit %i",
    async (at) => {
      const { spent, ...outcome } = await describeOutcome(await runCut(at, "before"));
      const { spent: expected, ...same } = whole;
      expect(outcome).toEqual(same);
      // A lost reply is counted in addition to what the uncut run spends.
      expect(spent.steps).toBe(expected.steps);
      expect(spent.tokens).toBeGreaterThanOrEqual(expected.tokens);
    },
  );

  it("loses messages in a control run that sends them after the commit instead of with it", async () => {
    const sendingLater = (store: CutStore, real: MemoryStore): CutStore => ({
      ...store,
      commit: async (lease, head, unit) => {
        await store.commit(lease, head, { ...unit, staged: [] });
        const at = unit.events.at(-1)?.at ?? "";
        for (const write_ of unit.staged) {
          if (write_.kind === "spawn") await real.create({ ...write_.spec, parent: lease.agent }, write_.key, at);
          if (write_.kind === "send") await real.deliver(write_.to, `${lease.agent}/${write_.key}`, write_.message, at);
        }
      },
    });
    const { spent: _spent, ...same } = whole;
    const wrong: number[] = [];
    for (const at of POINTS) {
      const { spent: _lost, ...outcome } = await describeOutcome(await runCut(at, "after", sendingLater));
      if (JSON.stringify(outcome) !== JSON.stringify(same)) wrong.push(at);
      if (wrong.length > 5) break;
    }
    expect(wrong.length).toBeGreaterThan(5);
  });
});

/** Time passes whenever Foo waits and before others run, so that all answers come after Foo has finished. */
async function runLate(loop: Loop, change: Parameters<Loop["run"]>[0] = {}): Promise<void> {
  for (let state = await loop.run(change); activeFrame(state).phase.kind === "waiting"; state = await loop.run(change))
    await loop.clock.advance(60_000);
  await loop.runAll(change);
}

describe("a power cut at every commit of an agent that receives all answers late", () => {
  it("leaves each answer as one message, and each sub-agent's spending settled", async () => {
    const calls = { ...SUBAGENT_RULES, Foo: SUBAGENT_RULES.Foo.slice(0, 3) };
    let cuts = 0;
    for (let isCut = true; isCut; cuts++) {
      const loop = await makeSubagents(calls);
      const store = cutPowerAt(cuts + 1, "before");
      isCut = await runLate(loop, { store }).then(
        () => false,
        () => true,
      );
      if (isCut) await runLate(loop);
      const reports = await eventsOf(loop, "foo", "agent-reported");
      const said = reports.map(
        ({ agent, tasksReceived, observation }) => `${agent} ${tasksReceived} ${observation?.source}`,
      );
      // Both tasks were there before Ann began, so she gives one answer, to the newer task.
      expect(said.toSorted()).toEqual(["foo-ann 2 agent", "foo-bo 1 agent"]);
      expect((await resultsOf(loop)).filter((text) => text.includes("is working"))).toHaveLength(3);
      expect((await eventsOf(loop, "foo-ann", "task-received")).length).toBe(1);
      const foo = await stateOf(loop.store, loop.row);
      const others = await Promise.all(["foo-ann", "foo-bo"].map((id) => stateOf(loop.store, { id })));
      expect(spentOf(foo).steps).toBe(foo.step + others.reduce((sum, { step }) => sum + step, 0));
    }
    expect(cuts).toBeGreaterThan(15);
  });
});
