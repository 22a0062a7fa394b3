import { afterEach, describe, expect, it } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import type { Cell, CellHost } from "#core/ports/sandbox.ts";
import { CellProcess } from "#sandbox/cell-process.ts";

const PROGRAM = new URL("../helpers/hostile-guest.child.ts", import.meta.url);
let wait = 0;
const NOBODY: CellHost = {
  call: () => Promise.reject(new Error("Nothing may be called.")),
  run: () => Promise.reject(new Error("Nothing may be run.")),
  listFiles: async () => {
    await new Promise((resolve) => setTimeout(resolve, wait));
    return { files: [], isComplete: true };
  },
  readFile: () => Promise.reject(new Error("Nothing may be read.")),
  saveFiles: () => Promise.reject(new Error("Nothing may be saved.")),
};
const cell = (code: string, timeLimitMs: number): Cell => ({
  ...{ agent: "mallory", code, name: "cell c1", version: "c1.1", saved: null, seed: 1 },
  ...{ startedAt: "2026-11-20T08:00:00.000Z", timeLimitMs, functions: [], modules: [], imports: "safe" },
});

let running: CellProcess | undefined;
async function run(code: string, timeLimitMs = 20_000) {
  const options = { memoryMegabytes: 64, snapshot: null } as const;
  running = new CellProcess(await findCage(), options, PROGRAM);
  const outcome = await running.run(cell(code, timeLimitMs), NOBODY, new AbortController().signal, true);
  return { outcome, isGone: running.isGone };
}
const runFailing = async (...given: Parameters<typeof run>) => {
  const { outcome, isGone } = await run(...given);
  if (outcome.kind !== "failed") throw new Error("Expected a failure.");
  return { ...outcome, isGone };
};
afterEach(async () => {
  running?.kill({ kind: "died", type: "", message: "", line: null, source: null });
  await running?.ended;
});

describe("a cell process that hostile code has taken over", () => {
  it("is used while it keeps to the conversation", async () => {
    const { outcome, isGone } = await run("well");
    expect([outcome.kind, outcome.saved, isGone]).toEqual([
      "done",
      { version: "c1.1", definitions: [], values: {} },
      false,
    ]);
  });

  it.each([
    "a length of 4 GB",
    "JSON of 20 MB",
    "no JSON",
    "a number",
    "another type",
    "ready again",
    "loaded without a namespace",
    "ended twice",
    "an outcome without fields",
    "an outcome of another kind",
    "values that are no texts",
    "definitions that are no pairs",
    "a namespace of 12 MB",
    "30,000 names",
    "a call without arguments",
    "a question of 3 MB",
    "a call with a list",
    "arguments 100 levels deep",
    "a task that is no text",
    "a file without a path",
    "a negative length",
    "lengths that do not add up",
    "a length that is no whole number",
    "20,000 files",
    "a question of another kind",
    "30,000 questions",
  ])("is ended when it sends %s", async (code) => {
    const { problem, saved, isGone } = await runFailing(code);
    expect(problem.kind).toBe("died");
    expect(problem.message).toContain("sent what is not a message");
    expect([saved, isGone]).toEqual([null, true]);
  });

  it("is ended when it sends a second outcome", async () => {
    await run("two outcomes");
    await running?.ended;
    expect(running?.isGone).toBe(true);
  });

  it("is ended when it does not wait for a reply", async () => {
    wait = 300;
    const { problem } = await runFailing("an outcome instead of waiting for a reply");
    wait = 0;
    expect(problem.message).toContain("out of turn");
  });

  it.each(["silence", "half a frame"])("is ended at the time limit after %s", async (code) => {
    const { problem, durationMs } = await runFailing(code, 200);
    expect(problem).toMatchObject({ kind: "timeout", type: "TimeoutError" });
    expect(durationMs).toBeGreaterThanOrEqual(200);
  });

  it("has a limit for saving", async () => {
    const { problem } = await runFailing("silence after the end of the code", 200);
    expect(problem).toMatchObject({ kind: "timeout", message: expect.stringContaining("could not be saved") });
  });

  it("may end itself", async () => {
    const { problem } = await runFailing("its own end");
    expect(problem).toMatchObject({ kind: "died", message: expect.stringContaining("exit code 7") });
  });

  it("cannot send control characters", async () => {
    const outcome = await runFailing("control characters");
    expect(outcome.output).toBe("ab");
    expect(outcome.lost).toEqual([{ name: "x", reason: "r" }]);
    const words = { kind: "error", type: "E", message: "m", line: null, missingName: "n" };
    expect(outcome.problem).toMatchObject(words);
    expect(outcome.problem.source).not.toContain("\u0000");
  });

  it("cannot give a value that is too deep", async () => {
    const { outcome } = await run("a value that is too deep");
    expect(outcome).toMatchObject({ kind: "done", value: { text: "deep" }, stop: {} });
    expect(JSON.stringify(outcome)).not.toContain("[[[[[");
  });

  it("cannot change a prototype of the host", async () => {
    const { outcome } = await run("names of prototypes");
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect(Object.keys(outcome.saved?.values ?? {})).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(outcome.saved?.values)).toBe(Object.prototype);
  });
});
