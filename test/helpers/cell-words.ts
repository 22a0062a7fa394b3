/** cell-words.ts -- the words of the contract suite of sandboxes in Python, and what a fake does for each of them. */
import type { CellWords } from "../contracts/sandbox.ts";
import { type CellBehaviour, CommandError, cellValue, failedCell } from "./fake-sandbox.ts";

export const PYTHON: CellWords = {
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
  failedCell({ type: "NameError", message: `name '${name}' is not defined`, missingName: name });

/** Behaviours of the words. */
export const FAKE_CELLS: Readonly<Record<string, CellBehaviour>> = {
  [PYTHON.setX]: (_cell, _host, { names }) => void names.set("x", 41),
  [PYTHON.setXAndFail]: (_cell, _host, { names }) => {
    names.set("x", 1);
    return failedCell({ message: "boo", line: 2, source: "raise ValueError('boo')" });
  },
  [PYTHON.readX]: (_cell, _host, { names }) =>
    names.has("x") ? { value: cellValue(Number(names.get("x")) + 1) } : missing("x"),
  [PYTHON.defineDouble]: (_cell, _host, { definitions }) =>
    void definitions.set("double", "def double(value):\n    return value * 2"),
  [PYTHON.callDouble]: (_cell, _host, { definitions }) =>
    definitions.has("double") ? { value: cellValue(42) } : missing("double"),
  [PYTHON.print]: (_cell, _host, { print }) => print("hello"),
  [PYTHON.printMuch]: () => ({ output: `${"a".repeat(65_000)}red`, isCut: true }),
  [PYTHON.echo]: async (_cell, _host, { call }) => ({ value: cellValue(await call("echo", { text: "hi" })) }),
  [PYTHON.refuse]: async (_cell, _host, { call }) => void (await call("refuse")),
  [PYTHON.catchRefusal]: async (_cell, _host, { call }) => {
    const error = await call("refuse").catch((reason: unknown) => reason);
    return error instanceof CommandError ? { value: cellValue([error.command.code, error.command.text]) } : {};
  },
  [PYTHON.runCount]: async (_cell, _host, { run }) => ({
    value: cellValue(Number(await run("count", { type: "number" })) + 1),
  }),
  [PYTHON.runNest]: async (_cell, _host, { names, run }) => {
    names.set("x", 1);
    await run("nest", { type: "number" });
    return { value: cellValue(names.get("x")) };
  },
  [PYTHON.useMissing]: () => missing("send_discord"),
  [PYTHON.loopForEver]: ({ timeLimitMs }) =>
    failedCell({ kind: "timeout", message: `The code ran longer than ${timeLimitMs / 1000} s and was stopped.` }),
  [PYTHON.stop]: () => ({ stop: { value: { done: true } } }),
  [PYTHON.readDice]: ({ seed, startedAt }) => ({ value: cellValue([seed / 2 ** 32, Date.parse(startedAt)]) }),
  [PYTHON.setUnkept]: (_cell, _host, { names }) => {
    names.set("x", 41);
    return { lost: [{ name: "g", reason: "a generator cannot be kept" }] };
  },
};
