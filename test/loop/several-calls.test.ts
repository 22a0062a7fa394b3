import { describe, expect, it } from "@jest/globals";
import type { Observation } from "#core/call.ts";
import { succeed } from "#core/command.ts";
import type { RecordedEvent } from "#core/event.ts";
import { isFinished } from "#core/state.ts";
import {
  type Loop,
  type LoopOptions,
  makeLoop,
  outerCommand,
  type PersonAnswer,
  testCommand,
  textArgs,
} from "../helpers/loop.ts";
import { type Script, scriptedModel } from "../helpers/models.ts";
import { cutPoints, cutPowerAt, PowerCut } from "../helpers/power-cut.ts";

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
    const shown = requests[1]?.messages.map(({ content }) => content).join("\n") ?? "";
    expect(shown).toMatch(/Saw a\.[\s\S]*Saw b\.[\s\S]*Saw c\./);
    const rows = await loop.store.memories(loop.row.id, 0, 10);
    expect(rows.slice(0, 3).map(({ text }) => text)).toEqual(
      ["a", "b", "c"].map((at) => `Command: look {"at":"${at}"}\nResult (ok): Saw ${at}.\nThought: I use look.`),
    );
  });

  it("shows the model the reply with all of eight results", async () => {
    const eight = [..."abcdefgh"];
    const { loop, requests } = await loopOf([calls(...eight.map(look)), DONE]);
    await loop.run();
    const shown = requests[1]?.messages.map(({ content }) => content).join("\n") ?? "";
    for (const at of eight) expect(shown).toContain(`Saw ${at}.`);
    expect(requests[1]?.messages.some(({ role }) => role === "assistant")).toBe(true);
  });

  it("ends with the same results in the same order after a power cut at any commit", async () => {
    const whole = await loopOf(LOOK_THRICE);
    await whole.loop.run();
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
  const problemsOf = async (text: string): Promise<string> => {
    const { loop, seen } = await loopOf([text, DONE]);
    await loop.run();
    expect([seen, loop.files.size]).toEqual([[], 0]);
    const [rejected] = await loop.of("reply-rejected");
    return rejected?.problems.join(" ") ?? "";
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

  it("is rejected when it was cut off", async () => {
    const cut = { kind: "replied", text: LOOK_THRICE[0] as string, finishReason: "length", usage: null } as const;
    const { loop, seen } = await loopOf([cut, DONE]);
    await loop.run();
    expect(seen).toEqual([]);
  });

  it("counts calls that are alike once", async () => {
    const { loop, seen } = await loopOf([calls(...[..."ababababab"].map(look)), DONE]);
    await loop.run();
    expect(seen).toEqual(["a", "b"]);
    const write: Call = ["append_to_file", { file: "a.txt", text: "x" }];
    const writing = await loopOf([calls(write, write), DONE]);
    await writing.loop.run();
    expect(writing.loop.text("a.txt")).toBe("x");
  });

  it("is rejected in the forms of JSON, whatever the commands do", async () => {
    const { loop, seen } = await loopOf([LOOK_THRICE[0] as string, DONE], { settings: { form: "json" } });
    await loop.run();
    expect(seen).toEqual([]);
    expect((await loop.events()).some(({ type }) => type === "reply-rejected")).toBe(true);
  });
});
