import { describe, expect, it } from "@jest/globals";
import { type Command, fail, succeed } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent, TurnMemory } from "#core/event.ts";
import { type AgentState, initialState, type Message } from "#core/state.ts";
import { describeWork } from "#loop/ask-model.ts";
import { describeArguments, listLongArguments, listSucceeded, turnMemoryOf } from "#loop/turn-memory.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import * as given from "../helpers/events.ts";
import { done, makeLoop, outerCommand, reply, testCommand, textArgs } from "../helpers/loop.ts";
import { openHashEmbedder } from "../helpers/memory-rows.ts";
import { cutPowerAt } from "../helpers/power-cut.ts";
import { stateWith as promptState, resultMessage } from "../prompt/fixtures.ts";
import { LANTERN, runTurns, taskOf } from "../seeds/jobs.ts";

describe("the arguments of a remembered call", () => {
  it("are written without quotes and escapes, short ones first", () => {
    const args = { code: 'a = "x\\n"\nb = 1', deep: { list: [1, "two"] }, nothing: null };
    expect(describeArguments(args)).toBe('deep: {"list":[1,"two"]}\nnothing: null\ncode:\na = "x\\n"\nb = 1');
  });

  it("are whole up to 8,000 characters, and then the long ones have only their beginning", () => {
    const whole = { text: "y".repeat(7_900), file: "a.txt" };
    expect(listLongArguments(whole)).toEqual([]);
    expect(describeArguments(whole)).toBe(`text: ${whole.text}\nfile: a.txt`);
    const long = { file: "a.txt", text: "y".repeat(8_001), other: "z".repeat(900) };
    expect(listLongArguments(long)).toEqual([{ name: "text", text: long.text }]);
    const cut = describeArguments(long, new Map([["text", "a.txt"]]));
    expect(cut).toBe(
      `file: a.txt\nother: ${long.other}\ntext:\n${"y".repeat(1_000)}\n[… the beginning of 8001 characters; the whole is in a.txt …]`,
    );
    const many = Object.fromEntries(Array.from({ length: 90 }, (_none, at) => [`a${at}`, "w".repeat(500)]));
    expect(describeArguments(many).length).toBeLessThanOrEqual(8_000);
  });

  it("name the size of a text that is in a blob", () => {
    const blob = { blob: "a".repeat(64), bytes: 90_000, head: `${"h".repeat(4_000)}` };
    expect(listLongArguments({ code: blob })).toEqual([{ name: "code", text: blob }]);
    expect(describeArguments({ code: blob, list: [blob] })).toContain("[… the beginning of 90000 bytes …]");
  });
});

describe("the memory of a turn", () => {
  it("has exactly the calls that succeeded, in their order, whatever the words of their results", () => {
    const statuses = ["ok", "failed", "denied", "cancelled", "unknown", "ok"] as const;
    const steps = statuses.flatMap((status, at) => [
      given.requested("run_code", at + 1, { code: `run(${at})` }),
      given.finished(at + 1, given.observed(status === "ok" ? "An error? No." : "done", { status })),
    ]);
    const succeeded = listSucceeded(given.log(given.created(), ...steps));
    expect(succeeded.map(({ args }) => args.code)).toEqual(["run(0)", "run(5)"]);
  });

  it("leaves out plans, thoughts and the end, and bounds what was asked, the files and the closing words", () => {
    const names = ["think", "do_nothing", "add_task", "modify_task", "write_to_file", "task_complete"];
    const events = given.log(
      given.created(),
      ...names.flatMap((name, at) => [
        given.requested(name, at + 1),
        { ...given.finished(at + 1), ...(name === "task_complete" ? { closesTurn: true } : {}) },
      ]),
    );
    const succeeded = listSucceeded(events);
    expect(succeeded.map(({ name }) => name)).toEqual(["write_to_file"]);
    const [call] = succeeded as [(typeof succeeded)[number]];
    const artifacts = ["_goald/outputs/c1.txt", ...Array.from({ length: 60 }, (_none, at) => `${at}.txt`), "59.txt"];
    const state = { ...initialState, goals: ["g".repeat(5_000)] };
    const memory = turnMemoryOf(state, [{ ...call, artifacts }], [], "o".repeat(9_000));
    expect([memory.asked[0]?.length, memory.output.length, memory.callsLeftOut]).toEqual([1_000, 4_000, 1]);
    expect(memory.artifacts).toEqual(Array.from({ length: 50 }, (_none, at) => `${at + 10}.txt`));
  });

  it("shrinks when it is older: the oldest calls go, and then whole memories", () => {
    const memory = (turn: number, chars: number): TurnMemory => ({
      turn,
      step: turn,
      asked: ["do it"],
      callsLeftOut: 0,
      artifacts: [],
      output: "done",
      calls: Array.from({ length: 4 }, (_none, at) => ({ name: "try", input: `${at}`.repeat(chars / 4) })),
    });
    const left = (...turns: readonly TurnMemory[]) =>
      given.stateOf(given.created(), ...turns.map((turn) => ({ type: "turn-remembered" as const, ...turn }))).turns;
    const sizes = (turns: readonly TurnMemory[]) =>
      turns.map(({ turn, calls, callsLeftOut }) => `${turn}: ${calls.length}, ${callsLeftOut} left out`);
    const big = left(memory(1, 20_000), memory(2, 20_000));
    expect(sizes(big)).toEqual(["1: 3, 1 left out", "2: 4, 0 left out"]);
    expect(big[0]?.calls[0]?.input[0]).toBe("1");
    const three = left(memory(1, 12_000), memory(2, 12_000), memory(3, 400));
    expect(sizes(three)).toEqual(["1: 1, 3 left out", "2: 4, 0 left out", "3: 4, 0 left out"]);
    const words = (turn: number): TurnMemory => ({ ...memory(turn, 0), calls: [], output: "o".repeat(4_000) });
    expect(left(...[1, 2, 3, 4, 5, 6].map(words)).map(({ turn }) => turn)).toEqual([3, 4, 5, 6]);
    const many = left(...Array.from({ length: 60 }, (_none, at) => memory(at + 1, 40)));
    expect(many.map(({ turn }) => turn)).toEqual(Array.from({ length: 21 }, (_none, at) => at + 40));
  });
});

const write = (file: string, text: string) => reply("write_to_file", { file, text });

const TRY = testCommand<{ what: string }>("try", async ({ what }) => succeed(`I tried ${what}.`), {
  args: textArgs("what"),
});
const attempt = (what: string) => reply("try", { what });

describe("the memory of a turn in the loop", () => {
  it("has what was asked, the calls that succeeded with their arguments, files and closing words", async () => {
    const first = [write("a.txt", "one\n  two\n"), reply("do_nothing"), write("b.txt", "b"), done("Both are there.")];
    const loop = await makeLoop({
      script: [...first, write("c.txt", "c"), done("second")],
      goals: ["Write a", "Write b"],
    });
    await loop.run();
    await loop.tell({ type: "say", from: "ada", text: "And the second part?" });
    const { turns } = await loop.run();
    const called = (...inputs: string[]) => inputs.map((input) => ({ name: "write_to_file", input }));
    const calls = called("file: a.txt\ntext:\none\n  two\n", "file: b.txt\ntext: b");
    const made = { calls, callsLeftOut: 0, artifacts: ["a.txt", "b.txt"] };
    expect(turns[0]).toEqual({ turn: 1, step: 4, asked: ["Write a", "Write b"], ...made, output: "Both are there." });
    const words = { asked: ["And the second part?"], output: "second" };
    expect(turns[1]).toMatchObject({
      turn: 2,
      step: 6,
      ...words,
      calls: called("file: c.txt\ntext: c"),
      artifacts: ["c.txt"],
    });
  });

  it("is in the commit that ends the turn: a power cut at any commit leaves the same memory", async () => {
    const script = { 1: write("a.txt", "a".repeat(9_000)), 2: done("It is there.") };
    const byWindow = ({ messages }: { messages: readonly { content: string }[] }) =>
      messages.some(({ content }) => content.includes("Wrote a.txt")) ? script[2] : script[1];
    const whole = await makeLoop({ script: byWindow });
    const expected = (await whole.run()).turns;
    const commits = whole.store.commits.length;
    expect(commits).toBeGreaterThan(4);
    for (let at = 1; at <= commits; at++) {
      const loop = await makeLoop({ script: byWindow });
      await loop.run({ store: cutPowerAt(at, "before") }).catch(() => undefined);
      const anyStep = expected.map((memory) => ({ ...memory, step: expect.any(Number) }));
      expect((await loop.run()).turns).toEqual(anyStep);
      expect(await loop.of("turn-remembered")).toHaveLength(1);
    }
    const last = whole.store.commits.at(-1)?.events.map(({ type }) => type);
    expect(last?.slice(-2)).toEqual(["turn-remembered", "turn-finished"]);
  });

  it("names the file and the beginning of a long text that was written", async () => {
    const text = `BEGIN ${"word ".repeat(3_000)}END`;
    const loop = await makeLoop({ script: [write("long.txt", text), done()] });
    const [memory] = (await loop.run()).turns;
    expect(memory?.calls[0]?.input).toMatch(
      /^file: long\.txt\ntext:\nBEGIN word [\s\S]*\n\[… the beginning of 15009 characters; the whole is in long\.txt …\]$/,
    );
    expect(memory?.calls[0]?.input.length).toBeLessThan(1_200);
  });

  it.each([9_000, 40_000])("keeps another long argument of %i characters in a file of goald's", async (length) => {
    const texts = Array.from({ length: 45 }, (_none, at) => `BEGIN ${at} ${"x".repeat(length)} END`);
    const loop = await makeLoop({ script: [...texts.map(attempt), done()], commands: [TRY] });
    const [memory] = (await loop.run()).turns;
    expect(memory?.calls.at(-1)?.input).toMatch(
      /^what:\nBEGIN 44 x+\n\[… .*; the whole is in _goald\/inputs\/c45-what\.txt …\]$/,
    );
    expect(loop.text("_goald/inputs/c45-what.txt")).toBe(texts[44]);
    for (const path of loop.files.keys())
      expect(await loop.store.lastFileVersion(loop.row.id, path)).toMatchObject({ callId: /c\d+/.exec(path)?.[0] });
    expect(memory?.artifacts).toEqual([]);
  });

  it("has only the beginning of a long argument when no file can hold it", async () => {
    const full = () => Promise.reject(new GoaldError("GOALD_FILE", "The folder is full."));
    const script = [attempt("x".repeat(9_000)), done()];
    const loop = await makeLoop({ script, commands: [TRY] });
    const [memory] = (await loop.run({ keepText: full })).turns;
    expect(memory?.calls[0]?.input).toMatch(/x\n\[… the beginning of 9000 characters …\]$/);
    const lost = () => Promise.reject(new GoaldError("GOALD_STORE_FULL", "The disk is full."));
    const other = await makeLoop({ script, commands: [TRY] });
    await expect(other.run({ keepText: lost })).rejects.toThrow("The disk is full.");
  });

  it("stays small: the oldest calls of many are left out and counted", async () => {
    let step = 0;
    const loop = await makeLoop({
      script: () => (++step > 60 ? done() : attempt(`${step} ${"y".repeat(1_500)}`)),
      commands: [TRY],
    });
    const [memory] = (await loop.run()).turns as [TurnMemory];
    expect(memory.calls.length + memory.callsLeftOut).toBe(60);
    expect(memory.callsLeftOut).toBeGreaterThan(20);
    expect(memory.calls.at(-1)?.input).toContain("what: 60 y");
    expect(JSON.stringify(memory).length).toBeLessThan(48_000);
  });

  it("belongs to the turn of the agent alone: calls of a command's code are part of the command", async () => {
    const outer = outerCommand(({ call }) => call("try", { what: "inner" }));
    const loop = await makeLoop({ script: [reply("outer"), done()], commands: [TRY, outer] });
    const [memory] = (await loop.run()).turns;
    expect(memory?.calls.map(({ name }) => name)).toEqual(["outer"]);
    expect((await loop.of("command-requested")).map(({ call }) => call.name)).toContain("try");
  });
});

const filler = (chars: number): string => "The path is long and nothing happens there. ".repeat(Math.ceil(chars / 44));
const FERRY = "The ferry to Tessel leaves from pier four.";

it("an agent stores each piece of a step in the commit of its event, with a known file's pieces once", async () => {
  const page = (first: string) => Buffer.from(`${first}\n\n${filler(400)}\n\n${FERRY} ${filler(300)}`);
  const read = reply("read_file", { file: "page.txt" });
  const loop = await makeLoop({ script: [read, read, read], settings: { stepLimit: 2 } });
  const pieces = async () => (await loop.store.memories(loop.row.id, 0, 99)).filter(({ kind }) => kind === "piece");
  loop.files.set("page.txt", page(`Old beginning. ${filler(400)}`));
  await loop.run();
  expect(new Set((await pieces()).map(({ step }) => step))).toEqual(new Set([1]));
  loop.files.set("page.txt", page(`New beginning. ${filler(400)}`));
  await loop.tell({ type: "settings", stepLimit: 3 });
  await loop.tell({ type: "resume" });
  await loop.run();
  const after = await pieces();
  const [old] = after.filter(({ text }) => text.includes("Old beginning"));
  const [fresh] = after.filter(({ text }) => text.includes("New beginning"));
  expect(old?.supersededBy).toBe(`${loop.row.id}/${fresh?.seq}`);
  expect(fresh).toMatchObject({ step: 3, supersededBy: null, source: "page.txt" });
  expect(after.filter(({ text }) => text.includes(FERRY))).toMatchObject([{ step: 1, supersededBy: null }]);
  for (const { seq } of after)
    expect(loop.store.commits.filter(({ memories }) => memories.some((row) => row.seq === seq))).toHaveLength(1);
});

const shownTurns = ({ messages }: { readonly messages: readonly { readonly content: string }[] }) =>
  messages.flatMap(({ content }) => /^Your memory of turn (\d+)/.exec(content)?.[1] ?? []).map(Number);

describe("C6: an agent of many turns", () => {
  it("shows the newest turns, and recalls an old one when it is asked for", async () => {
    const { say } = await runTurns(40);
    const { request, recalls } = await say("How did you write the lighthouse schedule? Do it again.");
    const shown = shownTurns(request);
    expect(shown.at(-1)).toBe(40);
    expect(shown).toEqual(shown.toSorted((a, b) => a - b));
    expect(shown.length).toBeGreaterThan(2);
    expect(shown).not.toContain(3);
    const [best] = recalls;
    expect(best).toMatchObject({ kind: "turn", text: expect.stringContaining(taskOf(3)) });
    const last = request.messages.at(-1)?.content ?? "";
    expect(last).toContain("] Turn 3 was for: Write the lighthouse schedule.");
    expect(last).toContain(LANTERN);
    // The prompt shows the memory of this turn, so it is not recalled too.
    const recalled = recalls.flatMap(({ text }) => /^Turn (\d+) was/.exec(text)?.[1] ?? []).map(Number);
    expect(recalled.filter((turn) => shown.includes(turn))).toEqual([]);
    expect(recalled).toContain(3);
  });

  it("does not recall that turn first when something else is asked for", async () => {
    const { say } = await runTurns(30);
    const { recalls } = await say(`And once more: ${taskOf(9)}`);
    expect(recalls[0]?.text).not.toContain("lighthouse");
  });
});

describe("the recalls of a later step", () => {
  const readsPage = testCommand("look", async () => succeed("The page of the lamp says: 41 euros.", { source: "web" }));
  const breaks = testCommand("break", async () => fail("broken", "The lamp nofile.csv is broken."));
  /** Requests with what each recalls, of an agent with the real memory. */
  async function play(script: readonly string[], commands: readonly Command[]) {
    const loop = await makeLoop({
      script,
      commands,
      goals: ["Describe the lamp."],
      settings: { stepLimit: null },
      memory: { remote: false, recall: (query, signal) => real.recall(query, signal) },
    });
    const real = openLongTermMemory({
      store: loop.store,
      embedder: openHashEmbedder(),
      report: (problem) => expect(problem).toBe(""),
    });
    const say = async (text: string) => {
      await loop.tell({ type: "say", from: "ada", text });
      await loop.run();
    };
    const recalled = async (at: number) => {
      const asked = (await loop.of("model-asked"))[at] as unknown as { readonly recallIds: readonly string[] };
      const rows = await Promise.all(asked.recallIds.map((id) => loop.store.memory(loop.row.id, id)));
      return rows.map((row) => row?.text ?? "").join("\n");
    };
    const rows = async () => (await loop.store.memories(loop.row.id, 0, 99)).map(({ text }) => text).join("\n");
    await loop.run();
    return { loop, say, recalled, rows };
  }

  it("have no failure and nothing of its own words of a turn whose memory is in the prompt, but what a page said", async () => {
    const script = [reply("break"), write("lamp.md", "The lamp costs 41."), reply("look"), done(), done()];
    const { say, recalled, rows } = await play(script, [readsPage, breaks]);
    await say("What does the lamp cost, and which lamp is broken?");
    const shown = await recalled(4);
    expect(shown).toContain("The page of the lamp says: 41 euros.");
    expect(shown).not.toMatch(/nofile|lamp\.md/);
    for (const text of ["nofile", "lamp.md"]) expect(await rows()).toContain(text);
  });

  it("have no step of a sub-task that has ended, neither in the next one nor in the agent's own steps", async () => {
    const result = (value: number): string => reply("task_complete", { result: value });
    const filler = Array.from({ length: 6 }, (_none, at) => write(`soup-${at}.txt`, "Beans."));
    const outer = outerCommand(async ({ run }) => [
      await run("Count the lamps of the cellar.", { type: "integer" }),
      await run("Count the lamps of the attic.", { type: "integer" }),
    ]);
    const cellar = write("cellar.md", "Seven lamps are in the cellar.");
    const attic = write("attic.md", "Two lamps are in the attic.");
    const script = [reply("outer"), cellar, result(7), attic, ...filler, result(2), ...filler, done()];
    const { loop, recalled, rows } = await play(script, [readsPage, outer]);
    const asked = (await loop.of("model-asked")) as readonly RecordedEvent[];
    const inAttic = asked.findIndex(({ frame }, at) => frame !== 0 && at > 8);
    expect(await recalled(inAttic)).toContain("attic.md");
    expect(await recalled(inAttic)).not.toContain("cellar.md");
    expect(asked.at(-1)?.frame).toBe(0);
    expect(await recalled(asked.length - 1)).not.toMatch(/cellar\.md|attic\.md/);
    for (const text of ["cellar.md", "attic.md"]) expect(await rows()).toContain(text);
  });
});

const message = (kind: Message["kind"], text: string, changes: Partial<Message> = {}): Message => ({
  ...resultMessage(1, text, { kind, status: null }),
  ...changes,
});
const stateWith = (...window: Message[]): AgentState =>
  promptState(window, { goals: ["Compare strings.", "Write it down."] });
const weightOf = (state: AgentState, part: string) => {
  const { texts, weights } = describeWork(state);
  return weights[texts.findIndex((text) => text.includes(part))];
};
const REPLY = JSON.stringify({
  thoughts: { text: "I need the price", plan: ["look", "note"] },
  command: { name: "google", args: { query: "racket string" } },
});

describe("describeWork", () => {
  it("returns only the goals at the start", () => {
    expect(describeWork(stateWith()).texts).toEqual(["Compare strings.\nWrite it down."]);
  });

  it("weighs thoughts over the command over the result, and leaves out the keys of the reply", () => {
    const state = stateWith(message("reply", REPLY), message("result", "3 hits".padEnd(5_000, "x")));
    const { texts } = describeWork(state);
    expect(texts.slice(1, 3)).toEqual(["google\nracket string", "I need the price\nlook\nnote"]);
    expect(texts[3]?.length).toBeLessThan(1_000);
    const [thoughts, command, result] = ["price", "google", "3 hits"].map((part) => weightOf(state, part) ?? 0);
    expect(thoughts).toBeGreaterThan(command ?? 1);
    expect(command).toBeGreaterThan(result ?? 1);
  });

  it("weighs the prose of a reply over its code", () => {
    const text = "I need the price.\n```python\ngoogle('string')\n```";
    const state = stateWith(message("reply", text, { form: "code" }));
    expect(describeWork(state).texts.slice(1)).toEqual(["google('string')", "I need the price."]);
    expect(weightOf(state, "price")).toBeGreaterThan(weightOf(state, "google") ?? 1);
  });

  it("weighs an action that is a thought over any other action", () => {
    const act = (action: string, args: object) => message("reply", JSON.stringify({ action, args }), { form: "plan" });
    const acts = [act("google", { input: "racket string" }), act("think", { thought: "I need the price." })];
    const state = stateWith(...acts, message("reply", "no action", { form: "plan" }));
    expect(describeWork(state).texts.slice(1)).toEqual(["google\nracket string", "I need the price.", "no action"]);
    expect(weightOf(state, "price")).toBeGreaterThan(weightOf(state, "racket") ?? 1);
  });

  it("weighs a person's words like the agent's own, and older messages less", () => {
    const words = [message("feedback", "old words"), message("reply", "no JSON"), message("feedback", "new words")];
    const state = stateWith(...words);
    expect(weightOf(state, "new words")).toBe(1);
    expect(weightOf(state, "no JSON")).toBeCloseTo(0.9);
    expect(weightOf(state, "old words")).toBeCloseTo(0.81);
  });

  it.each(["null", "[]", '"text"', '{"thoughts":null}', '{"a":', ""])("accepts the malformed reply %s", (text) => {
    expect(describeWork(stateWith(message("reply", text))).texts).toHaveLength(2);
  });
});
