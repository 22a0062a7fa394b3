import { describe, expect, it } from "@jest/globals";
import type { ReplyForm } from "#core/agent-settings.ts";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { activeFrame } from "#core/state.ts";
import { SHORT_TERM_MESSAGES, SHOWN_ACTIONS, shownWindow } from "#core/window.ts";
import * as given from "../helpers/events.ts";

const { created, wholeStep, log } = given;

const stepsOf = (count: number): readonly NewEvent[] =>
  Array.from({ length: count }, (_, index) => wholeStep(index + 1)).flat();
const said = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ type: "message-received", from: "user", text: `word ${at}` }) as const);
const windowAfter = (form: ReplyForm, ...events: readonly NewEvent[]) => {
  const state = replay(log(created({ form }), ...events));
  return shownWindow(state, activeFrame(state));
};
const stepsIn = (window: ReturnType<typeof windowAfter>) => [...new Set(window.map(({ step }) => step))];

describe("short-term memory", () => {
  it("keeps the last ten actions with their observations in the form plan: of 12 actions, 3 to 12", () => {
    const window = windowAfter("plan", ...stepsOf(12));
    expect(window).toHaveLength(2 * SHOWN_ACTIONS);
    expect(stepsIn(window)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it("keeps nine messages in the form json (control)", () => {
    expect(windowAfter("json", ...stepsOf(12))).toHaveLength(SHORT_TERM_MESSAGES);
  });

  it("keeps words that a person wrote between two actions, and is bounded however many they are", () => {
    const some = windowAfter("plan", ...stepsOf(12), ...said(3));
    expect(stepsIn(some)).toHaveLength(10);
    expect(some.filter(({ kind }) => kind === "feedback")).toHaveLength(3);
    const many = windowAfter("plan", ...stepsOf(12), ...said(200));
    expect(many.length).toBeLessThan(60);
    expect(many.at(-1)?.text).toBe("word 199");
  });

  it("shows nine messages at once when the form changes to json", () => {
    const events = [...stepsOf(12), { type: "settings-changed", form: "json" } as const];
    const state = replay(log(created({ form: "plan" }), ...events));
    expect(shownWindow(state, activeFrame(state))).toHaveLength(SHORT_TERM_MESSAGES);
    const back = replay(log(created({ form: "plan" }), ...events, { type: "settings-changed", form: "plan" }));
    expect(stepsIn(shownWindow(back, activeFrame(back)))).toHaveLength(10);
  });
});
