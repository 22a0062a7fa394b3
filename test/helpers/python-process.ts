/** python-process.ts -- one process that runs cells of Python, with a host in memory. */
import { probeCage } from "#cage/find-cage.ts";
import type { Cell, CellBridge, CellFunction, CellOutcome, CellProblem, SavedNamespace } from "#core/ports/sandbox.ts";
import { CellProcess } from "#sandbox/cell-process.ts";
import { type CellBehaviour, CommandError, cellOf, cellValue, failedCell } from "./fake-sandbox.ts";

type Level = NonNullable<Parameters<typeof probeCage>[0]>["atMost"];
interface ProcessOptions {
  readonly snapshot?: string | null;
  readonly atMost?: Level;
  readonly memoryMegabytes?: number;
}

/** What a test says of its cell and its host, beyond the code. */
export interface CellOptions extends Partial<Omit<Cell, "saved">>, Partial<CellBridge> {}

export class PythonProcess implements AsyncDisposable {
  readonly #process: CellProcess;
  /** The folder of the agent. */
  readonly files = new Map<string, Buffer>();
  /** What was asked of the host, such as `read a.txt`. */
  readonly asked: string[] = [];
  #cells = 0;

  static async start({ atMost = "strict", snapshot = null, memoryMegabytes = 256 }: ProcessOptions = {}) {
    const cage = await probeCage({ atMost });
    return new PythonProcess(new CellProcess(cage, { memoryMegabytes, snapshot }));
  }

  constructor(process: CellProcess) {
    this.#process = process;
  }

  get isGone(): boolean {
    return this.#process.isGone;
  }

  /** `saved`: loaded by the first cell of the process. */
  async run(code: string, options: CellOptions = {}, saved: SavedNamespace | null = null): Promise<CellOutcome> {
    const number = ++this.#cells;
    const { call, run, listFiles, readFile, saveFiles, show, ...rest } = options;
    const cell = cellOf(code, { name: `cell c${number}`, version: `c${number}.1`, saved, ...rest });
    const given = Object.fromEntries(
      Object.entries({ call, run, listFiles, readFile, saveFiles, show }).filter(([, method]) => method !== undefined),
    );
    const host = { ...this.#host(), ...given };
    return this.#process.run(cell, host, new AbortController().signal, number === 1);
  }

  /** The JSON of the value of code that must end well. */
  async valueOf(...given: Parameters<PythonProcess["run"]>): Promise<unknown> {
    const outcome = await this.run(...given);
    if (outcome.kind === "failed") throw new Error(`${outcome.problem.type}: ${outcome.problem.message}`);
    return outcome.value?.json;
  }

  async problemOf(...given: Parameters<PythonProcess["run"]>): Promise<CellProblem> {
    const outcome = await this.run(...given);
    if (outcome.kind !== "failed") throw new Error(`Expected a failure, not ${outcome.value?.text}.`);
    return outcome.problem;
  }

  /** What was asked of the host since the last call. */
  takeAsked(): readonly string[] {
    return this.asked.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill({ kind: "died", type: "Closed", message: "", line: null, source: null });
    await this.#process.ended;
  }

  #host(): CellBridge {
    return {
      call: async (name) => ({ error: { code: "unknown-command", text: `No ${name}.` }, changesFiles: false }),
      run: async () => ({ error: { code: "no-model", text: "There is no model." } }),
      listFiles: async () => {
        this.asked.push("list");
        const files = [...this.files].map(([path, content]) => ({
          path,
          bytes: content.byteLength,
          stamp: `${content.toString("latin1").slice(0, 100)} ${content.byteLength}`,
        }));
        return { files, isComplete: true };
      },
      readFile: async (path) => {
        this.asked.push(`read ${path}`);
        const value = this.files.get(path);
        return value ? { value } : { error: { code: "file-missing", text: `There is no file ${path}.` } };
      },
      saveFiles: async (changes) => {
        for (const { path, bytes } of changes) {
          this.asked.push(bytes ? `save ${path}` : `remove ${path}`);
          if (bytes) this.files.set(path, Buffer.from(bytes));
          else this.files.delete(path);
        }
        return { value: null };
      },
    };
  }
}

/** A function for code, whose parameters are required unless their name ends with `?`. */
export function cellFunction(name: string, ...names: readonly string[]): CellFunction {
  const parameters = names.map((one) => ({ name: one.replace("?", ""), isRequired: !one.endsWith("?") }));
  const words = parameters.map((one) => `${one.name}: str${one.isRequired ? "" : " = None"}`);
  return { name, parameters, signature: `${name}(${words.join(", ")}) -> str`, doc: `Does ${name}.` };
}

// The cells of the contract suite of sandboxes, and what a fake does for each of them.

export const PYTHON = {
  setX: "x = 41",
  setXAndFail: "x = 1\nraise ValueError('boo')\nx = 3",
  readX: "x + 1",
  defineDouble: "def double(value):\n    return value * 2",
  callDouble: "double(21)",
  print: "print('hello')",
  echo: "echo(text='hi')",
  refuse: "refuse()",
  catchRefusal: "try:\n    refuse()\nexcept CommandError as error:\n    seen = [error.code, error.text]\nseen",
  runCount: "agent.run('count', float) + 1",
  runNest: "x = 1\nagent.run('nest', int)\nx",
  stop: "stop({'done': True})",
};

const missing = (name: string) =>
  failedCell({ type: "NameError", message: `name '${name}' is not defined`, missingName: name });

/** Behaviours of the cells. */
export const FAKE_CELLS: Readonly<Record<string, CellBehaviour>> = {
  [PYTHON.setX]: (_cell, _host, { names }) => void names.set("x", 41),
  [PYTHON.setXAndFail]: (_cell, _host, { names }) => {
    names.set("x", 1);
    return failedCell({});
  },
  [PYTHON.readX]: (_cell, _host, { names }) =>
    names.has("x") ? { value: cellValue(Number(names.get("x")) + 1) } : missing("x"),
  [PYTHON.defineDouble]: (_cell, _host, { definitions }) =>
    void definitions.set("double", "def double(value):\n    return value * 2"),
  [PYTHON.callDouble]: (_cell, _host, { definitions }) =>
    definitions.has("double") ? { value: cellValue(42) } : missing("double"),
  [PYTHON.print]: (_cell, _host, { print }) => print("hello"),
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
  [PYTHON.stop]: () => ({ stop: { value: { done: true } } }),
};
