import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import { createSandbox } from "#app/sandbox.ts";
import { findCage, probeCage } from "#cage/find-cage.ts";
import { readPythonFunctions } from "#commands/python-modules.ts";
import type { CellBridge, CellOutcome, Sandbox, SavedNamespace } from "#core/ports/sandbox.ts";
import { CellProcess } from "#sandbox/cell-process.ts";
import { prepareSnapshot } from "#sandbox/python-snapshot.ts";
import { describeSandbox, NOTHING_HERE } from "../contracts/sandbox.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { cellOf } from "../helpers/fake-sandbox.ts";
import { useSharedFolder } from "../helpers/folder.ts";
import { NO_MESSAGES } from "../helpers/hostile-guest.child.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";
import { cellFunction, PythonProcess } from "../helpers/python-process.ts";

afterAll(() => sandbox.close());
const cacheFolder = useSharedFolder();
const sandbox = createSandbox({ findCage, cacheFolder });

for (const level of findLevelsHere())
  describeSandbox(`Pyodide in a cage that is ${level}`, () =>
    createSandbox({ findCage: () => probeCage({ atMost: level }), cacheFolder, maxProcesses: 2 }),
  );

it("the Python of docs/code.md runs and does what the page says", async () => {
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
  cells += 1;
  const own = { agent: `agent ${cells}`, version: `c${cells}`, functions: [cellFunction("note")], timeLimitMs: 10_000 };
  return sandbox.run(cellOf(code, { ...own, saved }), HOST, new AbortController().signal);
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
const SLOW: CellBridge = {
  ...NOTHING_HERE,
  listFiles: async () => {
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    return { files: [], isComplete: true };
  },
};

let running: CellProcess | undefined;
async function runHostile(code: string, timeLimitMs = 20_000) {
  const options = { memoryMegabytes: 64, snapshot: null } as const;
  running = new CellProcess(await findCage(), options, PROGRAM);
  const outcome = await running.run(cellOf(code, { timeLimitMs }), SLOW, new AbortController().signal, true);
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

  it.each(Object.keys(NO_MESSAGES))("is ended when it sends %s", async (code) => {
    const { problem, saved, isGone } = await runFailing(code);
    expect(problem.kind).toBe("died");
    const isTooMany = code === "30,000 questions";
    expect(problem.message).toContain(isTooMany ? "more than 20,000 times" : "sent what is not a message");
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

  it.each([
    ["has a limit for saving", "silence after the end of the code", 200, "timeout", "could not be saved"],
    ["may end itself", "its own end", undefined, "died", "exit code 7"],
  ])("%s: %s", async (_title, code, timeLimitMs, kind, words) => {
    const { problem } = await runFailing(code, timeLimitMs);
    expect(problem).toMatchObject({ kind, message: expect.stringContaining(words) });
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

// What a second process has of the namespace of a first one.

const folder = useSharedFolder();

/** Runs the first code in one process, and the others in another one that loads what the first one saved. */
async function restart(first: string, ...others: readonly string[]): Promise<readonly CellOutcome[]> {
  const outcomes: CellOutcome[] = [];
  {
    await using python = await PythonProcess.start();
    outcomes.push(await python.run(first));
  }
  await using python = await PythonProcess.start();
  for (const code of others) outcomes.push(await python.run(code, {}, outcomes[0]?.saved ?? null));
  return outcomes;
}

const FIRST = `
import math as m, os.path, xml.dom.minidom, xml.sax
from collections import *
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache, partial, wraps
from typing import NamedTuple, TypedDict

limit = 10
def bounded(n, maximum=limit):
    """It says: 'a
    b'."""
    return min(n, maximum)

class Colour(Enum):
    RED = "red"

@dataclass
class Base:
    colours: list = field(default_factory=lambda: [Colour.RED])

class Child(Base):
    def name(self): return "child"

Point = namedtuple("Point", "x y")
class Place(NamedTuple):
    at: Point

def logged(call):
    @wraps(call)
    def inner(*given): return ("logged", call(*given))
    return inner

@logged
def twice(n): return 2 * n

@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)

if limit > 5:
    def chosen(): return "long"
else:
    def chosen(): return "short"
try:
    import numpy
except ImportError:
    numpy = None

child = Child()
place = Place(Point(1, 2))
ring = [1]; ring.append(ring)
tripled = partial(lambda a: a, 3)
doubled = partial(twice, 4)
alias = bounded
counts = Counter("aab")
when = datetime(2026, 1, 2)
text = "é\\ud800"
def gone(): pass
del gone
shadow = lambda: 1
shadow = 5
class Old: pass
old = Old()
class Old: pass
agents = [agent]
`;

describe("a namespace in a new process", () => {
  it("has classes, functions, imports and values", async () => {
    const [first, second, third] = await restart(
      FIRST,
      `[m.floor(1.5), os.path.basename("a/b"), xml.dom.minidom.__name__, xml.sax.__name__, bounded(99), bounded.__doc__,
        child.colours[0] is Colour.RED, child.name(), isinstance(child, Base), list(place.at), place.at.x, twice(2), fib(50),
        chosen(), numpy, ring[1] is ring, doubled(), alias(3), counts["a"], str(when), len(text), "gone" in globals(),
        shadow, agents[0] is agent, OrderedDict.__name__]`,
      "tripled",
    );
    expect(first).toMatchObject({ kind: "done" });
    expect(Object.fromEntries((first?.lost ?? []).map(({ name, reason }) => [name, reason]))).toEqual({
      old: "a Old cannot be kept",
      tripled: "a lambda without a name cannot be kept",
    });
    expect(second).toMatchObject({
      lost: [],
      value: {
        json: [
          ...[1, "b", "xml.dom.minidom", "xml.sax", 10, "It says: 'a\nb'.", true, "child", true, [1, 2], 1],
          ...[["logged", 4], 12586269025, "long", null, true, ["logged", 8], 3, 2, "2026-01-02 00:00:00", 2, false],
          ...[5, true, "OrderedDict"],
        ],
      },
    });
    expect(third).toMatchObject({ kind: "failed", problem: { missingName: "tripled" } });
  });

  it("is the same after being saved again without a change", async () => {
    const [first, second] = await restart(FIRST, "1");
    expect(new Map(second?.saved?.definitions)).toEqual(new Map(first?.saved?.definitions));
    expect(Object.keys(second?.saved?.values ?? {}).sort()).toEqual(Object.keys(first?.saved?.values ?? {}).sort());
  });

  it("loses values that take too long or too much, and calls nothing while it loads", async () => {
    const [first, second] = await restart(
      "class Slow:\n    def __reduce__(self):\n        while True: pass\nclass Caller:\n    def __reduce__(self): return (agent.run, ('task',))\nslow, caller, after = Slow(), Caller(), 1\nbig = [bytes(2**20)] * 5 + [bytes(6 * 2**20)]\nfits = bytes(2**20)",
      "[fits == bytes(2**20), after]",
    );
    expect(first?.lost).toEqual([
      { name: "slow", reason: "it took too long to keep it" },
      { name: "big", reason: "it is too large to be kept (9.3 MB): save it in a file" },
    ]);
    expect(second).toMatchObject({ value: { json: [true, 1] } });
    expect(second?.lost).toContainEqual({ name: "caller", reason: "it could not be loaded: CommandError" });
  });
});

describe("the memory of files", () => {
  it("is limited, for each file and for all", async () => {
    await using python = await PythonProcess.start();
    python.files.set("huge.bin", Buffer.alloc(65 * 1024 * 1024));
    const huge = {
      listFiles: async () => ({ files: [{ path: "huge.bin", bytes: 68_157_440, stamp: "1" }], isComplete: true }),
    };
    expect(await python.problemOf("open('huge.bin', 'rb').read()", huge)).toMatchObject({
      message: expect.stringMatching(/huge\.bin has 69 MB\. Code can read files of up to 67 MB\.$/),
    });
    const write = (count: number, size: number) =>
      `piece = bytes(2**20)\nfor i in range(${count}):\n    with open(f'/tmp/{i}', 'wb') as f:\n        for _ in range(${size}): f.write(piece)`;
    expect(await python.problemOf(write(1, 65))).toMatchObject({
      type: "OSError",
      message: expect.stringContaining("large"),
    });
    expect(await python.problemOf(write(10, 40))).toMatchObject({
      type: "OSError",
      message: expect.stringContaining("space"),
    });
    expect(
      await python.valueOf(
        "import os\n[os.remove(f'/tmp/{n}') for n in os.listdir('/tmp')]\nopen('/tmp/a', 'wb').write(piece)",
      ),
    ).toBe(1_048_576);
  });

  it("does not keep what was only read", async () => {
    await using python = await PythonProcess.start();
    for (let n = 0; n < 8; n++) python.files.set(`${n}.bin`, Buffer.alloc(20 * 1024 * 1024, n));
    const read = "[open(f'{n}.bin', 'rb').read()[-1] for n in range(8)]";
    expect(await python.valueOf(`${read} + ${read}`)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
    const reads = python.takeAsked().filter((one) => one.startsWith("read"));
    expect(reads.length).toBeGreaterThan(8);
    expect(reads.length).toBeLessThanOrEqual(16);
  });
});

describe("the start-up snapshot", () => {
  it("makes a start faster, and is made once", async () => {
    const cage = await findCage();
    const [one, two] = await Promise.all([prepareSnapshot(cage, folder), prepareSnapshot(cage, folder)]);
    expect(one).toBe(two);
    expect(readdirSync(folder)).toHaveLength(1);
    const { mtimeMs } = statSync(one ?? "");
    expect(await prepareSnapshot(cage, folder)).toBe(one);
    expect(statSync(one ?? "").mtimeMs).toBe(mtimeMs);
    const timeOf = async (snapshot: string | null) => {
      const start = performance.now();
      await using python = await PythonProcess.start({ snapshot });
      const code = "import random\nopen('a.txt', 'w').write('a')\n[random.random(), hash('a'), str({'a', 'b', 'c'})]";
      const value = await python.valueOf(code);
      expect(python.files.get("a.txt")?.toString()).toBe("a");
      return { value, ms: performance.now() - start };
    };
    const [fast, slow] = [await timeOf(one), await timeOf(null)];
    expect(fast.value).toEqual(slow.value);
    expect(fast.ms).toBeLessThan(slow.ms);
  });

  it("is made anew when it is broken, and old ones and drafts of killed processes are removed", async () => {
    const cage = await findCage();
    const path = (await prepareSnapshot(cage, folder)) ?? "";
    const { size } = statSync(path);
    truncateSync(path, size - 1_000);
    for (const name of ["", "."]) writeFileSync(join(folder, `${name}python-node1-x64-old.snapshot`), "old");
    expect(await prepareSnapshot(cage, folder)).toBe(path);
    expect(statSync(path).size).toBe(size);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it("is not needed: Python starts with a broken one, and without one when its folder is a file", async () => {
    const file = join(folder, "broken");
    writeFileSync(file, Buffer.alloc(2 ** 20, 1));
    await using python = await PythonProcess.start({ snapshot: file });
    expect(await python.valueOf("1 + 1")).toBe(2);
    expect(await prepareSnapshot(await findCage(), file)).toBeNull();
    rmSync(file);
  });
});

// The examples of docs/code.md, run as cells of an agent.

const PAGE = readFileSync(new URL("../../docs/code.md", import.meta.url), "utf8");

/** `py`: a file of `<home>/methods`. */
const examplesIn = (language: "python" | "py"): readonly string[] =>
  [...PAGE.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, code = ""]) => (name === language ? [code] : []));

const FILES = {
  "notes.md": "the cat and the dog and the bird\n",
  "prices.csv": "tea,3\nbread,4\n",
  "Chengdu.md": "20937757\n",
  "shenzhen.md": "Shenzhen has 17560000 inhabitants.\n",
  "cities.json": JSON.stringify(Array.from({ length: 42 }, (_none, index) => `City ${index}`)),
};

/** Runs the code as the only cell of an agent; sub-tasks return `result`. Returns the observation and the files. */
async function runExample(code: string, sandbox: Sandbox, result: unknown) {
  const subtask = code.includes("agent.run") ? [reply("task_complete", { result })] : [];
  const modules = examplesIn("py").map((source, index) => {
    const file = `methods-${index}.py`;
    return { file, path: file, source, ...readPythonFunctions(source) };
  });
  const loop = await makeLoop({
    script: [reply("run_code", { code }), ...subtask, done()],
    sandbox,
    modules,
  });
  for (const [path, text] of Object.entries(FILES)) loop.files.set(path, new TextEncoder().encode(text));
  await loop.run();
  const events = await loop.events();
  const [observation] = events.flatMap((event) =>
    event.type === "command-finished" && event.callId === "c1" ? [event.observation] : [],
  );
  return { status: observation?.status, text: String(observation?.text), file: loop.text };
}
