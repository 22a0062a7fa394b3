import { describe, expect, it } from "@jest/globals";
import { describeNow, type LivingFacts } from "#cli/living-line.ts";
import { widthOf } from "#cli/terminal/living-text.ts";
import type { NewEvent } from "#core/event.ts";
import * as given from "../../helpers/events.ts";

const facts = (change: Partial<LivingFacts> = {}): LivingFacts => ({
  now: given.NOW,
  since: new Date(given.NOW.getTime() - 12_400),
  received: 0,
  status: undefined,
  key: "pauses",
  ...change,
});
const budget = given.created({ budgetUsd: 2, stepLimit: 50 });
const step1: readonly NewEvent[] = [budget, given.asked(1), { ...given.replied(1), costUsd: 0.04 }];
const line = (events: readonly NewEvent[], change: Partial<LivingFacts> = {}, columns = 100): string =>
  describeNow(given.stateOf(...events), facts(change), columns);

describe("the line below a run", () => {
  const running = [...step1, given.requested("search_files", 1, {}), given.approved(1), given.started("pure", 1)];
  it.each<[title: string, events: readonly NewEvent[], change: Partial<LivingFacts>, expected: RegExp]>([
    ["a request", [...running, given.finished(1), given.asked(2)], {}, /^asking test-model · 12 s · step 2 of 50 · /],
    [
      "a reply that arrives",
      [budget, given.asked(1)],
      { received: 20_480 },
      /^test-model is writing, 20k characters · 12 s · /,
    ],
    [
      "a command",
      running,
      {},
      /^running search_files · 12 s · step 1 of 50 · \d+ tokens · \$0\.04 of \$2\.00 · Ctrl-C pauses$/,
    ],
    ["an attached terminal", running, { key: "leaves" }, / · Ctrl-C leaves it running$/],
    [
      "a pause that was asked for",
      running,
      { key: "stops" },
      / · pausing after this step; Ctrl-C again stops at once$/,
    ],
  ])("tells of %s", (_title, events, change, expected) => {
    expect(line(events, change, 120)).toMatch(expected);
  });

  it("counts a rate limit down to the next attempt, with its status", () => {
    const retryAt = new Date(given.NOW.getTime() + 14_000).toISOString();
    const failed = (code: string): readonly NewEvent[] => [budget, given.asked(1), given.modelFailed(1, retryAt, code)];
    expect(line(failed("rate-limited"))).toMatch(/^429 rate limit · trying again in 14 s · step 1 of 50 · /);
    const later = new Date(given.NOW.getTime() + 13_200);
    expect(line(failed("rate-limited"), { now: later })).toMatch(/trying again in 1 s · /);
    expect(line(failed("unavailable"), { status: "503" })).toMatch(/^503 · trying again in 14 s · /);
  });

  it.each([40, 60, 80, 100])("fits into %i columns with what it does and the key", (columns) => {
    const shown = line(running, {}, columns);
    expect(widthOf(shown)).toBeLessThanOrEqual(columns);
    expect(shown).toMatch(/^running search_files · 12 s · .*\^?C pauses$/);
  });

  it.each([20, 40, 57])("keeps the key at %i columns, whatever the agent does", (columns) => {
    const shown = line([budget, given.asked(1)], { received: 120_000, key: "stops" }, columns);
    expect(widthOf(shown)).toBeLessThanOrEqual(columns);
    expect(shown).toMatch(/ · \^C stops now$/);
  });

  it("shows no control character of a model's name", () => {
    const events = [budget, { ...given.asked(1), model: "evil\u001b[2J\u0007name" }];
    expect(line(events)).toMatch(/^asking evilname · /);
  });
});
