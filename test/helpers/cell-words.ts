/** cell-words.ts -- the contract suite of sandboxes in JavaScript and in Python, and what a fake does for each JavaScript code. */
import type { CellWords } from "../contracts/sandbox.ts";
import { type CellBehaviour, CommandError, cellValue, failedCell } from "./fake-sandbox.ts";

export const JAVASCRIPT: CellWords = {
  language: "javascript",
  setX: "const x = 41",
  setXAndFail: 'let x = 1;\nthrow new Error("boo");\nx = 3;',
  readX: "x + 1",
  defineDouble: "const double = (value) => value * 2;",
  callDouble: "double(21)",
  print: 'console.log("hello")',
  printMuch: 'console.log("a".repeat(100_000) + "\\u001b[31mred\\u001b[0m")',
  echo: 'echo({ text: "hi" })',
  refuse: "refuse()",
  catchRefusal: "try {\n  refuse();\n} catch (error) {\n  [error.code, error.text];\n}",
  runCount: 'agent.run("count", { returnType: Number }) + 1',
  runNest: 'let x = 1; agent.run("nest", { returnType: Number }); x',
  useMissing: 'send_discord("hi")',
  loopForEver: "while (true) {}",
  stop: "stop({ done: true })",
  readDice: "[Math.random(), Date.now()]",
  setUnkept: "const x = 41; const g = (function* () { yield 1 })()",
};

export const PYTHON: CellWords = {
  language: "python",
  setX: "x = 41",
  setXAndFail: "x = 1\nraise ValueError('boo')\nx = 3",
  readX: "x + 1",
  defineDouble: "def double(value):\n    return value * 2",
  callDouble: "double(21)",
  print: "print('hello')",
  printMuch: "print('a' * 100_000 + '\\x1b[31mred\\x1b[0m')",
  echo: "echo(text='hi')",
  refuse: "refuse()",
  catchRefusal: "try:\n    refuse()\nexcept CommandError as error:\n    seen = [error.code, error.text]\nseen",
  runCount: "agent.run('count', float) + 1",
  runNest: "x = 1\nagent.run('nest', int)\nx",
  useMissing: "send_discord('hi')",
  loopForEver: "while True: pass",
  stop: "stop({'done': True})",
  readDice: "import random, time\n[random.random(), int(time.time() * 1000)]",
  setUnkept: "x = 41\ng = (value for value in [1])",
};

const missing = (name: string) =>
  failedCell({ type: "ReferenceError", message: `'${name}' is not defined`, missingName: name });

/** Behaviours of the JavaScript words. */
export const FAKE_CELLS: Readonly<Record<string, CellBehaviour>> = {
  [JAVASCRIPT.setX]: (_cell, _host, { names }) => void names.set("x", 41),
  [JAVASCRIPT.setXAndFail]: (_cell, _host, { names }) => {
    names.set("x", 1);
    return failedCell({ message: "boo", line: 2, source: 'throw new Error("boo");' });
  },
  [JAVASCRIPT.readX]: (_cell, _host, { names }) =>
    names.has("x") ? { value: cellValue(Number(names.get("x")) + 1) } : missing("x"),
  [JAVASCRIPT.defineDouble]: (_cell, _host, { definitions }) => void definitions.set("double", "(value) => value * 2"),
  [JAVASCRIPT.callDouble]: (_cell, _host, { definitions }) =>
    definitions.has("double") ? { value: cellValue(42) } : missing("double"),
  [JAVASCRIPT.print]: (_cell, _host, { print }) => print("hello"),
  [JAVASCRIPT.printMuch]: () => ({ output: `${"a".repeat(65_000)}red`, isCut: true }),
  [JAVASCRIPT.echo]: async (_cell, _host, { call }) => ({ value: cellValue(await call("echo", { text: "hi" })) }),
  [JAVASCRIPT.refuse]: async (_cell, _host, { call }) => void (await call("refuse")),
  [JAVASCRIPT.catchRefusal]: async (_cell, _host, { call }) => {
    const error = await call("refuse").catch((reason: unknown) => reason);
    return error instanceof CommandError ? { value: cellValue([error.command.code, error.command.text]) } : {};
  },
  [JAVASCRIPT.runCount]: async (_cell, _host, { run }) => ({
    value: cellValue(Number(await run("count", { type: "number" })) + 1),
  }),
  [JAVASCRIPT.runNest]: async (_cell, _host, { names, run }) => {
    names.set("x", 1);
    await run("nest", { type: "number" });
    return { value: cellValue(names.get("x")) };
  },
  [JAVASCRIPT.useMissing]: () => missing("send_discord"),
  [JAVASCRIPT.loopForEver]: ({ timeLimitMs }) =>
    failedCell({ kind: "timeout", message: `The code ran longer than ${timeLimitMs / 1000} s and was stopped.` }),
  [JAVASCRIPT.stop]: () => ({ stop: { value: { done: true } } }),
  [JAVASCRIPT.readDice]: ({ seed, startedAt }) => ({ value: cellValue([seed / 2 ** 32, Date.parse(startedAt)]) }),
  [JAVASCRIPT.setUnkept]: (_cell, _host, { names }) => {
    names.set("x", 41);
    return { lost: [{ name: "g", reason: "a generator cannot be kept" }] };
  },
};
