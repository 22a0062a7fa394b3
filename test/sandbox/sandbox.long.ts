import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import { createSandbox } from "#app/sandbox.ts";
import { findCage, probeCage } from "#cage/find-cage.ts";
import type { Cell, CellBridge, CellOutcome, SavedNamespace } from "#core/ports/sandbox.ts";
import { CellProcess } from "#sandbox/cell-process.ts";
import { describeSandbox, NOTHING_HERE } from "../contracts/sandbox.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { PYTHON } from "../helpers/cell-words.ts";
import { examplesIn, runExample } from "../helpers/code-examples.ts";

const STARTED_AT = "2026-11-20T08:00:00.000Z";
const cacheFolder = mkdtempSync(join(tmpdir(), "goald-sandbox-"));
const sandbox = createSandbox({ findCage, cacheFolder });
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheFolder, { recursive: true });
});

for (const level of findLevelsHere())
  describeSandbox(`Pyodide in a cage that is ${level}`, PYTHON, () =>
    createSandbox({ findCage: () => probeCage({ atMost: level }), cacheFolder, maxProcesses: 2 }),
  );

describe("the Python of docs/code.md", () => {
  it("runs and does what the page says", async () => {
    const [count = "", read = "", city = "", check = "", ...others] = examplesIn("python");
    expect(others).toEqual([]);
    const counted = "[('the', 3), ('and', 2), ('cat', 1)]";
    expect(await runExample(count, sandbox, null)).toMatchObject({ status: "ok", text: counted });
    const { status, text } = await runExample(read, sandbox, null);
    expect([status, text]).toEqual(["ok", expect.stringContaining("Shenzhen file-missing")]);
    const found = { name: "Shenzhen", population: 17_560_000 };
    expect(await runExample(city, sandbox, found)).toMatchObject({ status: "ok", text: "True" });
    const helper = 'days_between("2026-11-20", "2026-12-01")';
    expect(await runExample(helper, sandbox, null)).toMatchObject({ status: "ok", text: "11" });
    expect(await runExample(check, sandbox, null)).toMatchObject({ status: "ok", text: "42 cities" });
    // The control: a result of another type reaches the code as an error.
    expect(await runExample(city, sandbox, "Shenzhen")).toMatchObject({ status: "failed" });
  });
});

// What a saved namespace can do to the processes that load it, and what it costs the agent.
const called: string[] = [];
const HOST: CellBridge = {
  ...NOTHING_HERE,
  call: async (name) => {
    called.push(name);
    return { value: "noted", changesFiles: false };
  },
};
let cells = 0;

/** Each cell gets a new process: it is of another agent. */
function runAnew(code: string, saved: SavedNamespace | null): Promise<CellOutcome> {
  const [number, functions] = [++cells, [{ name: "note", parameters: [], signature: "note()", doc: "" }]];
  const cell = { agent: `agent ${number}`, code, name: "cell", version: `c${number}` } as const;
  const rules = { seed: 1, functions, modules: [], imports: "safe", timeLimitMs: 10_000 } as const;
  return sandbox.run({ ...cell, ...rules, saved, startedAt: STARTED_AT }, HOST, new AbortController().signal);
}
async function save(code: string): Promise<SavedNamespace> {
  const { saved } = await runAnew(code, null);
  if (!saved) throw new Error("Expected a saved namespace.");
  return saved;
}
const runsAtLoad = (code: string): string =>
  `class P:\n    def __reduce__(self): return (exec, (${JSON.stringify(code)},))\nx = P()\ny = 2`;
const replacesFinish = (value: string): string =>
  runsAtLoad(`import os, sys; sys.modules['goald_cells.cells']._finish = lambda *given: ${value}`);
const EXITS = runsAtLoad("import os; os._exit(1)");
const SPIN = "n = 0\ndef spin():\n    while n: pass\ndef f(a=spin()): pass\nn = 1";

describe("a saved namespace that ends each process", () => {
  it.each([
    ["exits when it is loaded", EXITS, ["P", "x", "y"]],
    ["replaces a builtin that goald uses", runsAtLoad("import builtins; builtins.len = None"), ["P", "x", "y"]],
    ["replaces a function of goald", replacesFinish("os._exit(1)"), ["P", "x", "y"]],
    ["has an outcome of its own that is none", replacesFinish("'null'"), ["P", "x", "y"]],
    ["computes a default argument for ever", "n = 1\ndef f(a=sum(range(10**n))): pass\nn = 12", ["f", "n"]],
    ["has a name with control characters", `${EXITS}\nglobals()["a\\x1b[2Jb"] = 1`, ["P", "x", "y", "ab"]],
  ])("that %s is given up, and the cell runs with an empty one", async (_, poison, names) => {
    const first = await runAnew("'x' in globals(), 6 * 7", await save(poison));
    expect(first).toMatchObject({ kind: "done", value: { json: [false, 42] }, gone: names, saved: { values: {} } });
    const next = await runAnew("6 * 7", first.saved);
    expect(next).toMatchObject({ kind: "done", value: { json: 42 } });
    expect(next).not.toHaveProperty("gone");
  });

  it("is given up for the next cell, when this one has called a command: the call is not made twice", async () => {
    const first = await runAnew("note()", await save(replacesFinish("os._exit(1)")));
    expect(called.splice(0)).toEqual(["note"]);
    expect(first).toMatchObject({ kind: "failed", problem: { kind: "died" }, gone: ["P", "x", "y"] });
    expect(first.saved).toEqual({ version: expect.any(String), definitions: [], values: {} });
    expect(await runAnew("6 * 7", first.saved)).toMatchObject({ kind: "done", value: { json: 42 } });
  });
});

describe("a saved namespace that is sound", () => {
  it.each([
    ["exits", "import os\nos._exit(x)"],
    ["exits after a call", "note()\nimport os\nos._exit(x)"],
    ["cannot be stopped", "sum(range(x * 10**12))"],
    ["saves a value that exits", "import os\nclass P:\n    def __reduce__(self): os._exit(1)\np = P()"],
  ])("is kept when the code of the cell %s", async (_, code) => {
    const saved = await save("x = 41");
    const died = await runAnew(code, saved);
    expect(died).toMatchObject({ kind: "failed", saved: null });
    expect(died).not.toHaveProperty("gone");
    expect(await runAnew("x", saved)).toMatchObject({ value: { json: 41 } });
  });

  it("loses only the function whose default argument can be interrupted", async () => {
    const outcome = await runAnew("n", await save(SPIN));
    expect(outcome).toMatchObject({ kind: "done", value: { json: 1 } });
    expect(outcome.lost).toEqual([{ name: "f", reason: "it could not be loaded: KeyboardInterrupt" }]);
  });
});

const PROGRAM = new URL("../helpers/hostile-guest.child.ts", import.meta.url);
let wait = 0;
const NOBODY: CellBridge = {
  call: () => Promise.reject(new Error("Nothing may be called.")),
  run: () => Promise.reject(new Error("Nothing may be run.")),
  listFiles: async () => {
    await new Promise((resolve) => setTimeout(resolve, wait));
    return { files: [], isComplete: true };
  },
  readFile: () => Promise.reject(new Error("Nothing may be read.")),
  saveFiles: () => Promise.reject(new Error("Nothing may be saved.")),
};
const hostileCell = (code: string, timeLimitMs: number): Cell => ({
  ...{ agent: "mallory", code, name: "cell c1", version: "c1.1", saved: null, seed: 1 },
  ...{ startedAt: STARTED_AT, timeLimitMs, functions: [], modules: [], imports: "safe" },
});

let running: CellProcess | undefined;
async function runHostile(code: string, timeLimitMs = 20_000) {
  const options = { memoryMegabytes: 64, snapshot: null } as const;
  running = new CellProcess(await findCage(), options, PROGRAM);
  const outcome = await running.run(hostileCell(code, timeLimitMs), NOBODY, new AbortController().signal, true);
  return { outcome, isGone: running.isGone };
}
const runFailing = async (...given: Parameters<typeof runHostile>) => {
  const { outcome, isGone } = await runHostile(...given);
  if (outcome.kind !== "failed") throw new Error("Expected a failure.");
  return { ...outcome, isGone };
};

describe("a cell process that hostile code has taken over", () => {
  afterEach(async () => {
    running?.kill({ kind: "died", type: "", message: "", line: null, source: null });
    await running?.ended;
  });

  it("is used while it keeps to the conversation", async () => {
    const { outcome, isGone } = await runHostile("well");
    const saved = { version: "c1.1", definitions: [], values: {} };
    expect([outcome.kind, outcome.saved, isGone]).toEqual(["done", saved, false]);
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
    await runHostile("two outcomes");
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
    const { outcome } = await runHostile("a value that is too deep");
    expect(outcome).toMatchObject({ kind: "done", value: { text: "deep" }, stop: {} });
    expect(JSON.stringify(outcome)).not.toContain("[[[[[");
  });

  it("cannot change a prototype of the host", async () => {
    const { outcome } = await runHostile("names of prototypes");
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect(Object.keys(outcome.saved?.values ?? {})).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(outcome.saved?.values)).toBe(Object.prototype);
  });
});
