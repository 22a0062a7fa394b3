import { describe, expect, it } from "@jest/globals";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { describeRestored, type FilesRestored } from "#core/files-restored.ts";
import { activeFrame } from "#core/state.ts";
import { created, log, wholeStep } from "../helpers/events.ts";

const restored: FilesRestored = {
  type: "files-restored",
  toStep: 3,
  changes: [
    { path: "notes.md", change: "written" },
    { path: "other.md", change: "removed" },
  ],
  more: 0,
};
const end: NewEvent = { type: "turn-finished", outcome: "completed", reason: "done" };
const task = { goal: "Find three strings" };
const planned: NewEvent = { type: "task-added", parent: "0", task, by: "person" };

describe("a restoration of files", () => {
  it("is a message of goald with the step and the names", () => {
    const state = replay(log(created(), ...wholeStep(1), restored));
    expect(activeFrame(state).window.at(-1)).toMatchObject({
      ...{ kind: "feedback", from: "goald", source: "goald" },
      text: "A person put files in your folder back as they were after step 3. Rewritten: notes.md. Removed: other.md. Your plan is unchanged. Look at these files before you rely on them.",
    });
    expect(describeRestored({ ...restored, more: 7 })).toContain("Removed: other.md. And 7 more. Your");
  });

  it("changes neither the plan nor the turn, and ends approvals that were given ahead", () => {
    const before = log(created(), planned, { type: "approvals-granted", count: 3 });
    const [was, is] = [replay(before), replay(log(...before, restored))];
    expect([was.grantedApprovals, is.grantedApprovals]).toEqual([3, 0]);
    expect([is.plan, is.turn]).toEqual([was.plan, was.turn]);
    expect(is.plan).not.toBeNull();
  });

  it("leaves a finished agent finished, and is read in its next turn", () => {
    const state = replay(log(created(), ...wholeStep(1), end, restored));
    expect(activeFrame(state).phase.kind).toBe("resting");
    const next = replay(log(created(), ...wholeStep(1), end, restored, { type: "turn-started", turn: 2 }));
    expect(activeFrame(next).window.map(({ text }) => text)).toEqual([describeRestored(restored)]);
  });

  it("that the agent has read before the end of a turn is not repeated in the next (control)", () => {
    const next = replay(log(created(), restored, ...wholeStep(1), end, { type: "turn-started", turn: 2 }));
    expect(activeFrame(next).window).toEqual([]);
  });
});
