import { afterEach, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { isFinished } from "#core/state.ts";
import { closeProseLoops, type Loop, makeLoop, makeProseLoop } from "../helpers/loop.ts";
import { conditionalModel } from "../helpers/models.ts";
import type { ChatRequest } from "../helpers/openai-server.ts";
import { cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";
import { TUTORIAL, TUTORIAL_FILE, TUTORIAL_GOAL, TUTORIAL_LINES, TUTORIAL_PLAN, TUTORIAL_STEPS } from "./jobs.ts";

afterEach(closeProseLoops);

const goals = [TUTORIAL_GOAL];
const answer = conditionalModel(TUTORIAL_LINES) as (request: ChatRequest) => string;
const makeTutorial = (): Promise<Loop> =>
  makeLoop({ goals, settings: { form: "plan" }, script: ({ model, messages }) => answer({ model, messages }) });

const planAt = (events: readonly RecordedEvent[]) => replay(events).plan;
const callsIn = (events: readonly RecordedEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === "command-requested" ? [event.call.name] : []));
const CALLS = [
  ...["add_task", "add_task", "add_task", "modify_task", "think", "write_to_file"],
  ...["modify_task", "modify_task", "task_complete"],
];

it("the tutorial of seed 002 in the form plan is planned, written, completed, verified and finished, over HTTP", async () => {
  const { loop, server } = await makeProseLoop("plan", answer, {}, { goals });
  expect(isFinished(await loop.run())).toBe(true);
  const events = await loop.events();
  expect(loop.text(TUTORIAL_FILE)).toBe(TUTORIAL);
  expect(callsIn(events)).toEqual(CALLS);
  expect(planAt(events)).toEqual(TUTORIAL_PLAN);
  expect(server.chats).toHaveLength(TUTORIAL_STEPS);
  expect(server.violations).toEqual([]);
});

/** A step commits its request, and the start of its command. A command with `prepare` commits the reply before it; the end is one more. */
const COMMITS = 2 * TUTORIAL_STEPS + 2;
const POINTS = Array.from({ length: COMMITS }, (_, at): readonly [number, When] => [
  at + 1,
  at % 2 === 0 ? "before" : "after",
]);

describe("a power cut during the tutorial", () => {
  it.each(POINTS)("leaves ids and states as they are, and repeats nothing: commit %i, cut %s it", async (at, when) => {
    const loop = await makeTutorial();
    await expect(loop.run({ store: cutPowerAt(at, when) })).rejects.toThrow(PowerCut);
    const before = await loop.events();
    const lost = loop.model.requests.length - before.filter(({ type }) => type === "model-replied").length;
    expect(isFinished(await loop.run())).toBe(true);
    const events = await loop.events();
    expect(events.slice(0, before.length)).toEqual(before);
    expect(events.filter(({ type }) => type === "task-added")).toHaveLength(3);
    expect(callsIn(events)).toEqual(CALLS);
    expect(planAt(events)).toEqual(TUTORIAL_PLAN);
    expect(loop.text(TUTORIAL_FILE)).toBe(TUTORIAL);
    // Only the request that was under way is repeated.
    expect(lost).toBeLessThanOrEqual(1);
    expect(loop.model.requests).toHaveLength(TUTORIAL_STEPS + lost);
  });
});
