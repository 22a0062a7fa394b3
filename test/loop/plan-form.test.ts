import { afterEach, describe, expect, it } from "@jest/globals";
import { createShowRun } from "#cli/terminal/show-run.ts";
import { ALL_READY, loadRegistry } from "#commands/registry.ts";
import { initialState, isFinished } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import { createCommandSets } from "#loop/command-set.ts";
import { createLiveThoughts } from "#reply/thoughts.ts";
import { closeProseLoops, type LoopOptions, makeProseLoop } from "../helpers/loop.ts";
import { type Answer, type ChatRequest, failure } from "../helpers/openai-server.ts";

afterEach(closeProseLoops);

const act = (action: string, args: object = {}): string => JSON.stringify({ action, args });
const think = (thought: string): string => act("think", { thought });
const VERIFIED = act("modify_task", { id: "0", state: "verified" });
const FINISH = act("finish");
const WRITE = act("write", { path: "a.md", content: "a" });

type Replies = readonly string[] | ((request: ChatRequest, index: number) => Answer);
const make = (replies: Replies, options: Partial<LoopOptions> = {}) => makeProseLoop("plan", replies, {}, options);
type Made = Awaited<ReturnType<typeof make>>;

const parsed = (content: string) => {
  try {
    return JSON.parse(content);
  } catch {
    return {};
  }
};
/** Observations that a request shows. */
const observations = ({ request }: Made, number: number) =>
  request(number)
    .map(parsed)
    .filter(({ observation }) => observation !== undefined);

describe("an agent in the form plan", () => {
  it("writes a file by an action, and reads golden JSON about it in the next request", async () => {
    const made = await make([act("write", { path: "notes/a.md", content: "one\n" }), VERIFIED, FINISH]);
    expect(isFinished(await made.loop.run())).toBe(true);
    expect(made.loop.text("notes/a.md")).toBe("one\n");
    const [, action, observation] = made.request(2);
    expect(action).toBe(
      '{"action":"write_to_file","args":{"file":"notes/a.md","text":"one\\n"},"message":"Write to file: notes/a.md"}',
    );
    const content = expect.stringMatching(/^<data-(\w+)>\nWrote notes\/a\.md .*\n<\/data-\1>$/);
    const extras = { step: 1, status: "ok" };
    expect(Object.keys(parsed(observation ?? ""))).toEqual(["observation", "content", "extras", "message"]);
    expect(parsed(observation ?? "")).toMatchObject({ observation: "write_to_file", content, extras });
  });

  it("shows the plan as JSON, its status, the request, and the hint in the last line", async () => {
    const begin = act("modify_task", { id: "0", state: "in_progress" });
    const made = await make([begin, WRITE, think("It is there."), VERIFIED, FINISH]);
    await made.loop.run();
    const last = (number: number): string => made.request(number).at(-1) ?? "";
    expect(last(1)).toMatch(/\{"id":"0","goal":"Count to twelve","state":"open"[\s\S]*next action must be modify_task/);
    expect(last(3)).toMatch(
      /"state":"in_progress"[\s\S]*The task that you work on now is 0[\s\S]*one JSON object with an action[\s\S]*changed files[^\n]*$/,
    );
    expect(last(4)).toMatch(/last action was a thought[^\n]*$/);
    expect(last(5)).toMatch(/Every task is verified or abandoned[^\n]*$/);
  });

  it("ends when all tasks are verified or abandoned, and before that is refused with the open tasks", async () => {
    const made = await make([
      act("add_task", { parent: "0", goal: "Look", subtasks: [{ goal: "Here" }, { goal: "There" }] }),
      FINISH,
      act("modify_task", { id: "0.0.1", state: "abandoned" }),
      act("modify_task", { id: "0.0.0", state: "in_progress" }),
      VERIFIED,
      FINISH,
    ]);
    expect(isFinished(await made.loop.run())).toBe(true);
    const [refusal] = observations(made, 3);
    expect(refusal).toMatchObject({ observation: "task_complete", extras: { status: "denied" } });
    for (const id of ["0", "0.0", "0.0.0", "0.0.1"]) expect(refusal.content).toContain(`${id} `);
    expect(made.server.chats).toHaveLength(6);
    const { plan } = await made.loop.run();
    expect(JSON.stringify(plan)).toMatch(/Here","state":"verified".*There","state":"abandoned"/);
  });

  it.each([
    ["finish", {}, "The file is there."],
    ["done", {}, "The file is there."],
    ["task_complete", {}, "The file is there."],
    ["finish", { reason: "Done." }, "Done."],
  ])("ends by %s %j with its reason, else its last thought, as closing words: %s", async (name, args, reason) => {
    const aliases = { commands: { done: "task_complete" }, args: {} };
    const thoughts = [think("First the file."), think("The file is there.")];
    const made = await make([...thoughts, VERIFIED, act(name, args)], { aliases });
    expect((await made.loop.run()).frames[0].phase).toMatchObject({ kind: "resting", reason });
  });

  it("begins the next turn with a plan of its own, and without the actions of the last one", async () => {
    const made = await make([VERIFIED, FINISH, FINISH, VERIFIED, FINISH]);
    await made.loop.run();
    await made.loop.tell({ type: "say", from: "user", text: "Add a title, please." });
    expect(isFinished(await made.loop.run())).toBe(true);
    const [first, second] = [made.request(3), made.request(4)];
    expect(first.at(-1)).toContain('{"id":"0","goal":"Add a title, please.","state":"open"');
    expect(first.map(parsed).filter(({ action }) => action !== undefined)).toEqual([]);
    expect(second.join("\n")).toContain('0 \\"Add a title, please.\\" (open)');
  });
});

describe("a person who looks on", () => {
  it("sees each action and what was observed, and no thought twice", async () => {
    const { loop } = await make([
      think("First the file."),
      "I just talk.",
      WRITE,
      VERIFIED,
      act("finish", { reason: "The file is there." }),
    ]);
    await loop.run();
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
});

describe("errors in the form plan", () => {
  it("are observations: a reply without JSON, an unknown action, a bad task, a missing file", async () => {
    const made = await make([
      "I should begin.",
      act("fly", { to: "the moon" }),
      act("add_task", { parent: "0.5", goal: "b" }),
      act("read", { path: "none.md" }),
      VERIFIED,
      `Well. ${FINISH} So be it.`,
    ]);
    expect(isFinished(await made.loop.run())).toBe(true);
    const [prose, unknown, task, file] = observations(made, 5);
    expect(prose).toMatchObject({ observation: "error", content: expect.stringContaining("keys action and args") });
    expect(unknown.content).toMatch(/no action "fly"\. The actions are: .*write_to_file.*add_task.*task_complete/);
    expect(task).toMatchObject({ observation: "add_task", extras: { status: "failed" } });
    expect(task.content).toContain("There is no task 0.5");
    expect(file).toMatchObject({ observation: "read_file", extras: { status: "failed" } });
  });
});

describe("the request of the form plan", () => {
  const replies = [VERIFIED, FINISH];
  const formatsOf = ({ server }: Made) => server.chats.map(({ response_format: format }) => format?.type);

  it("demands JSON of a server that can", async () => {
    const made = await make(replies);
    await made.loop.run();
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
