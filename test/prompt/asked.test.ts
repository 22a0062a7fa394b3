import { describe, expect, it } from "@jest/globals";
import type { Message } from "#core/frame.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { describeWork } from "#loop/recall-query.ts";
import { buildPrompt } from "#prompt/build.ts";
import { inputWith, messages, recalls, resultMessage, stateWith } from "./fixtures.ts";

const NOTE = "reported the goals of your instructions as reached in an earlier turn";
const words = (text: string, changes: Partial<Message> = {}): Message =>
  resultMessage(0, text, { kind: "feedback", from: "ada", source: "person", status: null, ...changes });
const laterTurn = (window: readonly Message[], changes: Partial<AgentState> = {}): AgentState =>
  stateWith(window, { turn: 2, goalsTurn: 1, asked: [words("Plot the RAINFALL.")], ...changes });
const contents = (state: AgentState, changes: Parameters<typeof inputWith>[0] = {}) =>
  buildPrompt(inputWith({ state, ...changes })).messages.map(({ content }) => content);
const placeOf = (all: readonly string[], part: string): number => all.findIndex((content) => content.includes(part));

describe("the words that opened a later turn", () => {
  it("are between the instructions and the messages, behind a note that the goals were reached", () => {
    const all = contents(laterTurn(messages(3)));
    expect([NOTE, "RAINFALL", "text 1"].map((part) => placeOf(all, part))).toEqual([1, 2, 3]);
    expect(all[2]).toMatch(/^A message from ada, .*\n<words-([\w-]+)>\nPlot the RAINFALL\.\n<\/words-\1>$/);
  });

  it("stay while messages scroll out, and count as shown", () => {
    const prompt = buildPrompt(inputWith({ state: laterTurn(messages(30)) }));
    expect(
      placeOf(
        prompt.messages.map(({ content }) => content),
        "RAINFALL",
      ),
    ).toBe(2);
    expect(prompt.shownSeqs).toEqual([0, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
    expect(prompt.dropped.messages).toBe(21);
  });

  it("come without the note when the goals opened the turn", () => {
    const all = contents(laterTurn(messages(1), { goalsTurn: 2 }));
    expect(placeOf(all, NOTE)).toBe(-1);
    expect(placeOf(all, "RAINFALL")).toBe(1);
  });

  it("are shown as the task of a parent when a parent wrote them", () => {
    const task = words("Count on.", { kind: "task", from: "Foo", source: "agent" });
    const all = contents(laterTurn([], { asked: [task] }));
    expect(all[2]).toMatch(/^Foo, the agent that you work for, writes\. It is no person/);
  });

  it("stay when a small window has room for little else, and are clipped rather than dropped", () => {
    const asked = [words("TINY WISH"), words(`BEGIN ${"many words ".repeat(3_000)} END`)];
    const state = laterTurn(
      messages(9, (seq) => `text ${seq} ${"x y ".repeat(2_000)}`),
      { asked },
    );
    const prompt = buildPrompt(inputWith({ state, recalls: recalls(10), contextTokens: 2_000, replyTokens: 500 }));
    const all = prompt.messages.map(({ content }) => content);
    expect(prompt.tokens).toBeLessThanOrEqual(1_500);
    expect(placeOf(all, "TINY WISH")).toBe(2);
    expect(all[3]).toMatch(/BEGIN [\s\S]*characters left out[\s\S]* END/);
    expect(all[4]).toMatch(/text 9 [\s\S]*characters left out/);
    expect(prompt.messages).toHaveLength(6);
  });

  it("are among the messages of the larger task in a sub-task, without the note", () => {
    const state = laterTurn(messages(1));
    const origin = {
      callId: "c1",
      command: "run_code",
      step: 1,
      ordinal: 1,
      hash: "h",
      seq: 9,
      task: "SMALL",
      returns: {},
    };
    const [root] = initialState.frames;
    const run = { ...root, id: 1, kind: "run" as const, path: "c1.1", origin };
    const all = contents({ ...state, frames: [...state.frames, run] });
    expect([NOTE, "RAINFALL", "text 1", "the larger task", "SMALL"].map((part) => placeOf(all, part))).toEqual([
      -1, 1, 2, 3, 4,
    ]);
  });

  it("are searched for in memory more than the goals, and before anything else is known", () => {
    const { texts, weights } = describeWork(laterTurn([]));
    expect(texts).toEqual([expect.stringContaining("Find three strings"), "Plot the RAINFALL."]);
    expect(weights).toEqual([0.3, 1]);
    const later = describeWork(laterTurn(messages(9)));
    expect([later.texts.at(-1), later.weights.at(-1)]).toEqual(["Plot the RAINFALL.", expect.closeTo(0.9 ** 9)]);
  });
});
