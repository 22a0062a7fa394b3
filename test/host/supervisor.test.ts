import { describe, expect, it, jest } from "@jest/globals";
import { ALL_READY } from "#commands/registry.ts";
import type { CommandCall } from "#core/call.ts";
import { type CommandContext, succeed } from "#core/command.ts";
import { type ErrorCode, GoaldError } from "#core/errors.ts";
import { spentOf } from "#core/limits.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import type { Store } from "#core/ports/store.ts";
import { activeFrame } from "#core/state.ts";
import { IsolationQueue } from "#host/isolation-queue.ts";
import { stateOf } from "#views/read-agent.ts";
import { fakeClock, settle, until } from "../helpers/fake-clock.ts";
import { restedHost, startHost, type TestHost, type World } from "../helpers/host.ts";
import { eventually } from "../helpers/local-server.ts";
import { done, reply, testCommand, WRITES } from "../helpers/loop.ts";
import type { MemoryStore } from "../helpers/memory-store.ts";
import { HANG, ledgerText, nameIn, type ScriptedReply, startAgent, subagentModel, textIn } from "../helpers/models.ts";
import type { ChatRequest } from "../helpers/openai-server.ts";

/** Makes a model that writes this many lines, then completes; it counts by the prompt. */
const counting =
  (lines: number) =>
  (request: ModelRequest): ScriptedReply => {
    const written = [...textIn(request).matchAll(/line (\d+)\\n/g)].map(([, number]) => Number(number));
    const next = Math.max(0, ...written) + 1;
    return next > lines ? done() : reply("append_to_file", { file: "lines.txt", text: `line ${next}\n` });
  };
const standsAt = (world: World, agent: string): string => world.textOf(agent, "lines.txt");

/** A host whose agent is in a command that ends when the test releases it. */
async function inTheMiddle() {
  const begun: string[] = [];
  let release = (): void => {};
  const run = async (_args: object, { callId, signal }: CommandContext) => {
    begun.push(callId);
    await new Promise<void>((resolve, reject) => {
      release = resolve;
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    return succeed("It took long.");
  };
  const command = testCommand("slow", run, { annotations: { ...WRITES, idempotent: false }, timeoutMs: 3_600_000 });
  const script = (request: ModelRequest): ScriptedReply =>
    /"?slow"? (returned|was started)|outcome of slow/i.test(textIn(request)) ? done() : reply("slow");
  const { world, host } = await startHost({ script, commands: [command] }, { Busy: {} });
  await until(() => begun.length === 1);
  return { world, host, slow: { begun, release: () => release() } };
}

/** Makes a host whose model server requested a retry after that time. */
const afterFailure = (name: string, afterMs: number) => {
  const failure = { kind: "failed", code: "server-error", message: "500", retry: { afterMs } } as const;
  return startHost({ script: (request, index) => (index === 0 ? failure : counting(1)(request)) }, { [name]: {} });
};

describe("a host of many agents", () => {
  it("shows until when an agent waits because the server refused another one for its rate", async () => {
    const busy = { kind: "failed", code: "rate-limited", message: "429", retry: { afterMs: 40_000 } } as const;
    const script = (_request: ModelRequest, index: number): ScriptedReply => (index === 0 ? busy : done());
    const { world, host } = await startHost({ script }, { Ada: {} });
    await until(() => world.model.requests.length === 1);
    const at = (ms: number): string => new Date(world.clock.now().getTime() + ms).toISOString();
    await world.create("Ben");
    host.supervisor.wake("ben");
    await settle();
    const reason = `The model server wants fewer requests. The next attempt is at ${at(40_000)}.`;
    expect(await host.control.agent("ben")).toMatchObject({ state: "waiting: rate limit", until: at(40_000), reason });
    await host.quietAfter(60_000);
    expect(await host.control.agent("ben")).toMatchObject({ state: "completed", until: null });
  });

  it("runs them side by side, each to its own end", async () => {
    const { world, host } = await restedHost({ script: counting(3) }, { Ada: {}, Ben: {}, Cleo: {} });
    for (const agent of ["ada", "ben", "cleo"]) expect(standsAt(world, agent)).toBe(ledgerText(3));
    expect(host.stopped.map(({ state }) => activeFrame(state).phase.kind)).toEqual(["resting", "resting", "resting"]);
    expect(host.supervisor.runners.size).toBe(0);
  });

  it("takes turns: no agent has to wait for the end of another one", async () => {
    let lead = 0;
    const script = async (request: ModelRequest): Promise<ScriptedReply> => {
      const own = textIn(request).includes("You are Ada") ? 1 : -1;
      lead += own;
      return eventually(() => own * lead <= 0).then(() => counting(4)(request));
    };
    const { world } = await restedHost({ script }, { Ada: {}, Ben: {} });
    expect([world.model.requests.length, lead]).toEqual([2 * 5, 0]);
  });

  it("continues background agents by itself, but not agents of a terminal", async () => {
    const { world } = await restedHost({ script: counting(1) }, { Attended: { background: false }, Alone: {} });
    expect(await world.types("attended")).toEqual(["agent-created"]);
    expect(standsAt(world, "alone")).toBe(ledgerText(1));
  });

  it("keeps no runner for an agent with a pending command, and continues after the approval", async () => {
    const { world, host } = await restedHost({ script: counting(1) }, { Asks: { approve: "always" } });
    expect([host.supervisor.runners.size, host.idle]).toEqual([0, ["asks"]]);
    await host.control.answer("asks", { verdict: "approved", count: 10 });
    await host.quiet();
    expect(standsAt(world, "asks")).toBe(ledgerText(1));
  });

  it("wakes an agent at its time, and not before, also when that came while no process ran", async () => {
    const { world, host } = await afterFailure("Waits", 60_000);
    await host.quiet();
    const wakeAt = new Date(world.clock.now().getTime() + 60_000).toISOString();
    expect((await world.store.agent("waits"))?.wakeAt).toBe(wakeAt);
    await world.clock.advance(59_999);
    expect(world.model.requests).toHaveLength(1);
    await host.quietAfter(1);
    expect(standsAt(world, "waits")).toBe(ledgerText(1));

    const later = await afterFailure("Waits", 60_000);
    await later.host.quiet();
    await later.host.supervisor.drain(0);
    await later.world.clock.advance(60_000);
    expect(later.world.model.requests).toHaveLength(1);
    await later.world.next();
    expect(standsAt(later.world, "waits")).toBe(ledgerText(1));
  });

  it("sleeps through a short wait, and wakes when a message arrives", async () => {
    const { world, host } = await afterFailure("Naps", 9_000);
    await until(() => world.clock.sleepers === 1);
    await host.control.pause("naps", "A person says so.");
    await host.quiet();
    expect((await world.types("naps")).at(-1)).toBe("agent-paused");
  });
});

/** Lets more time pass than all retries of an agent wait together. */
async function passRetries(world: World, host: TestHost): Promise<void> {
  for (let tries = 0; tries < 8; tries++) {
    await host.quiet();
    await world.clock.advance(300_000);
  }
  await host.quiet();
}

describe("an agent that fails in a host", () => {
  /** A host of two agents; the next commits of `bad` fail this often. */
  function startBroken(times: number, code: ErrorCode, sparesPauses = true) {
    let left = times;
    const broken = (store: MemoryStore): Store => ({
      ...store,
      commit: async (...given) => {
        const isSpared = sparesPauses && given[2].events.some(({ type }) => type === "agent-paused");
        if (given[0].agent === "bad" && !isSpared && left-- > 0) throw new GoaldError(code, "The disk is not there.");
        return store.commit(...given);
      },
    });
    return startHost({ script: counting(2) }, { Bad: {}, Good: {} }, { store: broken });
  }

  it("does not disturb the others, is retried with growing delays, and paused with the reason after the third failure", async () => {
    const { world, host } = await startBroken(1_000, "GOALD_INTERNAL");
    await host.quiet();
    expect(host.problems).toEqual(["bad: The disk is not there."]);
    expect(standsAt(world, "good")).toBe(ledgerText(2));
    await host.quietAfter(2_000);
    expect(host.problems).toHaveLength(2);
    await host.quietAfter(4_000);
    expect((await world.events("bad")).at(-1)).toMatchObject({ type: "agent-paused", code: "crash-loop" });
    expect(host.stopped.at(-1)?.state.paused?.reason).toContain("The disk is not there.");
  });

  it("is paused at once when a stored text is damaged", async () => {
    const { world, host } = await startBroken(1_000, "GOALD_STORE_DAMAGED");
    await passRetries(world, host);
    expect(standsAt(world, "good")).toBe(ledgerText(2));
    expect(host.problems).toEqual(["bad: The disk is not there."]);
    expect(await world.types("bad")).toEqual(["agent-created", "agent-paused"]);
    expect(await host.control.agent("bad")).toMatchObject({
      state: "paused: damaged",
      reason: "The disk is not there.",
    });
  });

  it("waits with the reason while the disk is full, and continues when there is space again", async () => {
    const { world, host } = await startBroken(6, "GOALD_STORE_FULL");
    await host.quiet();
    expect(await host.control.agent("bad")).toMatchObject({
      state: "waiting: retry",
      reason: "It failed and is retried automatically. The disk is not there.",
    });
    await passRetries(world, host);
    expect([host.problems.length, standsAt(world, "bad")]).toEqual([6, ledgerText(2)]);
    expect(await host.control.agent("bad")).toMatchObject({ state: "completed", reason: null });
  });

  it.each([
    ["pause", "that waits to retry"],
    ["kill", "that waits to retry"],
    ["kill", "at work"],
  ] as const)("goes on by itself after a %s that could not be written, an agent %s", async (halt, when) => {
    const { host } = await startBroken(2, "GOALD_STORE_FULL", false);
    if (when !== "at work") await host.quiet();
    await expect(host.control[halt]("bad", "Wait.")).rejects.toMatchObject({ code: "GOALD_STORE_FULL" });
    await host.quiet();
    await host.quietAfter(2_000);
    expect(await host.control.agent("bad")).toMatchObject({ state: "completed", reason: null });
  });

  it("is not paused for failures with work between them", async () => {
    let commits = 0;
    const flaky = (store: MemoryStore): Store => ({
      ...store,
      commit: async (...given) => {
        if (++commits % 20 === 0) throw new GoaldError("GOALD_INTERNAL", "Once in a while.");
        return store.commit(...given);
      },
    });
    const { world, host } = await startHost({ script: counting(40) }, { Long: {} }, { store: flaky });
    await passRetries(world, host);
    expect(host.problems.length).toBeGreaterThan(3);
    expect(standsAt(world, "long")).toBe(ledgerText(40));
  });
});

describe("an agent that is cut off", () => {
  it("stops at once, and does not repeat a command that may have run when it is resumed", async () => {
    const { world, host, slow } = await inTheMiddle();
    const fork = await host.control.fork("busy", { step: 1, key: "k" });
    expect(fork.reason).toBe("Forked from busy as it was in step 1. It has not gone on since.");
    expect((await host.control.kill("busy")).agent.state).toBe("killed");
    for (const id of ["busy", fork.id])
      expect((await world.types(id)).slice(-3)).toEqual(["command-started", "call-cut-off", "agent-paused"]);
    expect(host.stopped.map(({ state }) => state.paused?.code)).toEqual(["killed"]);
    await host.control.resume("busy", {});
    await host.quiet();
    expect(slow.begun).toHaveLength(1);
    const unknown = (await world.events("busy")).find(({ type }) => type === "command-finished");
    expect(unknown).toMatchObject({ observation: { status: "unknown" } });
  });

  it("by a stop keeps running until its grace time is over", async () => {
    const { world, host } = await inTheMiddle();
    const stopping = host.control.stop("busy", 5_000);
    await until(() => world.clock.sleepers > 0);
    await world.clock.advance(4_999);
    expect(host.supervisor.runners.get("busy")?.running).toBe(true);
    await world.clock.advance(1);
    const { agent, note } = await stopping;
    expect([agent.state, note]).toEqual(["stopped", "Its step did not end within 5 s and was cut off."]);
  });

  it("by a stop is not interrupted if the step ends in time", async () => {
    const { world, host, slow } = await inTheMiddle();
    const stopping = host.control.stop("busy", 5_000);
    await settle();
    slow.release();
    const { agent, note } = await stopping;
    expect([agent.state, note]).toEqual(["stopped", ""]);
    expect((await world.types("busy")).slice(-2)).toEqual(["command-finished", "agent-paused"]);
  });
});

it("a host whose lease was taken writes nothing more and does not claim the agent back, until a person wakes it there", async () => {
  // Only the regular look at the store: all other times are the world's clock.
  const doNotFake = ["Date", "nextTick", "performance", "queueMicrotask", "setImmediate", "setTimeout"] as const;
  jest.useFakeTimers({ doNotFake: [...doNotFake, "clearTimeout", "clearImmediate"] });
  try {
    const { world, host, slow } = await inTheMiddle();
    const taken = await world.store.claim("busy");
    const before = await world.types("busy");
    slow.release();
    await host.quiet();
    await world.clock.advance(3_600_000);
    await jest.advanceTimersByTimeAsync(60_000);
    host.supervisor.notify("busy");
    for (let looks = 0; looks < 100; looks++) await settle();
    expect((await world.store.agent("busy"))?.epoch).toBe(taken.epoch);
    expect(await world.types("busy")).toEqual(before);
    expect(host.problems).toEqual([expect.stringMatching(/^busy: .*lease/)]);
    host.supervisor.wake("busy");
    await until(async () => (await world.store.agent("busy"))?.epoch === taken.epoch + 1);
  } finally {
    jest.useRealTimers();
  }
});

describe("a host that shuts down", () => {
  it("finishes the step in progress, and starts no other, also when it is woken", async () => {
    const { world, host, slow } = await inTheMiddle();
    const drained = host.supervisor.drain(60_000);
    slow.release();
    await drained;
    host.supervisor.wake("busy");
    await settle();
    expect((await world.types("busy")).at(-1)).toBe("command-finished");
    expect([slow.begun.length, world.model.requests.length]).toEqual([1, 1]);
    expect((await world.store.agent("busy"))?.wakeAt).not.toBeNull();
  });

  it("cuts off a step that exceeds the grace time, and the next process continues it", async () => {
    const script = (request: ModelRequest, index: number) => (index === 0 ? HANG : counting(2)(request));
    const { world, host } = await startHost({ script }, { Asking: {} });
    await until(() => world.model.requests.length === 1);
    const drained = host.supervisor.drain(1_000);
    await world.clock.advance(1_000);
    await drained;
    expect((await world.types("asking")).at(-1)).toBe("model-asked");
    await world.next();
    expect(standsAt(world, "asking")).toBe(ledgerText(2));
  });
});

function makeQueue() {
  const clock = fakeClock();
  const queue = new IsolationQueue(clock);
  const began: string[] = [];
  const enter = async (agent: string, backOffMs = 0, signal = new AbortController().signal) => {
    if (await queue.enter(agent, backOffMs, signal)) began.push(agent);
    else began.push(`not ${agent}`);
  };
  return { clock, queue, began, enter };
}

describe("the turns of suspects after a death", () => {
  it("are given to one agent at a time, as they asked, and pass over one that is cut off while it waits", async () => {
    const { queue, began, enter } = makeQueue();
    const cutOff = new AbortController();
    for (const agent of ["ada", "ben"]) void enter(agent);
    void enter("cleo", 0, cutOff.signal);
    void enter("dora");
    await settle();
    queue.leave("dora");
    await settle();
    expect(began).toEqual(["ada"]);
    queue.leave("ada");
    await settle();
    expect(began).toEqual(["ada", "ben"]);
    cutOff.abort();
    queue.leave("ben");
    await settle();
    expect(began).toEqual(["ada", "ben", "not cleo", "dora"]);
  });

  it("come after the back-off, which holds up nobody else, and not when the agent is cut off in it", async () => {
    const { clock, began, enter } = makeQueue();
    const cutOff = new AbortController();
    void enter("ada", 4_000, cutOff.signal);
    void enter("ben", 1_000);
    await clock.advance(1_000);
    expect(began).toEqual(["ben"]);
    cutOff.abort();
    await clock.advance(4_000);
    expect(began).toEqual(["ben", "not ada"]);
  });

  it("are explained for the agents that wait, and only for them", async () => {
    const { queue, enter } = makeQueue();
    void enter("ada");
    void enter("ben");
    void enter("cleo", 1_000);
    await settle();
    expect(queue.reasonFor("ada")).toBeNull();
    expect(queue.reasonFor("dora")).toBeNull();
    expect(queue.reasonFor("ben")).toMatch(/one at a time.*: ada has its turn/);
    queue.leave("ada");
    queue.leave("ben");
    await settle();
    expect(queue.reasonFor("cleo")).toMatch(/tried again in a few seconds|ben has its turn/);
  });
});

/** Makes a world in which Foo starts Ann, who needs approval for each command. */
async function makeSubagents(
  calls: Readonly<Record<string, readonly CommandCall[]>>,
  hangs = "",
): Promise<[World, TestHost]> {
  const think = subagentModel(calls);
  const script = (request: ModelRequest): ScriptedReply => {
    const chat = request as unknown as ChatRequest;
    return hangs !== "" && nameIn(chat) === hangs ? HANG : think(chat);
  };
  const agents = { Foo: { approve: "risky", stepLimit: 40 } } as const;
  const { world, host } = await startHost({ services: ALL_READY, script }, agents);
  const isHanging = () => world.model.requests.some((request) => nameIn(request as unknown as ChatRequest) === hangs);
  await (hangs === "" ? host.quiet() : eventually(isHanging));
  return [world, host];
}
const allStandings = async (host: TestHost): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries((await host.control.agents()).map(({ id, state }) => [id, state]));
const ASK: CommandCall = { name: "ask_user", args: { question: "Red or blue?" } };

describe("a host with sub-agents", () => {
  it("runs a new sub-agent at once, lets a person answer its question, and wakes the waiting parent with its answer", async () => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    expect(await allStandings(host)).toEqual({ foo: "waiting: agent", "foo-ann": "waiting: person" });
    expect(await host.control.agent("foo-ann")).toMatchObject({ parent: "foo", reason: "It asks: Red or blue?" });
    await host.control.say("foo-ann", { from: "ada", text: "Blue." });
    await host.quiet();
    expect(await allStandings(host)).toEqual({ foo: "completed", "foo-ann": "completed" });
    expect(host.problems).toEqual([]);
  });

  it.each(["stop", "pause", "kill"] as const)("passes a %s of the parent on to its sub-agents", async (how) => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    const { note } = await (how === "stop"
      ? host.control.stop("foo", 1_000)
      : how === "pause"
        ? host.control.pause("foo", "lunch")
        : host.control.kill("foo"));
    await host.quiet();
    expect(await allStandings(host)).toMatchObject({ "foo-ann": "paused: parent" });
    if (how !== "pause") expect(note).toBe("Its agents stop with it: foo-ann.");
    const { note: again } = await host.control.resume("foo", {});
    expect(again).toBe("Its agents go on with it: foo-ann.");
    await host.quiet();
    expect(await allStandings(host)).toEqual({ foo: "waiting: agent", "foo-ann": "waiting: person" });
  });

  it("cuts off the requests of sub-agents too when it kills an agent", async () => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Ann")] }, "Ann");
    expect((await host.control.kill("foo")).note).toBe("Its agents stop with it: foo-ann.");
    expect(await allStandings(host)).toEqual({ foo: "killed", "foo-ann": "paused: parent" });
  });

  it("removes no agent that has sub-agents, stops nothing, and names the order of removal", async () => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    await expect(host.control.remove("foo", { force: true, files: false })).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
      hint: "Remove what it has started first: goald rm -f foo-ann",
    });
    expect(await allStandings(host)).toMatchObject({ foo: "waiting: agent" });
  });

  it("informs the waiting parent when a person removes a sub-agent, and returns the reserved limits", async () => {
    const [world, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    expect(spentOf(await stateOf(world.store, { id: "foo" })).steps).toBe(1 + 9);
    await host.control.remove("foo-ann", { force: true, files: false });
    await host.quiet();
    const results = (await world.events("foo")).flatMap((event) =>
      event.type === "command-finished" ? [event.observation] : [],
    );
    expect(results[0]).toMatchObject({ status: "failed", text: expect.stringMatching(/removed by a person/i) });
    expect(await allStandings(host)).toEqual({ foo: "completed" });
    const state = await stateOf(world.store, { id: "foo" });
    expect([state.children, spentOf(state).steps]).toEqual([{}, 2 + 1]);
    await host.control.remove("foo", { force: false, files: false });
    expect(await host.control.agents()).toEqual([]);
  });

  it("continues all of them in the next process", async () => {
    const [world, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    await host.supervisor.drain(0);
    await world.deliver("foo-ann", "w", { type: "say", from: "ada", text: "Blue." });
    const next = await world.next();
    expect(await allStandings(next)).toEqual({ foo: "completed", "foo-ann": "completed" });
  });

  it("keeps sub-agents with their parent at a fork, which continues without them and without reservations", async () => {
    const [world, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    const agent = await host.control.fork("foo", { step: 1, key: "k" });
    const state = await stateOf(world.store, { id: agent.id });
    expect(state.children).toEqual({});
    expect(spentOf(state).steps).toBe(1);
    const end = (await world.events(agent.id)).find(({ type }) => type === "command-finished");
    expect(JSON.stringify(end)).toContain("It works for foo, which you were forked from");
    expect(await allStandings(host)).toMatchObject({ foo: "waiting: agent" });
  });

  it("prefers a person's agent to a sub-agent of the same name", async () => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Foo")] });
    expect((await host.control.agent("FOO")).id).toBe("foo");
  });
});
