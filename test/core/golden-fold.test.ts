import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { EVENT_FIELDS } from "#core/event-fields.ts";
import { evolve } from "#core/evolve.ts";
import { initialState, STATE_VERSION } from "#core/state.ts";
import { checkStoredEvent } from "#core/stored-event.ts";
import { canonicalJson } from "#util/canonical-json.ts";

const LOG = new URL("../data/every_event.jsonl", import.meta.url);
const FOLD = new URL("../data/every_event.fold.json", import.meta.url);
const events = readFileSync(LOG, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => checkStoredEvent(JSON.parse(line)));

interface Fold {
  readonly stateVersion: number;
  /** SHA-256 of the states after each event. */
  readonly sha256: string;
}

function foldOf(log: readonly RecordedEvent[], fold = evolve): Fold {
  const hash = createHash("sha256");
  let state = initialState;
  for (const event of log) {
    state = fold(state, event);
    hash.update(`${canonicalJson(state)}\n`);
  }
  return { stateVersion: STATE_VERSION, sha256: hash.digest("hex") };
}

/** Returns what a person must do about a fold that differs from the kept one; "" for an equal one. */
function adviceFor(kept: Fold, now: Fold): string {
  if (kept.sha256 === now.sha256 && kept.stateVersion === now.stateVersion) return "";
  const write = "Then write the fold anew: GOLDEN=write npm test -- test/core/golden-fold";
  if (kept.stateVersion !== now.stateVersion) return `STATE_VERSION was raised. ${write}`;
  return `The fixture log folds to another state than before, and stored snapshots would disagree with their logs: raise STATE_VERSION in src/core/state.ts (once for each release). ${write}`;
}

describe("the fold of a log with every type of event", () => {
  it("changes only together with STATE_VERSION", () => {
    const now = foldOf(events);
    if (process.env.GOLDEN === "write") writeFileSync(FOLD, `${JSON.stringify(now, null, 2)}\n`);
    expect(adviceFor(JSON.parse(readFileSync(FOLD, "utf8")) as Fold, now)).toBe("");
  });

  it("is of a log that has every type that goald knows", () => {
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(Object.keys(EVENT_FIELDS)));
  });

  it("says to raise STATE_VERSION when `evolve` changes for a single event of any type", () => {
    const kept = foldOf(events);
    for (const type of Object.keys(EVENT_FIELDS)) {
      const changed = foldOf(events, (state, event) => {
        const after = evolve(state, event);
        return event.type === type ? { ...after, tasksReceived: after.tasksReceived + 1 } : after;
      });
      expect(adviceFor(kept, changed)).toMatch(/raise STATE_VERSION/);
    }
  });
});
