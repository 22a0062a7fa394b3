/** One process runs all cells of this file: a start of Python takes seconds. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { SavedNamespace } from "#core/ports/sandbox.ts";
import { cellFunction, PythonProcess } from "../helpers/python-process.ts";

/** As a process before this one saved it: `x` is 41, and `limit` was a value of a default argument. */
const SAVED: SavedNamespace = {
  version: "c0.1",
  definitions: [
    ["below", "def below(value, maximum=limit):\n    return value < maximum\n"],
    ["np", "import statistics as np"],
  ],
  values: { x: "gAVLKS4=", limit: "gAVLZC4=", broken: "gAVjX19tYWluX18KTm9uZXN1Y2gKLg==" },
};
let python: PythonProcess;
let first: Awaited<ReturnType<PythonProcess["run"]>>;

beforeAll(async () => {
  python = await PythonProcess.start();
  first = await python.run("[x + 1, below(99), below(100), np.mean([1, 3])]", {}, SAVED);
}, 120_000);
afterAll(() => python[Symbol.asyncDispose]());

it("a saved namespace is there for the first cell, also what needs a value, and names what is lost", () => {
  expect(first).toMatchObject({ kind: "done", value: { json: [42, true, false, 2] } });
  expect(first.lost).toEqual([{ name: "broken", reason: expect.stringContaining("could not be loaded") }]);
});

describe("a cell", () => {
  it("has the value of its last expression, and names last from cell to cell", async () => {
    expect(await python.run("y = 0.99**1000\nprint('made')")).toMatchObject({ value: null, output: "made\n" });
    expect(await python.run("y")).toMatchObject({ value: { text: "4.317124741065786e-05" }, output: "" });
  });

  it("prints the bytes that it writes, as text in UTF-8", async () => {
    const code =
      "import sys\nfor byte in 'caf\u00e9 '.encode(): sys.stdout.buffer.write(bytes([byte]))\nsys.stdout.buffer.write(b'\\xff\\n')";
    expect(await python.run(code)).toMatchObject({ kind: "done", output: "caf\u00e9 \ufffd\n" });
  });

  describe("that prints", () => {
    const shownBy = async (code: string): Promise<readonly string[]> => {
      const lines: string[] = [];
      const outcome = await python.run(code, { show: (line) => void lines.push(line) });
      expect(outcome.kind).toBe("done");
      return lines;
    };

    it("shows its last line at once, or soon after another one, and not all of a flood", async () => {
      // A second of work: time in which the process stood still does not count.
      const loop = "while left > 0:\n  now = time.monotonic()\n  left, last = left - min(now - last, 0.01), now";
      const compute = `import time\nleft, last = 1, time.monotonic()\n${loop}`;
      expect(await shownBy(`print('one')\nprint('two')\n${compute}`)).toEqual(["one", "two"]);
      const flood = await shownBy("for i in range(20_000): print('line', i)\nimport time\ntime.sleep(1.5)");
      expect(flood[0]).toBe("line 0");
      expect(flood.at(-1)).toBe("line 19999");
      expect(flood.length).toBeLessThan(40);
    });

    it("shows whole lines without control characters, long ones up to a word, and none of an earlier cell", async () => {
      expect(await shownBy("print('a', end=' ')\nprint('b\\x1b[31m\\tc', '\\u202e', '')")).toEqual(["a b c"]);
      expect(await shownBy("print(f'head {\"x\" * 500}')")).toEqual(["head …"]);
      expect(await shownBy("print('y' * 5_000)")).toEqual(["…"]);
      expect(await shownBy("print('10 %', end='\\r')")).toEqual(["10 %"]);
      expect(await shownBy("print('half', end='')\nprint()\nprint(' ')")).toEqual(["half"]);
      expect(await shownBy("print('one')\nprint('left')")).toEqual(["one"]);
      expect(await shownBy("import time\ntime.sleep(0.6)")).toEqual([]);
    });

    it("ends with its process when it shows what is no line", async () => {
      await using hostile = await PythonProcess.start();
      const code = "from goald_cells import host\nhost.show('x' * 401)\n1";
      expect(await hostile.problemOf(code, { imports: "all", show: () => undefined })).toMatchObject({ kind: "died" });
    }, 60_000);
  });

  it("gives the text of a str without quotes, and JSON only of plain data", async () => {
    expect(await python.run("'it' + ' is'")).toMatchObject({ value: { text: "it is", json: "it is" } });
    expect(await python.run("None")).toMatchObject({ value: null });
    const outcome = await python.run("object()");
    expect(outcome).toMatchObject({ value: { text: expect.stringContaining("<object object") } });
    expect(outcome).not.toHaveProperty("value.json");
    const code =
      "from dataclasses import dataclass\n@dataclass\nclass City:\n    name: str\n    n: int\n[City('Rome', 1), (2, {3})]";
    expect(await python.valueOf(code)).toEqual([{ name: "Rome", n: 1 }, [2, [3]]]);
  });

  it("shows the failing line of its own code, and none of a library or of the machine", async () => {
    expect(await python.problemOf("import json\n\njson.loads('{')  # here\n")).toEqual({
      kind: "error",
      type: "JSONDecodeError",
      message: "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
      line: 3,
      source: "json.loads('{')  # here",
    });
    expect(await python.problemOf("a = = 1")).toMatchObject({ kind: "syntax", line: 1, source: "a = = 1" });
  });

  it("shows no file of the machine in errors of JavaScript either", async () => {
    const code =
      "import traceback\nfrom goald_cells import host\nfrom pyodide.ffi import to_js\ntexts = []\n" +
      "for call in [lambda: host._ask('no JSON'), lambda: to_js([]).reduce(1), lambda: to_js([]).constructor.constructor('1')]:\n" +
      "    try: call()\n    except Exception: texts.append(traceback.format_exc())\ndel call\ntexts";
    const texts = (await python.valueOf(code, { imports: "all" })) as string[];
    expect(texts).toEqual(Array.from({ length: 3 }, () => expect.stringContaining("JsException")));
    expect(texts.join()).not.toMatch(/file:|node_modules|src.sandbox/);
  });

  it("names the place in an earlier cell that failed", async () => {
    await python.run("def half(n):\n    return n / 0", { name: "maths.py" });
    expect(await python.problemOf("\nhalf(1)")).toMatchObject({
      line: 2,
      source: "half(1)",
      message: "division by zero (in maths.py, line 2: return n / 0)",
    });
  });

  it("names a name that does not exist", async () => {
    const missing = { type: "NameError", missingName: "send_discord" };
    expect(await python.problemOf("send_discord('hi')")).toMatchObject(missing);
    expect(await python.problemOf("def f():\n    v += 1\n    v = 0\nf()")).not.toHaveProperty("missingName");
  });

  it("survives an error whose text cannot be shown", async () => {
    const code = "class Bad(Exception):\n    def __str__(self):\n        raise ValueError()\nraise Bad()";
    const problem = { type: "Bad", message: expect.stringContaining("cannot be shown") };
    expect(await python.problemOf(code)).toMatchObject(problem);
    expect(await python.valueOf("1 + 1")).toBe(2);
  });

  it("keeps the start and the end of long output", async () => {
    const outcome = await python.run("print('start')\nfor i in range(20000): print('0123456789')\nprint('end')");
    expect(outcome.isCut).toBe(true);
    expect(outcome.output).toMatch(/^start\n[\s\S]*characters left out[\s\S]*end\n$/);
    expect(outcome.output.length).toBeLessThanOrEqual(65_536);
  });

  it("ends at its time limit, also in sleep, and keeps the namespace", async () => {
    const message = expect.stringMatching(/^The code ran longer than 1 s and/);
    await python.valueOf("x = 43");
    const limit = { timeLimitMs: 1_000 };
    for (const code of ["import time\nwhile True: pass", "import time\ntime.sleep(60)"]) {
      const found = await python.problemOf(code, limit);
      expect(found).toMatchObject({ kind: "timeout", type: "TimeoutError", message });
      // On a busy machine the host may end the process before the code ends itself. Then no line is known.
      expect([2, null]).toContain(found.line);
    }
    expect(await python.valueOf("x")).toBe(43);
  });

  it("gets MemoryError at the limit of memory, and goes on", async () => {
    await python.valueOf("x = 43");
    expect(await python.problemOf("[0] * 10**9")).toMatchObject({ kind: "memory", type: "MemoryError", line: 1 });
    expect(await python.valueOf("x")).toBe(43);
  });

  it("starts with the recorded seed and time", async () => {
    const times = "int(time.time()), str(datetime.now())[:16], str(date.today())";
    const code = `import random, time\n[random.random(), ${times}]`;
    const dice = (await python.valueOf(code)) as number[];
    expect(dice.slice(1)).toEqual([1_795_161_600, "2026-11-20 08:00", "2026-11-20"]);
    expect(((await python.valueOf(code)) as number[])[0]).toBe(dice[0]);
    expect(((await python.valueOf(code, { seed: 8 })) as number[])[0]).not.toBe(dice[0]);
  });

  it("may await at its top level, and use asyncio", async () => {
    const code =
      "import asyncio\nasync def later(n):\n    await asyncio.sleep(0.01 * n)\n    return n\n" +
      "both = await asyncio.gather(later(2), later(1))\n[both, await later(0)]";
    expect(await python.valueOf(code)).toEqual([[2, 1], 0]);
    expect(await python.valueOf("asyncio.run(later(3))")).toBe(3);
    const run = async () => ({ value: await python.valueOf("await later(4)") });
    expect(await python.valueOf("await later(1) + agent.run('t', int)", { run })).toBe(5);
    expect(await python.problemOf("await asyncio.Event().wait()")).toMatchObject({ type: "RuntimeError" });
  });

  it("is asked to end by stop(), unless it fails after it", async () => {
    const hasStop = true;
    const stopped = { kind: "done", stop: { value: { n: 1 } } };
    expect(await python.run("stop({'n': 1})\nx = 0", { hasStop })).toMatchObject(stopped);
    expect(await python.run("stop()", { hasStop })).toMatchObject({ stop: {} });
    expect(await python.run("try:\n    stop()\nfinally:\n    1 / 0", { hasStop })).toMatchObject({ kind: "failed" });
    expect(await python.problemOf("stop()")).toMatchObject({ missingName: "stop" });
  });
});

it("imports are those of the rule, and others say what there is", async () => {
  expect((await python.problemOf("import math", { imports: "none" })).message).toContain("method_search");
  expect(await python.valueOf("import math\nmath.floor(1.5)")).toBe(1);
  expect((await python.problemOf("import ctypes")).message).toBe("ctypes is not available in the sandbox.");
  const ofNode = "import ctypes, sys\n[name for name in sys.modules if name in ('js', 'pyodide_js')]";
  expect(await python.valueOf(ofNode, { imports: "all" })).toEqual([]);
  const message = expect.stringMatching(/^No module named 'numpy'\. The sandbox has .*import sub\/a\.py as sub\.a\.$/);
  expect(await python.problemOf("import numpy")).toMatchObject({ type: "ModuleNotFoundError", message });
});

describe("a command as a function", () => {
  const functions = [cellFunction("read_file", "file", "first_line?")];
  const call = async (name: string, args: unknown) => ({ value: { name, args }, changesFiles: false });

  it("takes arguments by position and by name", async () => {
    const code = "[read_file('a', first_line=2), read_file(file='b')]";
    expect(await python.valueOf(code, { functions, call })).toEqual([
      { name: "read_file", args: { file: "a", first_line: 2 } },
      { name: "read_file", args: { file: "b" } },
    ]);
    const message = "read_file() has no argument 'lines'. Its arguments are file, first_line.";
    const problem = await python.problemOf("read_file('a', lines=1)", { functions, call });
    expect(problem).toMatchObject({ type: "TypeError", message });
    const tooLarge = await python.problemOf("read_file('a' * 3_000_000)", { functions, call });
    expect(tooLarge.command?.text).toContain("with open()");
  });

  it("has a signature and a docstring", async () => {
    const code = "import inspect\n[str(inspect.signature(read_file)), read_file.__doc__, read_file.__name__]";
    expect(await python.valueOf(code, { functions })).toEqual([
      "(file, first_line=None)",
      "read_file(file: str, first_line: str = None) -> str\n\nDoes read_file.",
      "read_file",
    ]);
  });

  it("goes when it is not offered any more, unless code has defined the name", async () => {
    expect(await python.problemOf("read_file")).toMatchObject({ missingName: "read_file" });
    await python.run("read_file = 5", { functions });
    expect(await python.valueOf("read_file", { functions })).toBe(5);
    await python.run("del read_file");
  });

  it("tells where the user is, if that is known", async () => {
    expect(await python.valueOf("get_user_location()", { location: { city: "Rome" } })).toEqual({ city: "Rome" });
    expect(await python.problemOf("get_user_location()", { location: null })).toMatchObject({
      type: "CommandError",
      command: { code: "no-location", text: expect.stringContaining("setting `sandbox.location`") },
    });
    expect(await python.problemOf("get_user_location()")).toMatchObject({ missingName: "get_user_location" });
  });

  it("is called by functions of the home's helpers", async () => {
    const source =
      "from math import floor\ndef shout(file):\n    return read_file(file)['args']['file'].upper() + str(floor(1.5))\n";
    const modules = [{ file: "shouts.py", source }];
    expect(await python.valueOf("shout('a')", { functions, call, modules, imports: "none" })).toBe("A1");
    const ends = (exit: string) => `import os, sys\n${exit}(3)  # ${exit}`;
    const broken = [
      ["bad.py", "def f(:", /^bad\.py, line 1 could not be loaded: SyntaxError/],
      ["ends.py", ends("os._exit"), /^ends\.py, line 2 could not be loaded: SystemExit: 3/],
      ["ends.py", ends("sys.exit"), /^ends\.py, line 2 could not be loaded: SystemExit: 3/],
    ] as const;
    for (const [file, source, said] of broken) {
      const outcome = { value: { json: 1 }, output: expect.stringMatching(said) };
      expect(await python.run("1", { modules: [{ file, source }] })).toMatchObject(outcome);
    }
  });
});

describe("agent.run", () => {
  const asked: unknown[] = [];
  const returning = (value: unknown) => ({
    run: async (task: string, returns: object, form: string | null) => {
      asked.push({ task, returns, form });
      return { value };
    },
  });

  it.each([
    ["str", "Rome", '"Rome"', { type: "string" }],
    ["int", 14284000, "14284000", { type: "integer" }],
    ["float", 1, "1.0", { type: "number" }],
    ["list[str]", ["a"], "['a']", { type: "array", items: { type: "string" } }],
    ["set[int]", [1], "{1}", { type: "array", items: { type: "integer" } }],
    ["dict[str, int | None]", { a: null }, "{'a': None}", { type: "object" }],
    ["tuple[int, str]", [1, "a"], "(1, 'a')", { prefixItems: [{ type: "integer" }, { type: "string" }] }],
    ["Literal['a', 'b']", "b", "'b'", { enum: ["a", "b"] }],
    ["Colour", "red", "<Colour.RED: 'red'>", { enum: ["red"] }],
    ["Person", { name: "Ann", age: 7 }, "Person(name='Ann', age=7)", { title: "Person", required: ["name"] }],
    ["Movie", { title: "M" }, "{'title': 'M'}", { title: "Movie", required: ["title"] }],
  ])("returns %s as a Python value", async (type, value, shown, schema) => {
    const types =
      "from dataclasses import dataclass\nfrom enum import Enum\nfrom typing import Literal, TypedDict\n" +
      "class Colour(Enum):\n    RED = 'red'\n@dataclass\nclass Person:\n    name: str\n    age: int = 0\n" +
      "class Movie(TypedDict):\n    title: str\n";
    const code = `${types}repr(agent.run('t', return_type=${type}))`;
    expect(await python.valueOf(code, returning(value))).toBe(shown.replaceAll('"', "'"));
    expect(asked.at(-1)).toMatchObject({ task: "t", returns: schema, form: null });
  });

  it("refuses a value of another type, and a type that JSON cannot hold", async () => {
    const ofStr = { type: "TypeError", message: "The result: expected int, got str: '14'" };
    expect(await python.problemOf("agent.run('t', int)", returning("14"))).toMatchObject(ofStr);
    const { message } = await python.problemOf("agent.run('t', complex)", returning(1));
    expect(message).toContain("return_type complex is not supported. Use str, int");
  });

  it("runs cells inside its wait, in the same namespace and with their own output, time and seed", async () => {
    const nested: unknown[] = [];
    const run = async () => {
      const outcome = await python.run(
        "import random\nfor _ in range(9): random.random()\ndef double(n): return 2 * n\nshared = 21\nprint('inner')\nagent_task = None",
        { seed: 5, timeLimitMs: 5_000 },
      );
      nested.push(outcome);
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      return { value: "made" };
    };
    const code =
      "import random\na = random.random()\nprint('before')\nagent('nest')\nprint('after')\n[double(shared), a, random.random()]";
    const outcome = await python.run(code, { run, timeLimitMs: 1_000 });
    const json = [42, expect.anything(), expect.anything()];
    expect(outcome).toMatchObject({ kind: "done", output: "before\nafter\n", value: { json } });
    const definitions = [["double", "def double(n): return 2 * n\n"]];
    const change = { definitions, values: { shared: expect.any(String) } };
    expect(nested).toMatchObject([{ output: "inner\n", change }]);
    const { value } = outcome as { value: { json: unknown } };
    const again = code.replace("agent('nest')", "pass");
    expect(await python.valueOf(again)).toEqual(value.json);
  });

  it("applies what nested cells did before this run of the cell", async () => {
    const definitions = [["triple", "def triple(n): return 3 * n"] as const, ["double", null] as const];
    const change = { definitions, values: { shared: "gAVLKS4=", read_x: null } };
    const run = async () => ({ value: "ok", change });
    expect(await python.valueOf("agent('t')\n[triple(shared), 'double' in globals()]", { run })).toEqual([123, false]);
    const redo: object = { redo: { definitions: [], values: { shared: null } } };
    expect(await python.valueOf("'shared' in globals()", redo)).toBe(false);
  });
});

describe("the folder", () => {
  it("is listed and read when code looks at it, and each file once", async () => {
    python.files.set("notes/a.txt", Buffer.from("hello"));
    python.takeAsked();
    await python.run("1 + 1");
    expect(python.takeAsked()).toEqual([]);
    const code = "import os\n[os.getcwd(), os.listdir('notes'), os.path.getsize('notes/a.txt')]";
    expect(await python.valueOf(code)).toEqual(["/workspace", ["a.txt"], 5]);
    expect(python.takeAsked()).toEqual(["list"]);
    const read = "open('notes/a.txt').read()";
    expect(await python.valueOf(`${read} + ${read}`)).toBe("hellohello");
    expect(await python.valueOf(read.replace("notes", "/tmp/../workspace/notes"))).toBe("hello");
    expect(python.takeAsked()).toEqual(["list", "read notes/a.txt", "list"]);
  });

  it("sends what code changed before a call and at the end, and only then", async () => {
    const seen: string[] = [];
    const call = async () => {
      seen.push(...python.takeAsked());
      python.files.set("from-host.txt", Buffer.from("new"));
      return { value: null, changesFiles: true };
    };
    const code =
      "import os\nopen('b.txt', 'w').write('b')\ntouch()\nos.rename('notes/a.txt', 'moved.txt')\n" +
      "open('b.txt', 'a').write('c')\nopen('from-host.txt').read()";
    expect(await python.valueOf(code, { functions: [cellFunction("touch")], call })).toBe("new");
    expect(seen.filter((one) => one !== "list")).toEqual(["save b.txt"]);
    const changes = python.takeAsked().filter((one) => /^(save|remove)/.test(one));
    expect(changes.sort()).toEqual(["remove notes/a.txt", "save b.txt", "save moved.txt"]);
    expect(python.files.get("b.txt")?.toString()).toBe("bc");
    expect(python.files.get("moved.txt")?.toString()).toBe("hello");
  });

  it("is that of the host again when a save is refused, and the cell says why", async () => {
    const saveFiles = async () => ({ error: { code: "quota", text: "The folder is full." } });
    const message = "The changes were not saved: The folder is full.";
    const problem = await python.problemOf("open('c.txt', 'w').write('c')", { saveFiles });
    expect(problem).toMatchObject({ type: "PermissionError", message });
    const code = "import os\n[os.path.exists('c.txt'), open('b.txt').read()]";
    expect(await python.valueOf(code)).toEqual([false, "bc"]);
    const caught = "try:\n    open('c.txt', 'w').write('c')\n    agent('t')\nexcept OSError as e:\n    r = str(e)\nr";
    expect(await python.valueOf(caught, { saveFiles })).toBe(message);
  });

  it("removes no file of the host whose name is that of an object's member, or of a folder of code", async () => {
    for (const path of ["constructor", "__proto__"]) python.files.set(path, Buffer.from("kept"));
    const call = async () => {
      python.files.set("made", Buffer.from("kept"));
      return { value: null, changesFiles: true };
    };
    const code = "import os\nos.mkdir('made')\ntouch()\nopen('d.txt', 'w').write('d')\nopen('constructor').read()";
    expect(await python.valueOf(code, { functions: [cellFunction("touch")], call })).toBe("kept");
    expect([...python.files.keys()]).toEqual(expect.arrayContaining(["constructor", "__proto__", "made"]));
  });

  it("asks for a file that an incomplete list does not have", async () => {
    python.files.set("far/away.txt", Buffer.from("far"));
    const listFiles = async () => ({ files: [], isComplete: false });
    const read = "import os\n[open('far/away.txt').read(), os.path.exists('far/none.txt')]";
    expect(await python.valueOf(read, { listFiles })).toEqual(["far", false]);
  });

  it("has modules to import, which are imported anew when their file has changed", async () => {
    python.files.set("helper.py", Buffer.from("def shout(): return 'one'"));
    expect(await python.valueOf("import helper\nhelper.shout()")).toBe("one");
    python.files.set("helper.py", Buffer.from("def shout(): return 'two'"));
    expect(await python.valueOf("import helper\nhelper.shout()")).toBe("two");
    const written = "open('other.py', 'w').write('n = 3')\nimport other\nother.n";
    expect(await python.valueOf(written)).toBe(3);
    expect([...python.files.keys()].filter((path) => path.includes("pycache"))).toEqual([]);
  });

  it("has what code wrote to an open file, also before a call", async () => {
    const call = async () => ({ value: python.files.get("open.txt")?.toString(), changesFiles: false });
    const code = "f = open('open.txt', 'w')\nf.write('so far')\nr = touch()\nf.write(' and on')\nr";
    expect(await python.valueOf(code, { functions: [cellFunction("touch")], call })).toBe("so far");
    expect(python.files.get("open.txt")?.toString()).toBe("so far and on");
    expect(await python.run("f.close()")).toMatchObject({ lost: [] });
  });

  it("says why a file cannot be read, and refuses links", async () => {
    const readFile = async () => ({ error: { code: "denied", text: "It is a secret." } });
    python.files.set("secret.txt", Buffer.from("secret"));
    const problem = await python.problemOf("open('secret.txt').read()", { readFile });
    expect(problem).toMatchObject({ type: "PermissionError", message: expect.stringMatching(/: It is a secret\.$/) });
    expect((await python.problemOf("import os\nos.symlink('/etc', 'etc')")).type).toBe("PermissionError");
    expect((await python.problemOf("open('/etc/passwd')")).type).toBe("FileNotFoundError");
    expect((await python.problemOf("open('/lost.txt', 'w')")).type).toBe("PermissionError");
    expect(await python.valueOf("open('/tmp/kept.txt', 'w').write('k')")).toBe(1);
  });

  it("is the working folder of each cell, and of a file that runs", async () => {
    await python.run("import os\nos.chdir('/tmp')");
    expect(await python.valueOf("[os.getcwd(), __file__, __name__]", { name: "plots/a.py" })).toEqual([
      ...["/workspace", "/workspace/plots/a.py", "__main__"],
    ]);
    expect(await python.problemOf("__file__")).toMatchObject({ missingName: "__file__" });
  });
});

it("what is kept is definitions as source and values, and reasons for the rest", async () => {
  const code =
    "import io\nfrom collections import Counter as C\n@staticmethod\ndef deco(): pass\nif True:\n    def inner(): return 1\n" +
    "g = (i for i in [1])\nf = open('b.txt')\nadd = lambda a: a\nmade = (lambda: lambda: 1)()\nholder = [g]\nbig = 'x' * (9 * 2**20)\nc = C('aab')";
  const { saved, lost } = await python.run(code);
  const definitions = new Map(saved?.definitions);
  expect(definitions.get("C")).toBe("from collections import Counter as C");
  expect(definitions.get("inner")).toBe("if True:\n    def inner(): return 1\n");
  expect(definitions.get("add")).toBe("add = lambda a: a");
  expect(saved?.values).toHaveProperty("c");
  expect(Object.fromEntries(lost.map(({ name, reason }) => [name, reason]))).toEqual({
    g: "a generator cannot be kept",
    f: "an open file cannot be kept",
    made: expect.stringContaining("made inside a function"),
    holder: "a list that holds a generator cannot be kept",
    big: "it is too large to be kept: save it in a file",
  });
  await python.run("del g, f, made, holder, big");
});
