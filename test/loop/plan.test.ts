import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createShowRun } from "#cli/terminal/show-run.ts";
import { ALL_READY, loadRegistry } from "#commands/registry.ts";
import { currentTask, listTasks, type PlanTask } from "#core/plan.ts";
import type { InboxMessage } from "#core/ports/store.ts";
import { initialState, isFinished } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import { createCommandSets } from "#loop/command-set.ts";
import { createLiveThoughts } from "#reply/thoughts.ts";
import type { CellBehaviour } from "../helpers/fake-sandbox.ts";
import {
  afterRun,
  closeProseLoops,
  type Loop,
  makeLoop,
  makeProseLoop,
  type ProseLoop,
  python,
  reply,
} from "../helpers/loop.ts";
import { failure } from "../helpers/openai-server.ts";
import { cutPowerAt, PowerCut } from "../helpers/power-cut.ts";

type Call = readonly [name: string, args: Readonly<Record<string, unknown>>];
const add = (parent: string, goal: string, ...subtasks: readonly unknown[]): Call => [
  "add_task",
  { parent, goal, ...(subtasks.length > 0 ? { subtasks } : {}) },
];
const set = (id: string, state: string): Call => ["modify_task", { id, state }];
const think = (thought: string): Call => ["think", { thought }];
const END: Call = ["task_complete", { reason: "All goals are reached." }];

afterEach(closeProseLoops);

type Options = Partial<Parameters<typeof makeLoop>[0]> & { readonly inbox?: readonly InboxMessage[] };

/** Makes the calls, one a step, until there are none left and the agent is at its limit. */
async function play(calls: readonly Call[], { inbox = [], ...options }: Options = {}) {
  const settings = { stepLimit: calls.length, ...options.settings };
  const loop = await makeLoop({ ...options, script: calls.map(([name, args]) => reply(name, args)), settings });
  for (const message of inbox) await loop.tell(message);
  const state = await loop.run();
  return { loop, state, plan: rowsOf(state.plan), results: await resultsOf(loop) };
}

const rowsOf = (plan: PlanTask | null): readonly string[] =>
  plan ? listTasks(plan).map(({ id, task }) => `${id} ${task.state} ${task.goal}`) : [];

/** Status, code and text of what came of each call of the model. */
const resultsOf = async (loop: Loop): Promise<readonly string[]> =>
  (await loop.events()).flatMap((event) => {
    if (event.type === "command-denied") return [`denied ${event.reason}`];
    if (event.type !== "command-finished" || event.callId.includes(".")) return [];
    const { status, code, text } = event.observation;
    return [[status, ...(code ? [code] : []), text].join(" ")];
  });
const PLANNED = "Count to twelve";

describe("the commands of the plan", () => {
  it("add tasks with ids of their places, set states that go up and down, and record only changes", async () => {
    const { plan, results, state, loop } = await play([
      add("0", "Outline", { goal: "Read" }, { goal: "Sketch", subtasks: [{ goal: "Title" }] }),
      add("0", " Write\nit "),
      set("0.0.1.0", "in_progress"),
      set("0.0.0", "abandoned"),
      set("0.0", "verified"),
      set("0.1", "In progress"),
      set("0.1", "open"),
      set("0.1", "in-progress"),
      set(" 0.1 ", "in_progress"),
    ]);
    expect(results).toEqual([
      "ok Added 0.0, with 0.0.0, 0.0.1 and 0.0.1.0.",
      "ok Added 0.1.",
      "ok Task 0.0.1.0 was open and is in_progress now, and so are 0, 0.0 and 0.0.1.",
      "ok Task 0.0.0 was open and is abandoned now.",
      "ok Task 0.0 was in_progress and is verified now, and so are 0.0.1 and 0.0.1.0.",
      "ok Task 0.1 was open and is in_progress now.",
      "ok Task 0.1 was in_progress and is open now.",
      "ok Task 0.1 was open and is in_progress now.",
      "ok Task 0.1 is in_progress already, and nothing changed.",
    ]);
    expect(await loop.of("task-changed")).toHaveLength(6);
    expect(plan).toEqual([
      "0 in_progress Count to twelve",
      "0.0 verified Outline",
      "0.0.0 abandoned Read",
      "0.0.1 verified Sketch",
      "0.0.1.0 verified Title",
      "0.1 in_progress Write it",
    ]);
    expect(currentTask(state.plan as PlanTask)?.id).toBe("0.1");
    expect(loop.prompt(1)).toContain(`{"id":"0","goal":"${PLANNED}"`);
  });

  it("tell a wrong id, state, parent or goal as a result, after which the run goes on", async () => {
    const closed = [add("0", "a"), set("0.0", "verified")];
    const wrong: readonly (readonly [Call, RegExp])[] = [
      [
        set("first", "open"),
        /^failed plan Expected the id of a task, .*, with whole numbers between dots, got "first"\.$/,
      ],
      [set("0.4", "open"), /There is no task 0\.4: task 0 has one subtask, 0\.0\./],
      [set("0.0", "finished"), /^failed plan Expected the state open, .*, verified or abandoned, got "finished"\.$/],
      [set("0.0", "x".repeat(5_000)), /got "x{79}…"\.$/],
      [add("0", "  "), /1 to 500 characters, got 0/],
      [add("0", "b", { goal: "c", subtasks: [{ goal: 7 }] }), /Expected each subtask as .*got \{"goal":7\}/],
      [add("0", "b", { goal: "c", state: "verified" }), /got \{"goal":"c","state":"verified"\}/],
      [add("0", "b", { goal: "c", subtasks: "d" }), /got \{"goal":"c","subtasks":"d"\}/],
      [add("0", "b", { goal: "c", subtasks: [null] }), /got null/],
    ];
    const { plan, results, state, loop } = await play([...closed, ...wrong.map(([call]) => call), END]);
    for (const [index, [, said]] of wrong.entries()) expect(results[closed.length + index]).toMatch(said);
    expect(results.every((text) => text.length < 400)).toBe(true);
    expect(plan).toEqual(["0 open Count to twelve", "0.0 verified a"]);
    expect(state.paused).toMatchObject({ code: "step-limit" });
    expect(results.at(-1)).toMatch(/^denied Your plan is not finished/);
    expect(await loop.of("reply-rejected")).toEqual([]);
  });

  it("name ten of many added tasks, say that the plan is full, and leave it as it was", async () => {
    const parts = Array.from({ length: 998 }, (_none, at) => ({ goal: `part ${at}` }));
    const { plan, results } = await play([add("0", "all", ...parts), add("0", "one more")]);
    expect(results).toEqual([
      expect.stringMatching(/^ok Added 0\.0, with 0\.0\.0, 0\.0\.1, .*, 0\.0\.9 and 988 more\.$/),
      expect.stringMatching(/^failed plan A plan has up to 1,000 tasks, and this one would have 1001\. Add fewer\.$/),
    ]);
    expect(plan).toHaveLength(1_000);
  });

  it("are understood under the names that models give them", async () => {
    const create: Call = ["create_task", { parent_id: "0", description: "a", subtasks: [{ goal: "b" }] }];
    const update: Call = ["update_task", { task_id: "0.0", status: "In Progress" }];
    const { results } = await play([create, update]);
    expect(results).toEqual(["ok Added 0.0, with 0.0.0.", "ok Task 0.0 was open and is in_progress now, and so is 0."]);
  });

  it("think without any change, as often as the model likes", async () => {
    const thoughts = Array.from({ length: 8 }, (_none, at) => think(`Thought ${"abcdefgh"[at]}`));
    const { results, state, loop } = await play([...thoughts, END]);
    expect(isFinished(state)).toBe(true);
    expect(results.slice(0, 8)).toEqual(thoughts.map(() => "ok Noted."));
    const types = new Set((await loop.events()).map(({ type }) => type));
    for (const type of ["repetition-noticed", "task-added", "task-changed"] as const) expect(types).not.toContain(type);
    const same = await play([...Array.from({ length: 6 }, () => think("Again")), END]);
    expect(same.state.paused).toMatchObject({ code: "loop" });
  });

  it("are functions for code, which gets the id of a task that it adds", async () => {
    const code = "plan";
    const { loop } = await makeProseLoop("code", [`I plan.\n\n${python(code)}`, "Done."], {
      [code]: async (_cell, _host, { call, print }) => {
        const id = await call("add_task", { parent: "0", goal: "a", subtasks: [{ goal: "b" }] });
        await call("modify_task", { id: `${id}.0`, state: "in_progress" });
        await call("think", { thought: "c" });
        const failed = await call("modify_task", { id: "0.9", state: "open" }).catch((error: Error) => error.message);
        print(`${id} ${failed}`);
      },
    });
    const state = await loop.run();
    expect(rowsOf(state.plan)).toEqual(["0 in_progress Count to twelve", "0.0 in_progress a", "0.0.0 in_progress b"]);
    const [first] = await resultsOf(loop);
    expect(first).toMatch(/0\.0 .*There is no task 0\.9/);
    expect((await resultsOf(loop))[1]).toMatch(/^denied Your plan is not finished/);
  });
});

describe("an agent with a plan", () => {
  it("may not end its work before each task is verified or abandoned, and reads which ones are left", async () => {
    const { results, state } = await play([
      ...[add("0", "a", { goal: "a0" }, { goal: "a1" }), set("0.0.0", "completed"), END],
      ...[set("0.0.0", "verified"), set("0.0.1", "abandoned"), END, set("0", "verified"), END],
    ]);
    expect(results[2]).toMatch(
      /^denied .*: 0 "Count to twelve" \(open\), 0\.0 "a" \(open\), 0\.0\.0 "a0" \(completed\) and 0\.0\.1 "a1" \(open\)\. /,
    );
    expect(results[5]).toMatch(/: 0 "Count to twelve" \(open\) and 0\.0 "a" \(open\)\. /);
    expect(results[5]).toMatch(/set each to verified with modify_task, once you have checked it, or to abandoned\.$/);
    expect(isFinished(state)).toBe(true);
  });

  it("may not verify a task while tasks below it were never begun, and reads two of them", async () => {
    const { results, plan } = await play([
      ...[add("0", "a", { goal: "a0" }, { goal: "a1" }, { goal: "a2" }, { goal: "a3" }), set("0.0.0", "in_progress")],
      ...[set("0", "verified"), set("0.0.1", "abandoned"), set("0.0", "verified")],
      ...[set("0.0.2", "abandoned"), set("0", "verified")],
    ]);
    const [, , three, , two, , one] = results;
    expect(three).toBe(
      'failed plan Nothing changed: 0.0.1 "a1", 0.0.2 "a2" and 1 more below it were never begun. Do what is left and verify it, or set it to abandoned.',
    );
    expect(two).toMatch(/^failed plan Nothing changed: 0\.0\.2 "a2" and 0\.0\.3 "a3" below it were never/);
    expect(one).toMatch(/^failed plan Nothing changed: 0\.0\.3 "a3" below it was never begun\. /);
    expect(plan[0]).toBe("0 in_progress Count to twelve");
  });

  it("has the goals as its first tasks, and starts anew when they change", async () => {
    const goals = { goals: ["a", "b"] };
    const { loop, plan } = await play([set("0.1", "verified"), add("0.0", "a0")], goals);
    expect(plan).toEqual(["0 open Reach all goals", "0.0 open a", "0.0.0 open a0", "0.1 verified b"]);
    const newGoals: InboxMessage = { type: "goals", goals: ["c", "d", "e"] };
    await loop.tell(newGoals);
    expect((await loop.run()).plan).toBeNull();
    const again = await play([set("0.2", "completed")], { ...goals, inbox: [newGoals] });
    expect(again.plan).toEqual(["0 open Reach all goals", "0.0 open c", "0.1 open d", "0.2 completed e"]);
  });

  it("is told what a person changed in it, and works with the changed plan", async () => {
    const edits = [
      { kind: "add", parent: "0", goal: "Call the printer" },
      { kind: "set", id: "0.0", state: "in_progress" },
      { kind: "set", id: "0.7", state: "verified" },
    ] as const;
    const { plan, loop } = await play([add("0.0", "Find the number")], { inbox: [{ type: "plan", edits }] });
    const tasks = ["0.0 in_progress Call the printer", "0.0.0 open Find the number"];
    expect(plan).toEqual([`0 in_progress ${PLANNED}`, ...tasks]);
    expect(loop.prompt(0)).toMatch(/Added 0\.0: Call the printer[\s\S]*Task 0\.0 is in_progress now/);
  });
});

it("a profile without the plan has none that could keep an agent from its end, whatever was before", async () => {
  const plan: InboxMessage = { type: "plan", edits: [{ kind: "add", parent: "0", goal: "Never closed" }] };
  const left = await play([END], { inbox: [plan, { type: "settings", commands: "files" }] });
  expect([isFinished(left.state), left.plan.length]).toEqual([true, 2]);
  const control = await play([END], { inbox: [plan] });
  expect(isFinished(control.state)).toBe(false);
});

const checks = [{ goal: 1, test: { kind: "file", path: "report.md" } }] as const;
const CHECKED: Options = { goals: ["a"], inbox: [{ type: "goals", goals: ["a", "b"], checks }] };
const FAILED =
  /^failed check-failed 1 of 1 checks failed, .*There is no file "report\.md"\. Write it\.\nDo what is missing/s;
const WRITE: Call = ["write_to_file", { file: "report.md", text: "Done." }];

describe("the task of a goal with checks", () => {
  it("becomes verified only when they pass; until then the result has the reason and the plan stays", async () => {
    const { results, plan, loop } = await play([set("0.1", "verified"), WRITE, set("0.1", "verified")], CHECKED);
    expect(results).toEqual([
      expect.stringMatching(FAILED),
      expect.stringMatching(/^ok /),
      "ok Task 0.1 was open and is verified now.",
    ]);
    expect(plan).toEqual(["0 open Reach all goals", "0.0 open a", "0.1 verified b"]);
    expect(await loop.of("task-changed")).toHaveLength(1);
    expect(await loop.of("goals-checked")).toHaveLength(2);
  });

  it("is checked with all others by task 0, and not by any other task or state (control)", async () => {
    const others = [set("0.0", "verified"), add("0.1", "part"), set("0.1.0", "verified"), set("0.1", "completed")];
    const { results, loop } = await play([...others, set("0", "abandoned"), set("0", "verified")], CHECKED);
    expect(results.slice(0, -1).every((text) => text.startsWith("ok"))).toBe(true);
    expect(results.at(-1)).toMatch(FAILED);
    expect(await loop.of("goals-checked")).toHaveLength(1);
  });
});

it("a plan that is cut off at any commit is the same in the end, with each change and check once", async () => {
  const calls: readonly Call[] = [
    ...[add("0.0", "a0", { goal: "a00" }), think("What now?"), set("0.0.0.0", "in_progress"), set("0.1", "verified")],
    ...[WRITE, set("0.1", "verified"), set("0.7", "verified"), set("0.0.0", "abandoned"), set("0", "verified"), END],
  ];
  const cutAt = async (at: number) => {
    // The model answers by what its log has, as it would answer the same prompt alike.
    const script = async () => reply(...(calls[(await resultsOf(loop)).length] ?? END));
    const loop: Loop = await makeLoop({ ...CHECKED, script });
    for (const message of CHECKED.inbox ?? []) await loop.tell(message);
    if (at > 0) await expect(loop.run({ store: cutPowerAt(at, "after") })).rejects.toThrow(PowerCut);
    const state = await loop.run();
    const types = (await loop.events()).map(({ type }) => type);
    const changes = types.filter((type) => /^(?:task-added|task-changed|goals-checked)$/.test(type));
    const outcome = [isFinished(state), rowsOf(state.plan), await resultsOf(loop), changes.length] as const;
    return { outcome, commits: loop.store.commits.length };
  };
  const { outcome, commits } = await cutAt(0);
  const tasks = ["0 verified Reach all goals", "0.0 verified a", "0.0.0 abandoned a0", "0.0.0.0 abandoned a00"];
  expect(outcome).toEqual([true, [...tasks, "0.1 verified b"], expect.any(Array), 9]);
  expect(outcome[2]).toHaveLength(calls.length);
  expect(commits).toBeGreaterThan(20);
  for (let at = 1; at <= commits; at++) expect([at, (await cutAt(at)).outcome]).toEqual([at, outcome]);
});

const textOf = (section: string): string =>
  (readFileSync("prompts/plan.md", "utf8").split(`## ${section}\n`)[1] ?? "").split("\n## ")[0]?.trim() ?? "";
const STORY: readonly Call[] = [
  ...[add("0", "Write the post", { goal: "Draft it" }), set("0.0.0", "in_progress"), think("It needs a title.")],
  ["write_to_file", { file: "post.md", text: "# Plans\n" }],
  ...["Is it good?", "It may be good.", "It is good."].map(think),
  ...[["read_file", { file: "post.md" }] as Call, END, set("0", "verified"), END],
];

it("with --plan required requests ask for a plan first, then end with what follows from the last action", async () => {
  const { loop, state } = await play(STORY, { settings: { plan: "required", stepLimit: 100 } });
  expect(isFinished(state)).toBe(true);
  const lastLines = loop.model.requests.map(({ messages }) => messages.at(-1)?.content.split("\n\n").at(-1));
  expect(lastLines).toEqual([
    ...["plan-start", "plan-idle", "plan-hint-next", "plan-hint-act", "plan-hint-files"].map(textOf),
    ...["plan-hint-act", "plan-hint-act", "plan-hint-thoughts", "plan-hint-result"].map(textOf),
    // task_complete was refused: its result says why.
    expect.stringMatching(/^Decide which command to use next/),
    textOf("plan-done"),
  ]);
});

const cells: Readonly<Record<string, CellBehaviour>> = {
  plan: async (_cell, _host, { call }) => {
    await call("add_task", { parent: "0", goal: "Draft it" });
    await call("modify_task", { id: "0.0", state: "in_progress" });
  },
  write: async (_cell, _host, { call }) => {
    await call("think", { thought: "It needs a title." });
    await call("write_to_file", { file: "post.md", text: "# Plans\n" });
  },
  think: async (_cell, _host, { call }) => void (await call("think", { thought: "Good." })),
  look: async (_cell, _host, { call }) => void (await call("read_file", { file: "post.md" })),
};

it.each(["code", "react"] as const)(
  "an agent whose code manages its plan gets the hint on the newest thing that its code did: %s",
  async (form) => {
    const names = Object.keys(cells);
    const blockOf = (code: string, index: number): string =>
      form === "code" ? `I go on.\n\n${python(code)}` : `I go on.\nACTION ${index + 1}:\n${python(code)}`;
    // The last three have no behaviour: they fail, and the agent is paused.
    const replies = [...names, "look", "fail", "fall", "fell"].map(blockOf);
    const settings = { plan: "required", stepLimit: 20 } as const;
    const { request } = await afterRun(makeProseLoop(form, replies, cells, { settings }));
    const hints = replies.slice(0, 5).map((_reply, index) => {
      const [content = ""] = request(index + 1).slice(-1);
      return content
        .split("\n\n")
        .filter((part) => !part.startsWith("THOUGHT"))
        .at(-1);
    });
    expect(hints).toEqual(
      ["plan-start", "plan-hint-next", "plan-hint-files", "plan-hint-act", "plan-hint-result"].map(textOf),
    );
  },
);

const act = (action: string, args: object = {}): string => JSON.stringify({ action, args });
const thinking = (thought: string): string => act("think", { thought });
const VERIFIED = act("modify_task", { id: "0", state: "verified" });
const FINISH = act("finish");
const WRITE_ACTION = act("write", { path: "a.md", content: "a" });

const make = (replies: Parameters<typeof makeProseLoop>[1]) => makeProseLoop("plan", replies, {});

const parsed = (content: string) => {
  try {
    return JSON.parse(content);
  } catch {
    return {};
  }
};

describe("an agent in the form plan", () => {
  it("shows the plan as JSON, its status, the request, and the hint in the last line", async () => {
    const begin = act("modify_task", { id: "0", state: "in_progress" });
    const made = await afterRun(make([begin, WRITE_ACTION, thinking("It is there."), VERIFIED, FINISH]));
    const last = (number: number): string => made.request(number).at(-1) ?? "";
    expect(last(1)).toMatch(/\{"id":"0","goal":"Count to twelve","state":"open"[\s\S]*next action must be modify_task/);
    expect(last(3)).toMatch(
      /"state":"in_progress"[\s\S]*The task that you work on now is 0[\s\S]*one JSON object with an action[\s\S]*changed files[^\n]*$/,
    );
    expect(last(4)).toMatch(/last action was a thought[^\n]*$/);
    expect(last(5)).toMatch(/Every task is verified or abandoned[^\n]*$/);
  });

  it.each([
    ["finish", {}, "The file is there."],
    ["finish", { reason: "Done." }, "Done."],
  ])("ends by %s %j with its reason, else its last thought, as closing words: %s", async (name, args, reason) => {
    const thoughts = [thinking("First the file."), thinking("The file is there.")];
    const made = await make([...thoughts, VERIFIED, act(name, args)]);
    expect((await made.loop.run()).frames[0].phase).toMatchObject({ kind: "resting", reason });
  });

  it("begins the next turn with a plan of its own, and without the actions of the last one", async () => {
    const made = await afterRun(make([VERIFIED, FINISH, FINISH, VERIFIED, FINISH]));
    await made.loop.tell({ type: "say", from: "user", text: "Add a title, please." });
    expect(isFinished(await made.loop.run())).toBe(true);
    const [first, second] = [made.request(3), made.request(4)];
    expect(first.at(-1)).toContain('{"id":"0","goal":"Add a title, please.","state":"open"');
    expect(first.map(parsed).filter(({ action }) => action !== undefined)).toEqual([]);
    expect(second.join("\n")).toContain('0 \\"Add a title, please.\\" (open)');
  });
});

it("a person who looks on sees each action and what was observed, and no thought twice", async () => {
  const end = act("finish", { reason: "The file is there." });
  const { loop } = await afterRun(make([thinking("First the file."), "I just talk.", WRITE_ACTION, VERIFIED, end]));
  const { all } = await loadRegistry(["commands"], ALL_READY);
  const { readThoughts } = createCommandSets(all, { commands: {}, args: {} })(initialState);
  const lines: string[] = [];
  const pieces: string[] = [];
  const show = createShowRun({
    print: (line) => lines.push(line),
    colour: false,
    thoughtsOf: readThoughts,
    live: { write: (text) => pieces.push(text), redact: (text) => text, createScanner: createLiveThoughts },
  });
  for (const event of loop.shown) {
    if (event.type === "model-replied") show.onText?.(headOf(event.text));
    show(event);
  }
  const text = lines.join("\n");
  expect(text.match(/First the file/g)).toHaveLength(1);
  expect(text).toContain('Command: think {"thought":"First the file."}');
  expect(text).toContain("Reply: I just talk.");
  expect(text).toMatch(/Reply not usable; the model reads: .*keys action and args/);
  expect(text).toMatch(/Command: write_to_file \{"file":"a\.md","text":"a"\}\nResult \(ok\): Wrote a\.md/);
  expect(text).toContain("Completed: The file is there.");
  expect(pieces).toEqual([]);
  const thoughts = loop.shown.flatMap((event) => (event.type === "command-requested" ? [event.thought] : []));
  expect(thoughts).toEqual(["First the file.", "", "", ""]);
});

it("errors in the form plan are observations: no JSON, an unknown action, a bad task, a missing file", async () => {
  const made = await make([
    "I should begin.",
    act("fly", { to: "the moon" }),
    act("add_task", { parent: "0.5", goal: "b" }),
    act("read", { path: "none.md" }),
    VERIFIED,
    `Well. ${FINISH} So be it.`,
  ]);
  expect(isFinished(await made.loop.run())).toBe(true);
  const shown = made.request(5).map(parsed);
  const [prose, unknown, task, file] = shown.filter(({ observation }) => observation !== undefined);
  expect(made.request(2)[1]).toBe("I should begin.");
  const content = expect.stringContaining("keys action and args");
  expect(prose).toMatchObject({ observation: "error", content, extras: { step: 1, status: "failed" } });
  expect(unknown.content).toMatch(/no action "fly"\. The actions are: .*write_to_file.*add_task.*task_complete/);
  expect(task).toMatchObject({ observation: "add_task", extras: { status: "failed" } });
  expect(task.content).toContain("There is no task 0.5");
  expect(file).toMatchObject({ observation: "read_file", extras: { status: "failed" } });
});

describe("the request of the form plan", () => {
  const replies = [VERIFIED, FINISH];
  const formatsOf = ({ server }: ProseLoop) => server.chats.map(({ response_format: format }) => format?.type);

  it("demands JSON of a server that can", async () => {
    const made = await afterRun(make(replies));
    expect(formatsOf(made)).toEqual(["json_object", "json_object"]);
    expect(made.server.violations).toEqual([]);
    expect((await made.loop.of("model-asked"))[0]?.mode).toBe("plan");
  });

  it("does without it at a server that refuses it, and remembers that", async () => {
    const left = [...replies];
    const made = await make(({ response_format: format }) =>
      format ? failure(400, "Unknown parameter: response_format") : (left.shift() ?? ""),
    );
    expect(isFinished(await made.loop.run())).toBe(true);
    expect(formatsOf(made)).toEqual(["json_object", undefined, undefined]);
  });
});
