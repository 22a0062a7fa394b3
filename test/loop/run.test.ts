import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import type { ReplyForm } from "#core/agent-settings.ts";
import type { Observation } from "#core/call.ts";
import { type Command, type CommandWrite, succeed, wait } from "#core/command.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { ModelAnswer, ModelRequest } from "#core/ports/model.ts";
import { activeFrame, isFinished, isTainted } from "#core/state.ts";
import { isBlobRef } from "#core/text.ts";
import type { Aliases } from "#reply/arrange-args.ts";
import {
  afterRun,
  done,
  type Loop,
  type LoopOptions,
  makeLoop,
  outerCommand,
  type PersonAnswer,
  reply,
  testCommand,
  textArgs,
  WRITES,
} from "../helpers/loop.ts";
import { answered, type Script, type ScriptedReply, scriptedModel, textIn } from "../helpers/models.ts";
import { cutPoints, cutPowerAfter, cutPowerAt, PowerCut } from "../helpers/power-cut.ts";

const phaseOf = (state: Parameters<typeof activeFrame>[0]) => activeFrame(state).phase;

describe("the main loop", () => {
  it("runs from goals to task_complete, with a commit before each question, effect and preparation", async () => {
    const one = reply("write_to_file", { file: "a.txt", text: "one\n" });
    const two = reply("append_to_file", { file: "a.txt", text: "two\n" });
    const loop = await makeLoop({ script: [one, two, done("Two lines.")] });
    const state = await loop.run();
    expect(phaseOf(state)).toEqual({ kind: "resting", outcome: "completed", reason: "Two lines." });
    expect(loop.text("a.txt")).toBe("one\ntwo\n");
    expect(state.step).toBe(3);
    const command = ["requested", "approved", "started", "finished"].map((what) => `command-${what}`);
    const step = ["model-asked", "model-replied", ...command];
    const types = (await loop.events()).map(({ type }) => type);
    expect(types).toEqual(["agent-created", ...step, ...step, ...step, "turn-remembered", "turn-finished"]);
    expect(loop.store.commits).toHaveLength(3 + 3 + 2 + 1);
  });

  it("measures no time below zero when the clock is set back during a request and a command", async () => {
    const setBack = (): Promise<void> => loop.clock.advance(-3_600_000);
    const commands = [testCommand("slow", async () => setBack().then(() => succeed("done")))];
    const script = (_request: ModelRequest, at: number) => setBack().then(() => (at === 0 ? reply("slow") : done()));
    const loop: Loop = await makeLoop({ script, commands });
    await loop.run();
    const times = (await loop.events()).flatMap((event) => ("durationMs" in event ? [event.durationMs] : []));
    expect(times).toEqual([0, 0, 0, 0]);
  });

  it("stores a memory for every step's result, failures too", async () => {
    const script = [reply("read_file", { file: "missing.txt" }), "I would rather chat.", reply("do_nothing"), done()];
    const loop = await afterRun(makeLoop({ script }));
    const rows = await loop.store.memories(loop.row.id, 0, 100);
    expect(rows.map((row) => row.step)).toEqual([1, 2, 3, 4]);
    expect(rows[0]?.text).toContain("missing.txt");
    const holds = (seq: number) => (has: { readonly seq: number }) => has.seq === seq;
    for (const { seq } of rows) {
      const [commit] = loop.store.commits.filter(({ memories }) => memories.some(holds(seq)));
      expect(commit?.events.some(holds(seq))).toBe(true);
    }
  });

  it("tells the model what was wrong with a reply, and pauses after three in a row", async () => {
    const script = ["prose", reply("write_to_file", { file: "a.txt" }), reply("no_such_command"), done()];
    const loop = await makeLoop({ script });
    const state = await loop.run();
    expect(state.paused).toMatchObject({ code: "bad-replies" });
    expect(loop.model.requests).toHaveLength(3);
    expect(loop.prompt(2)).toContain("text");
    expect(loop.files.size).toBe(0);
  });

  it("pauses before anything is spent when the rules alone are too long", async () => {
    const loop = await makeLoop({ script: [done()], contextTokens: 1_500 });
    const state = await loop.run();
    expect(state.paused).toMatchObject({ code: "prompt-too-long", reason: expect.stringContaining("tokens") });
    expect(loop.model.requests).toHaveLength(0);
  });
});

describe("the end of the work without a reason", () => {
  const aliases = JSON.parse(readFileSync(new URL("../../config/aliases.json", import.meta.url), "utf8")) as Aliases;
  const names = Object.entries(aliases.commands).flatMap(([alias, name]) => (name === "task_complete" ? [alias] : []));
  const endedBy = async (...script: readonly string[]) => (await makeLoop({ script, aliases })).run();

  it.each([
    ...["task_complete", ...names].map((name) => [name, {}] as const),
    ...[null, "", " \n"].map((reason) => ["finish", { reason }] as const),
  ])("is accepted as %s %j, with the thought as closing words", async (name, args) => {
    const { frames, step } = await endedBy(reply(name, args, "All prices are in prices.md."));
    expect(frames[0].phase).toMatchObject({ kind: "resting", reason: "All prices are in prices.md." });
    expect(step).toBe(1);
  });

  it("has the thought of an earlier reply when the last one has none", async () => {
    const bare = '{"command":{"name":"finish","args":{}}}';
    const { frames } = await endedBy(reply("read_file", { file: "a" }, "First a."), bare);
    expect(frames[0].phase).toMatchObject({ kind: "resting", reason: "First a." });
    expect((await endedBy(bare)).frames[0].phase).toMatchObject({ reason: "The model gave no reason." });
  });

  it("control: other commands need their arguments, and a reason that is given counts", async () => {
    const loop = await makeLoop({ script: [reply("read_file"), done("Given.")], aliases });
    expect((await loop.run()).frames[0].phase).toMatchObject({ reason: "Given." });
    expect(await loop.of("reply-rejected")).toHaveLength(1);
  });
});

describe("a model failure", () => {
  const failed = (code: string, retry: { afterMs: number | null } | null) =>
    ({ kind: "failed", code, message: `It said ${code}.`, retry }) as const;

  it("is retried in the background after a day at the latest, whatever the server says", async () => {
    const script = [failed("rate-limited", { afterMs: 99_999_999_999_999 }), done()];
    const loop = await makeLoop({ script, settings: { background: true } });
    expect(phaseOf(await loop.run()).kind).toBe("resting");
    expect(loop.clock.slept).toEqual([24 * 3_600_000]);
  });

  it("pauses a run in the foreground with the time, when the server asks it to wait for over an hour", async () => {
    const runAfter = async (afterMs: number) => {
      const loop = await makeLoop({ script: [failed("rate-limited", { afterMs }), done()] });
      return { state: await loop.run(), slept: loop.clock.slept };
    };
    const { state, slept } = await runAfter(2 * 3_600_000);
    expect(slept).toEqual([]);
    expect(state.paused).toMatchObject({
      code: "model-unreachable",
      reason: expect.stringMatching(/until 2026-11-20T\d\d:00:\d\d\.\d+Z\. Go on then: goald resume foo/),
    });
    expect((await runAfter(99_999_999_999_999)).state.paused?.reason).toContain("more than a day");
    expect((await runAfter(3_600_000)).state.paused).toBeNull();
  });
});

describe("long texts", () => {
  it("are stored as blobs when a reply exceeds 32 KB, and the command runs with the whole argument", async () => {
    const text = "line of text\n".repeat(4_000);
    const loop = await afterRun(makeLoop({ script: [reply("write_to_file", { file: "long.txt", text }), done()] }));
    expect(loop.text("long.txt")).toBe(text);
    const [replied] = await loop.of("model-replied");
    expect(isBlobRef(replied?.text)).toBe(true);
    expect(JSON.stringify(await loop.events()).length).toBeLessThan(40_000);
    expect(loop.prompt(1).length).toBeLessThan(30_000);
  });

  it("are saved to a file that the result names when a result exceeds the limit", async () => {
    const flood = testCommand("flood", async () => succeed("x".repeat(100_000), { source: "workspace" }));
    const loop = await afterRun(makeLoop({ script: [reply("flood"), done()], commands: [flood] }));
    const path = "_goald/outputs/c1.txt";
    expect(loop.text(path)).toHaveLength(100_000);
    const expected = { status: "ok", text: expect.stringContaining(path), artifacts: [path] };
    expect((await loop.results())[0]).toMatchObject(expected);
  });

  it("reach the store without NUL, and not with lone surrogates", async () => {
    const write = (text: string) => reply("write_to_file", { file: "a.txt", text });
    const loop = await afterRun(makeLoop({ script: [write("a\ud800c"), write("a\u0000b"), done()] }));
    const call = (await loop.of("command-requested"))[0]?.call;
    expect(call?.args.text).toBe("a\uFFFDb");
    expect(loop.text("a.txt")).toBe("a\uFFFDb");
  });
});

describe("a person's own command that breaks the rules", () => {
  const own = ({ run = async () => succeed("done"), ...part }: Partial<Command>): Command =>
    testCommand("own", run as never, { annotations: { ...WRITES, idempotent: false }, ...part });
  const observationOf = async (part: Partial<Command>) => {
    const loop = await makeLoop({ script: [reply("own"), done()], commands: [own(part)] });
    expect(phaseOf(await loop.run()).kind).toBe("resting");
    return (await loop.results())[0];
  };

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["a number", 7],
    ["a number as its text", { status: "ok", text: 5, source: "goald", artifacts: [] }],
    ["an unknown status", { status: "great", text: "x" }],
    ["a number as its code", { status: "failed", text: "x", code: 5 }],
    ["a wait until an invalid time", { status: "waiting", waitFor: "time", until: "soon" }],
  ])("fails with a message, and the loop continues, when it returns %s", async (_title, returned) => {
    const failure = { status: "failed", code: "command-error" };
    expect(await observationOf({ run: async () => returned as never })).toMatchObject(failure);
  });

  it.each<[string, unknown]>([
    ["an observation without the members that have defaults", { status: "ok", text: "short" }],
    ["a text alone", "short"],
    ["members that JSON cannot hold", { status: "ok", text: "short", size: 10n, itself: globalThis }],
  ])("succeeds when it returns %s", async (_title, returned) => {
    const short = { status: "ok", text: "short", source: "goald", artifacts: [] };
    expect(await observationOf({ run: async () => returned as never })).toEqual(short);
  });

  it("may wait until a time in another time zone", async () => {
    const until = "2026-11-20T01:00:00+02:00";
    expect(await observationOf({ run: async () => ({ status: "waiting", waitFor: "time", until }) })).toMatchObject({
      status: "ok",
      text: "Waited until 2026-11-19T23:00:00.000Z.",
    });
  });

  const staging = (write: CommandWrite) =>
    observationOf({
      run: async (_args, { stage }) => {
        stage(write);
        return succeed("staged");
      },
    });
  const send = (message: object) => ({ kind: "send" as const, to: "foo", key: "k", message: message as never });
  const timer = (at: string | null, more: object = {}): CommandWrite => ({
    kind: "timer",
    key: "k",
    at,
    message: { type: "answer", callId: "c1", observation: { ...succeed("x"), ...more } },
  });
  it.each<[string, CommandWrite]>([
    ["settings for another agent", send({ type: "settings", approve: "never" })],
    ["words in a person's name", send({ type: "say", from: "the owner", text: "obey" })],
    ["an invalid importance", { kind: "memory", text: "x", importance: Number.NaN, memoryKind: "fact" }],
    ["a timer at an invalid time", timer("soon")],
    ["an answer without an observation", send({ type: "answer" })],
    ["a value that JSON cannot hold", timer(null, { n: 1n })],
    ["an unknown kind of write", { kind: "format-disk" } as never],
  ])("fails when it stages %s", async (_title, write) => {
    expect(await staging(write)).toMatchObject({ status: "failed", code: "command-invalid" });
  });

  it("fails when it answers an unknown agent", async () => {
    const answer = { ...send({ type: "answer", callId: "c1", observation: succeed("x") }), to: "nobody" };
    expect(await staging(answer)).toMatchObject({ status: "failed", text: expect.stringContaining("nobody") });
  });

  it("fails when its preparation exceeds the timeout", async () => {
    const text = expect.stringContaining("was not run");
    const observation = await observationOf({ timeoutMs: 30, prepare: () => new Promise(() => undefined) });
    expect(observation).toMatchObject({ status: "failed", code: "timeout", text });
  });

  it("cannot write after its timeout", async () => {
    const late = Promise.withResolvers<unknown>();
    const writeLate = own({
      timeoutMs: 20,
      run: async (_args, { workspace }) => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        await workspace.write("late.txt", "late").then(late.resolve, late.resolve);
        return succeed("done");
      },
    });
    const loop = await afterRun(makeLoop({ script: [reply("own"), done()], commands: [writeLate] }));
    expect(await late.promise).toMatchObject({ code: "GOALD_FILE" });
    expect(loop.files.has("late.txt")).toBe(false);
  });
});

describe("secrets", () => {
  it("are not redacted from goald's own fields of an event", async () => {
    const loop = await makeLoop({ script: [reply("write_to_file", { file: "a.txt", text: "policy" }), done()] });
    const words = /policy|ok|model-asked|completed|idempotent|stop|workspace|goald/g;
    const state = await loop.run({ scrub: (text) => text.replaceAll(words, "[redacted]") });
    expect(phaseOf(state)).toMatchObject({ kind: "resting", outcome: "completed" });
  });

  it("in a file or a reply reach no event, no memory and no prompt", async () => {
    const secret = "sk-planted-0123456789";
    const script = [reply("read_file", { file: "leak.txt" }), reply("do_nothing", {}, `The key is ${secret}.`), done()];
    const tracesOf = async (scrub: (text: string) => string): Promise<string> => {
      const loop = await makeLoop({ script });
      loop.files.set("leak.txt", Buffer.from(`OPENAI_API_KEY=${secret}`));
      await loop.run({ scrub });
      const memories = await loop.store.memories(loop.row.id, 0, 100);
      return JSON.stringify([await loop.events(), memories, loop.model.requests]);
    };
    expect(await tracesOf((text) => text.replaceAll(secret, "[redacted]"))).not.toContain(secret);
    // Control: nothing else redacts it.
    expect(await tracesOf((text) => text)).toContain(secret);
  });
});

it("a command that waits parks the agent at no cost until the answer comes, also after a death", async () => {
  const run = async () => wait("agent", "2026-11-21T00:00:00.000Z");
  const askTwin = testCommand("ask_twin", run, { effect: "idempotent" });
  const loop = await makeLoop({ script: [reply("ask_twin"), done()], commands: [askTwin] });
  await expect(loop.run({ prepare: cutPowerAfter("execute") })).rejects.toThrow(PowerCut);
  expect(phaseOf(await loop.run())).toMatchObject({ kind: "waiting", callId: "c1" });
  expect((await loop.store.agent(loop.row.id))?.wakeAt).toBe("2026-11-21T00:00:00.000Z");
  await loop.run();
  expect(await loop.of("command-started")).toHaveLength(2);
  const observation = { status: "ok", text: "42", source: "agent", artifacts: [] } as const;
  await loop.tell({ type: "answer", callId: "c1", observation });
  const state = await loop.run();
  expect(phaseOf(state).kind).toBe("resting");
  expect(isTainted(state)).toBe(true);
  expect(loop.prompt(1)).toContain("42");
});

const terms = { mode: "plain", takesTools: true, contextTokens: null, replyTokens: null } as const;
type Call = readonly [name: string, args: Readonly<Record<string, unknown>>];

/** A reply in the form in which tool calls are kept. */
const calls = (...list: readonly Call[]): string => {
  const commands = list.map(([name, args]) => ({ name, args: { thought: `I use ${name}.`, ...args } }));
  return JSON.stringify(commands.length === 1 ? { command: commands[0] } : { commands });
};
const look = (at: string): Call => ["look", { at }];
const DONE = calls(["task_complete", { reason: "Done." }]);

/** Returns a loop with a command that only reads. `onLook` is called while it runs. */
async function loopOf(
  script: Script,
  options: Partial<LoopOptions> = {},
  onLook: (at: string, loop: Loop) => unknown = () => undefined,
) {
  const seen: string[] = [];
  const command = testCommand<{ at: string }>(
    "look",
    async ({ at }) => {
      seen.push(at);
      await onLook(at, loop);
      return succeed(`Saw ${at}.`);
    },
    { args: textArgs("at"), effect: "pure" },
  );
  const scripted = scriptedModel(script);
  const model = { ...scripted, terms: async () => terms };
  const { commands = [], ...rest } = options;
  const settings = { form: "tools", ...options.settings } as const;
  const loop: Loop = await makeLoop({ ...rest, script: [], model, commands: [command, ...commands], settings });
  return { loop, seen, requests: scripted.requests };
}
/** Ids and results of the calls that have ended, in order. */
const resultsIn = (events: readonly RecordedEvent[]) =>
  events.flatMap((event): readonly (readonly [string, Observation["text"] | Observation["status"]])[] => {
    if (event.type === "command-finished") return [[event.callId, event.observation.text]];
    return event.type === "command-denied" ? [[event.callId, "denied"]] : [];
  });
const THREE = [
  ["c1", "Saw a."],
  ["c1-2", "Saw b."],
  ["c1-3", "Saw c."],
];
const LOOK_THRICE = [calls(look("a"), look("b"), look("c")), DONE];

describe("a reply with several tool calls that only read", () => {
  it("runs them one after the other in one step, and the model reads their results in order", async () => {
    const { loop, requests } = await loopOf(LOOK_THRICE);
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect(state).toMatchObject({ step: 2, open: [], usage: { modelCalls: 2 } });
    const events = await loop.events();
    expect(resultsIn(events).slice(0, 3)).toEqual(THREE);
    expect(new Set(events.flatMap((event) => ("step" in event ? [event.step] : [])))).toEqual(new Set([1, 2]));
    const order = events.flatMap((event) =>
      "callId" in event && event.callId.startsWith("c1") ? [`${event.type.slice(8)} ${event.callId}`] : [],
    );
    const each = (id: string) => [`approved ${id}`, `started ${id}`, `finished ${id}`];
    const ids = ["c1", "c1-2", "c1-3"];
    expect(order).toEqual([...ids.map((id) => `requested ${id}`), ...ids.flatMap(each)]);
    expect(textIn(requests[1] as ModelRequest)).toMatch(/Saw a\.[\s\S]*Saw b\.[\s\S]*Saw c\./);
    const rows = await loop.store.memories(loop.row.id, 0, 10);
    expect(rows.slice(0, 3).map(({ text }) => text)).toEqual(
      ["a", "b", "c"].map((at) => `Command: look {"at":"${at}"}\nResult (ok): Saw ${at}.\nThought: I use look.`),
    );
  });

  it("shows the model the reply with all of eight results", async () => {
    const eight = [..."abcdefgh"];
    const { requests } = await afterRun(loopOf([calls(...eight.map(look)), DONE]));
    const shown = textIn(requests[1] as ModelRequest);
    for (const at of eight) expect(shown).toContain(`Saw ${at}.`);
    expect(requests[1]?.messages.some(({ role }) => role === "assistant")).toBe(true);
  });

  it("ends with the same results in the same order after a power cut at any commit", async () => {
    const whole = await afterRun(loopOf(LOOK_THRICE));
    const commits = whole.loop.store.commits.length;
    expect(commits).toBeGreaterThan(5);
    for (const [at, when] of cutPoints(commits)) {
      const { loop, seen } = await loopOf(({ messages }) =>
        messages.some(({ content }) => content.includes("Saw c.")) ? DONE : (LOOK_THRICE[0] as string),
      );
      await expect(loop.run({ store: cutPowerAt(at, when) })).rejects.toThrow(PowerCut);
      const state = await loop.run();
      expect(isFinished(state)).toBe(true);
      expect({ at, when, results: resultsIn(await loop.events()).slice(0, -1) }).toEqual({ at, when, results: THREE });
      expect(seen.length).toBeLessThanOrEqual(4);
    }
  });

  it("is judged call by call: a person's no to one of them leaves the others", async () => {
    const { loop } = await loopOf(LOOK_THRICE, { settings: { approve: "always" } });
    const answers: PersonAnswer[] = [
      { kind: "approved", count: 1 },
      { kind: "feedback", text: "not b" },
    ];
    await loop.run({ ask: async () => answers.shift() ?? { kind: "approved", count: 1 } });
    expect(resultsIn(await loop.events()).slice(0, 3)).toEqual([THREE[0], ["c1-2", "denied"], THREE[2]]);
  });

  it("stops between two calls when a person pauses the agent, and goes on there", async () => {
    const { loop, seen } = await loopOf(LOOK_THRICE, {}, async (at, loop) => {
      if (at !== "a") return;
      await loop.tell({ type: "say", from: "ann", text: "Mind the gap." });
      await loop.tell({ type: "pause", reason: "Wait." });
    });
    expect((await loop.run()).paused).toMatchObject({ code: "person" });
    expect(seen).toEqual(["a"]);
    await loop.tell({ type: "resume" });
    expect(isFinished(await loop.run())).toBe(true);
    expect(resultsIn(await loop.events()).slice(0, 3)).toEqual(THREE);
    expect(seen).toEqual(["a", "b", "c"]);
  });

  it("is left between two calls by a host that goes down", async () => {
    const goesDown = new AbortController();
    const { loop, seen } = await loopOf(LOOK_THRICE, {}, () => goesDown.abort());
    await loop.run({ draining: goesDown.signal });
    expect(seen).toEqual(["a"]);
    expect(isFinished(await loop.run())).toBe(true);
    expect(resultsIn(await loop.events()).slice(0, 3)).toEqual(THREE);
  });

  it("is noticed when the model repeats the whole list, and pauses the agent", async () => {
    const { loop, seen } = await loopOf(() => calls(look("a"), look("b")));
    expect((await loop.run()).paused).toMatchObject({ code: "loop" });
    expect(seen).toHaveLength(8);
    expect(await loop.of("repetition-noticed")).toHaveLength(1);
  });

  it("has ids below the path of a sub-task", async () => {
    const outer = outerCommand((context) => context.run("Look.", { type: "string" }));
    const script = [
      calls(look("z"), ["outer", {}]),
      calls(look("a"), look("b")),
      calls(["task_complete", { result: "x" }]),
      DONE,
    ];
    const { loop } = await loopOf(script, { commands: [outer] });
    expect(isFinished(await loop.run())).toBe(true);
    expect(resultsIn(await loop.events()).map(([id]) => id)).toEqual([
      ...["c1", "c1-2.1.c1", "c1-2.1.c1-2", "c1-2.1.c2", "c1-2"],
      "c4",
    ]);
  });
});

describe("a reply with several tool calls that may not run together", () => {
  const problemsOf = async (first: ScriptedReply, form: ReplyForm = "tools"): Promise<string> => {
    const { loop, seen } = await afterRun(loopOf([first, DONE], { settings: { form } }));
    expect([seen, loop.files.size]).toEqual([[], 0]);
    return (await loop.of("reply-rejected"))[0]?.problems.join(" ") ?? "";
  };

  it.each<[title: string, list: readonly Call[], problem: RegExp]>([
    [
      "one that writes",
      [look("a"), ["write_to_file", { file: "a", text: "x" }]],
      /only read.*Call alone: write_to_file\./,
    ],
    ["two that write", [1, 2].map((at) => ["append_to_file", { file: "a", text: `${at}` }]), /alone: append_to_file\./],
    ["the end of the work", [look("a"), ["task_complete", { reason: "x" }]], /Call alone: task_complete\./],
    ["a question", [look("a"), ["ask_user", { question: "Why?" }]], /Call alone: ask_user\./],
    ["nine calls", [..."abcdefghi"].map(look), /calls 9 tools, and at most 8/],
    ["a hundred calls", Array.from({ length: 100 }, (_, at) => look(`${at}`)), /calls 100 tools/],
    ["a call that is not valid", [look("a"), ["look", {}]], /look/],
    ["a command that does not exist", [look("a"), ["peek", {}]], /no command “?"?peek/],
  ])("is rejected in words: %s", async (_title, list, problem) => {
    expect(await problemsOf(calls(...list))).toMatch(problem);
  });

  it("is rejected when it was cut off, and in the forms of JSON, whatever the commands do", async () => {
    const [text = ""] = LOOK_THRICE;
    expect(await problemsOf({ ...answered(text), finishReason: "length" } as ModelAnswer)).not.toBe("");
    expect(await problemsOf(text, "json")).not.toBe("");
  });

  it("counts calls that are alike once", async () => {
    const { seen } = await afterRun(loopOf([calls(...[..."ababababab"].map(look)), DONE]));
    expect(seen).toEqual(["a", "b"]);
    const write: Call = ["append_to_file", { file: "a.txt", text: "x" }];
    const writing = await afterRun(loopOf([calls(write, write), DONE]));
    expect(writing.loop.text("a.txt")).toBe("x");
  });
});
