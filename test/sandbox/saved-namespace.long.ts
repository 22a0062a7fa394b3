/** What a saved namespace can do to the processes that load it, and what it costs the agent. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import type { CellHost, CellOutcome, SavedNamespace } from "#core/ports/sandbox.ts";
import { createSandbox } from "#sandbox/sandbox.ts";

const cacheFolder = mkdtempSync(join(tmpdir(), "goald-saved-"));
const sandbox = createSandbox({ findCage, cacheFolder });
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheFolder, { recursive: true });
});

const called: string[] = [];
const HOST: CellHost = {
  call: async (name) => {
    called.push(name);
    return { value: "noted", changesFiles: false };
  },
  run: async () => ({ value: null }),
  listFiles: async () => ({ files: [], isComplete: true }),
  readFile: async () => ({ error: { code: "file-missing", text: "There is no such file." } }),
  saveFiles: async () => ({ value: null }),
};
let cells = 0;

/** Each cell gets a new process: it is of another agent. */
function runAnew(code: string, saved: SavedNamespace | null): Promise<CellOutcome> {
  const [number, functions] = [++cells, [{ name: "note", parameters: [], signature: "note()", doc: "" }]];
  const cell = { agent: `agent ${number}`, code, name: "cell", version: `c${number}` } as const;
  const rules = { seed: 1, functions, modules: [], imports: "safe", timeLimitMs: 10_000 } as const;
  const startedAt = "2026-11-20T08:00:00.000Z";
  return sandbox.run({ ...cell, ...rules, saved, startedAt }, HOST, new AbortController().signal);
}
async function save(code: string): Promise<SavedNamespace> {
  const { saved } = await runAnew(code, null);
  if (!saved) throw new Error("Expected a saved namespace.");
  return saved;
}
const runsAtLoad = (code: string): string =>
  `class P:\n    def __reduce__(self): return (exec, (${JSON.stringify(code)},))\nx = P()\ny = 2`;
const REPLACED_FINISH = runsAtLoad(
  "import os, sys; sys.modules['goald_cells.cells']._finish = lambda *given: os._exit(1)",
);
const SPIN = "n = 0\ndef spin():\n    while n: pass\ndef f(a=spin()): pass\nn = 1";

describe("a saved namespace that ends each process", () => {
  it.each([
    ["exits when it is loaded", runsAtLoad("import os; os._exit(1)"), ["P", "x", "y"]],
    ["replaces a builtin that goald uses", runsAtLoad("import builtins; builtins.len = None"), ["P", "x", "y"]],
    ["replaces a function of goald", REPLACED_FINISH, ["P", "x", "y"]],
    [
      "has an outcome of its own that is none",
      runsAtLoad("import sys; sys.modules['goald_cells.cells']._finish = lambda *given: 'null'"),
      ["P", "x", "y"],
    ],
    ["computes a default argument for ever", "n = 1\ndef f(a=sum(range(10**n))): pass\nn = 12", ["f", "n"]],
    [
      "has a name with control characters",
      `${runsAtLoad("import os; os._exit(1)")}\nglobals()["a\\x1b[2Jb"] = 1`,
      ["P", "x", "y", "ab"],
    ],
  ])("that %s is given up, and the cell runs with an empty one", async (_, poison, names) => {
    const first = await runAnew("'x' in globals(), 6 * 7", await save(poison));
    expect(first).toMatchObject({ kind: "done", value: { json: [false, 42] }, gone: names, saved: { values: {} } });
    const next = await runAnew("6 * 7", first.saved);
    expect(next).toMatchObject({ kind: "done", value: { json: 42 } });
    expect(next).not.toHaveProperty("gone");
  });

  it("is given up for the next cell, when this one has called a command: the call is not made twice", async () => {
    const first = await runAnew("note()", await save(REPLACED_FINISH));
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
    [
      "makes a value that exits when it is saved",
      "import os\nclass P:\n    def __reduce__(self): os._exit(1)\np = P()",
    ],
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
