/** What a second process has of the namespace of a first one. */
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import type { CellOutcome } from "#core/ports/sandbox.ts";
import { prepareSnapshot } from "#sandbox/python-snapshot.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { PythonProcess } from "../helpers/python-process.ts";

const folder = mkdtempSync(join(tmpdir(), "goald-python-"));
afterAll(() => rmSync(folder, { recursive: true }));

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

describe("a process that dies", () => {
  it.each([
    ["os._exit", "import os\nos._exit(3)"],
    ["a stack that is too deep for node", "import sys\nsys.setrecursionlimit(10**7)\ndef r(n): return r(n + 1)\nr(0)"],
    [
      "code that swallows each interrupt",
      "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    ],
    ["a long call of C", "sum(range(10**12))"],
  ])("by %s fails its cell", async (_, code) => {
    await using python = await PythonProcess.start();
    await python.run("1");
    const problem = await python.problemOf(code, { timeLimitMs: 2_000, imports: "all" });
    expect(problem.message).not.toMatch(/\/work|node_modules|file:/);
    expect(["died", "timeout", "error"]).toContain(problem.kind);
  });
});

describe("a process whose code has replaced the outcome by null", () => {
  it("is ended at once, not at the time limit of the cell", async () => {
    await using python = await PythonProcess.start();
    await python.run("import sys\nsys.modules['goald_cells.cells']._finish = lambda *given: 'null'");
    expect(await python.problemOf("1")).toMatchObject({
      kind: "died",
      message: expect.stringContaining("sent what is not a message"),
    });
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

  it("is made anew when it is broken, and old ones are removed", async () => {
    const cage = await findCage();
    const path = (await prepareSnapshot(cage, folder)) ?? "";
    const { size } = statSync(path);
    truncateSync(path, size - 1_000);
    writeFileSync(join(folder, "python-node1-x64-old.snapshot"), "old");
    expect(await prepareSnapshot(cage, folder)).toBe(path);
    expect(statSync(path).size).toBe(size);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it("is not needed: Python starts without one that does not work", async () => {
    const path = join(folder, "broken");
    writeFileSync(path, Buffer.alloc(2 ** 20, 1));
    await using python = await PythonProcess.start({ snapshot: path });
    expect(await python.valueOf("1 + 1")).toBe(2);
    rmSync(path);
  });

  it("cannot be made in a folder that is a file, and Python starts without it", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    expect(await prepareSnapshot(await findCage(), file)).toBeNull();
    rmSync(file);
  });
});

describe.each(findLevelsHere())("at level %s", (atMost) => {
  it("runs cells, and sees no file of the machine and no module of node", async () => {
    await using python = await PythonProcess.start({ atMost });
    expect(await python.valueOf("1 + 1")).toBe(2);
    const code =
      "import os, sys\nfound = []\nfor path in ['/etc/passwd', '/proc/self/environ', sys.executable]:\n    try: found.append(open(path).read())\n    except OSError: pass\n[found, dict(os.environ).get('PATH'), os.system('id'), [n for n in sys.modules if n in ('js', 'pyodide_js')]]";
    expect(await python.valueOf(code, { imports: "all" })).toEqual([[], expect.anything(), 126 * 256, []]);
  });
});
