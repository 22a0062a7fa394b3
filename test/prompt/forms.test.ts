import { describe, expect, it } from "@jest/globals";
import { initialState, type Message } from "#core/state.ts";
import { buildPrompt, type PromptInput } from "#prompt/build.ts";
import { templatesOf } from "#prompt/words.ts";
import { inputWith, recalls, replyMessage, resultMessage, shippedWords, stateWith, subtaskFrame } from "./fixtures.ts";

const REACT = templatesOf("react");
const CODE = templatesOf("code");
const FOUND = ["`measure(name: str) -> dict`: Measures a thing."];

const action = (step: number, text: string): Message => ({ ...replyMessage(2 * step - 1, text), step, form: "react" });
const block = (step: number, text: string): Message => ({ ...action(step, text), form: "code" });
const outcome = (step: number, text: string, changes: Partial<Message> = {}): Message =>
  resultMessage(2 * step, text, { step, from: "run_code", source: "goald", ...changes });

/** `asked`: model calls so far. */
function prompt(form: PromptInput["form"], window: readonly Message[], asked: number, more: Partial<PromptInput> = {}) {
  const state = stateWith([], { frames: [{ ...initialState.frames[0], window, asked }] });
  return buildPrompt(inputWith({ state, form, ...more })).messages;
}
const contents = (...given: Parameters<typeof prompt>): readonly string[] =>
  prompt(...given).map(({ content }) => content);

const STEP_1 = action(1, 'I search.\n\nACTION 1:\n```python\nmethod_search("a thing")\n```');
const STEP_2 = action(2, " `measure` does it.\nACTION 2:\n```python\nprint(measure('x'))\n```");

describe("the prompt of the form react", () => {
  it("goes on with the numbers when the window has moved on", () => {
    const window = [outcome(20, "old"), { ...STEP_1, step: 21 }, outcome(21, "a"), { ...STEP_2, step: 22 }];
    const shown = contents(REACT, window, 22);
    const starts = shown.slice(1, -1).map((text) => /^\w+ \d+:/.exec(text)?.[0]);
    expect(starts).toEqual(["OBSERVATION 20:", "THOUGHT 21:", "OBSERVATION 21:", "THOUGHT 22:"]);
    expect(shown.at(-1)).toContain("THOUGHT 23:\n");
  });

  it("counts the actions of a sub-task on their own", () => {
    const run = subtaskFrame("Count.", { window: [{ ...STEP_1, step: 10 }], asked: 1 });
    const state = stateWith([], { frames: [{ ...initialState.frames[0], asked: 9 }, run] });
    const shown = buildPrompt(inputWith({ state, form: REACT })).messages.map(({ content }) => content);
    expect(shown).toContainEqual(expect.stringMatching(/^THOUGHT 1:/));
    expect(shown.at(-1)).toMatch(/Count\.[\s\S]*stop\(result\)[\s\S]*THOUGHT 2:\nBased on previous observations,$/);
  });

  it("shows only the first action of a reply with several", () => {
    const several = action(1, "Go.\nACTION 1:\n```python\na()\n```\nACTION 2:\n```python\nb()\n```");
    expect(contents(REACT, [several], 1)[1]).toBe("THOUGHT 1:\nGo.\n\nACTION 1:\n```python\na()\n```");
  });

  it("lists the methods that were found, and no command", () => {
    const [, methods, reply] = prompt(REACT, [STEP_1, outcome(1, "x")], 1, { found: FOUND });
    // Before the messages, so that servers find them in their caches.
    expect(methods).toEqual({ role: "user", content: expect.stringContaining(`found:\n${FOUND[0]}`) });
    expect(reply?.role).toBe("assistant");
    expect(contents(REACT, [], 0).join()).not.toContain("searches found:");
    expect(contents(templatesOf("plain"), [], 0, { found: FOUND }).join()).not.toContain(FOUND[0]);
  });

  it("does not repeat a method that a message shows", () => {
    const listed = (result: string): number =>
      contents(REACT, [STEP_1, outcome(1, result)], 1, { found: FOUND })
        .join()
        .split(`found:\n${FOUND[0]}`).length - 1;
    expect(listed(`${FOUND[0]}\nmore`)).toBe(0);
    expect(listed("`measure(`")).toBe(1);
  });

  it("has the same size with 1,000 more commands", () => {
    const commandList = Array.from({ length: 1_000 }, (_, at) => `${at}. Do it: "do_${at}"`).join("\n");
    const listFunctions = () => commandList;
    expect(contents(REACT, [], 0, { commandList, listFunctions })).toEqual(contents(REACT, [], 0));
    expect(contents(CODE, [], 0, { listFunctions }).join().length).toBeGreaterThan(10_000);
  });

  it("shows replies of other forms as actions", () => {
    const args = { file: "a.md", text: 'say "hi"', permanently: true, lines: null };
    const json = JSON.stringify({ thoughts: { text: "I write." }, command: { name: "write_to_file", args } });
    const window = [replyMessage(1, json), { ...block(2, "Sum.\n```python\n1+1\n```\nMore."), step: 2 }];
    const [, one, two] = contents(REACT, window, 2);
    expect(one).toBe(
      'THOUGHT 1:\nI write.\n\nACTION 1:\n```python\nwrite_to_file(file="a.md", text="say \\"hi\\"", permanently=True, lines=None)\n```',
    );
    expect(two).toBe("THOUGHT 2:\nBased on previous observations, Sum.\n\nACTION 2:\n```python\n1+1\n```");
  });
});

describe("the prompt of the form code", () => {
  const listFunctions = () => "- `read_file(file: str) -> str`: Reads a file.\n- `write_to_file(…)`: Writes.";

  it("has each function, and explains agent.run with types", () => {
    const [system = ""] = contents(CODE, [], 0, { listFunctions });
    expect(system).toContain(`Functions:\n${listFunctions()}`);
    expect(system).toMatch(/agent\.run\(task, return_type\)[\s\S]*agent\.run\(f?"[\s\S]*, int\)/);
    expect(system).toContain("Task:\n1. Find three strings");
    expect(contents(templatesOf("plain"), [], 0, { listFunctions })[0]).not.toContain("Functions:");
  });

  it("shows a reply up to its code, and the result behind it as data of the user", () => {
    const reply = block(1, "I compute.\n\n```python\n0.99 ** 1000\n```\nThe result is 7.");
    const [, one, two] = prompt(CODE, [reply, outcome(1, "4.317124741065786e-05", { source: "web" })], 1);
    expect(one).toEqual({ role: "assistant", content: "I compute.\n\n```python\n0.99 ** 1000\n```" });
    expect(two?.role).toBe("user");
    expect(two?.content).toMatch(
      /^Your code of step 1 was run[\s\S]*result, text from web:\n<data-(\w+)>\n4\.317124741065786e-05\n<\/data-\1>$/,
    );
  });

  it("shows the results of other commands as usual", () => {
    const [, , two] = contents(CODE, [block(1, "Done."), outcome(1, "Not yet.", { from: "task_complete" })], 1);
    expect(two).toMatch(/^Command task_complete/);
  });

  it("tells a sub-task to do its part itself, and how to answer", () => {
    const run = subtaskFrame("Extract it.", {}, { type: "integer" });
    const state = stateWith([], { frames: [initialState.frames[0], run] });
    const shown = buildPrompt(inputWith({ state, form: CODE })).messages.map(({ content }) => content);
    expect(shown[0]).toMatch(/do not pass it on as a whole to agent\.run[\s\S]*\{"type":"integer"\}/);
    expect(shown.at(-1)).toMatch(/Extract it\.[\s\S]*If you know the result, send it alone/);
  });
});

it("a reply that was code, in the form json is shown as a command", () => {
  const [, one, two, three] = contents(templatesOf("plain"), [STEP_2, block(2, "All done."), replyMessage(5, "{}")], 3);
  expect(JSON.parse(one ?? "")).toEqual({
    thoughts: { text: "`measure` does it." },
    command: { name: "run_code", args: { code: "print(measure('x'))" } },
  });
  expect(JSON.parse(two ?? "")).toEqual({ command: { name: "task_complete", args: { reason: "All done." } } });
  expect(three).toBe("{}");
});

describe("the rules of every form", () => {
  const MODES = ["json_object", "plan", "react", "code"] as const;
  const systemIn = (mode: (typeof MODES)[number] | "tools"): string => contents(templatesOf(mode), [], 0)[0] ?? "";

  it.each([...MODES, "tools"] as const)("are in the system message, each once: %s", (mode) => {
    const system = systemIn(mode);
    const names = ["system/material", "system/recalled", "system/assistance", "system/evaluation"] as const;
    const rules = ["proven impossible: an obstacle asks for another way", "Read a file before you change it"];
    const counts = [...names.map((name) => shippedWords[name].text), ...rules].map(
      (rule) => system.split(rule).length - 1,
    );
    expect(counts).toEqual([1, 1, 1, mode === "react" ? 0 : 1, 1, 1]);
    expect(system).toMatch(/in the language of the (?:goals|task)\./);
    expect(system).not.toContain("{{");
  });

  it.each<[mode: (typeof MODES)[number], order: readonly string[]]>([
    [
      "plan",
      [
        "TASK:\n1. Find three strings",
        "PLAN:",
        "add_task",
        "ACTIONS:\n1. Write to file:",
        "`finish` is task_complete",
        "Count on the last ten only",
        "<data-...>",
        "RESPONSE FORMAT:",
        '"action":',
      ],
    ],
    [
      "react",
      [
        "THOUGHT 1:",
        "ACTION 1:\n```python\nmethod_search(",
        "OBSERVATION 1:",
        "THOUGHT 2:\nBased on previous observations,",
        "ACTION 2:",
        "OBSERVATION 2:",
        "ACTION N:\n```python\nstop()",
        "word for word",
        "get_user_location()",
        "TASK:\n1. Find three strings",
      ],
    ],
  ])("are in this order among the task and its format: %s", (mode, order) => {
    const system = systemIn(mode);
    const places = order.map((words) => system.indexOf(words));
    expect(Math.min(...places)).toBeGreaterThan(0);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(system.includes("write_to_file")).toBe(mode === "plan");
  });

  it.each(MODES)("explain recalls, so that the last message only names them: %s", (mode) => {
    const all = contents(templatesOf(mode), [], 0, { recalls: recalls(2) });
    expect(all[0]).toMatch(/below "Recalled", closest passage first: \[brackets\].*records may be outdated/);
    expect(all.at(-1)).toMatch(/\n\nRecalled:\n<data-(\w+)>\n\[foo\/100/);
    expect(all.at(-1)).not.toMatch(/outdated/);
  });

  it.each([
    ["json_object", { command: { name: "read_file", args: { file: "pages/5.md" } } }],
    ["plan", { action: "add_task", args: { parent: "0", subtasks: [{}, {}] } }],
  ] as const)("have one worked example that a strict parser reads: %s", (mode, expected) => {
    const system = systemIn(mode);
    expect(JSON.parse(system.slice(system.indexOf("{\n"), system.lastIndexOf("\n}") + 2))).toMatchObject(expected);
  });
});
