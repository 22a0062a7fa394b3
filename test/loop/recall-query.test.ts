import { describe, expect, it } from "@jest/globals";
import type { Message } from "#core/frame.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { describeWork } from "#loop/recall-query.ts";

const message = (kind: Message["kind"], text: string): Message => ({
  seq: 1,
  step: 1,
  kind,
  from: "",
  status: null,
  source: "goald",
  text,
});
function stateWith(...window: Message[]): AgentState {
  const [frame] = initialState.frames;
  if (!frame) throw new Error("A state has a frame.");
  return { ...initialState, goals: ["Compare strings.", "Write it down."], frames: [{ ...frame, window }] };
}
const weightOf = (state: AgentState, part: string) => {
  const { texts, weights } = describeWork(state);
  return weights[texts.findIndex((text) => text.includes(part))];
};
const reply = JSON.stringify({
  thoughts: { text: "I need the price", plan: ["look", "note"] },
  command: { name: "google", args: { query: "racket string" } },
});

describe("describeWork", () => {
  it("returns only the goals at the start", () => {
    expect(describeWork(stateWith()).texts).toEqual(["Compare strings.\nWrite it down."]);
  });

  it("weighs thoughts over the command over the result, and leaves out the keys of the reply", () => {
    const state = stateWith(message("reply", reply), message("result", "3 hits".padEnd(5_000, "x")));
    const { texts } = describeWork(state);
    expect(texts.slice(1, 3)).toEqual(["google\nracket string", "I need the price\nlook\nnote"]);
    expect(texts[3]?.length).toBeLessThan(1_000);
    const [thoughts, command, result] = ["price", "google", "3 hits"].map((part) => weightOf(state, part) ?? 0);
    expect(thoughts).toBeGreaterThan(command ?? 1);
    expect(command).toBeGreaterThan(result ?? 1);
  });

  it("weighs the prose of a reply over its code", () => {
    const text = "I need the price.\n```python\ngoogle('string')\n```";
    const state = stateWith({ ...message("reply", text), form: "code" });
    expect(describeWork(state).texts.slice(1)).toEqual(["google('string')", "I need the price."]);
    expect(weightOf(state, "price")).toBeGreaterThan(weightOf(state, "google") ?? 1);
  });

  it("weighs an action that is a thought over any other action", () => {
    const act = (action: string, args: object): Message => ({
      ...message("reply", JSON.stringify({ action, args })),
      form: "plan",
    });
    const state = stateWith(act("google", { input: "racket string" }), act("think", { thought: "I need the price." }), {
      ...message("reply", "no action"),
      form: "plan",
    });
    expect(describeWork(state).texts.slice(1)).toEqual(["google\nracket string", "I need the price.", "no action"]);
    expect(weightOf(state, "price")).toBeGreaterThan(weightOf(state, "racket") ?? 1);
  });

  it("weighs a person's words like the agent's own, and older messages less", () => {
    const state = stateWith(
      message("feedback", "old words"),
      message("reply", "no JSON"),
      message("feedback", "new words"),
    );
    expect(weightOf(state, "new words")).toBe(1);
    expect(weightOf(state, "no JSON")).toBeCloseTo(0.9);
    expect(weightOf(state, "old words")).toBeCloseTo(0.81);
  });

  it.each(["null", "[]", '"text"', '{"thoughts":null}', '{"a":', ""])("accepts the malformed reply %s", (text) => {
    expect(describeWork(stateWith(message("reply", text))).texts).toHaveLength(2);
  });
});
