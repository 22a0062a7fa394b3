import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { succeed } from "#core/command.ts";
import type { EventOf } from "#core/event.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { isFinished } from "#core/state.ts";
import { type CellBehaviour, cellValue, createFakeSandbox } from "../helpers/fake-sandbox.ts";
import { done, type Loop, makeLoop, python, reply, testCommand, textArgs, WRITES } from "../helpers/loop.ts";
import { cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";
import { cases, someOf } from "../helpers/waits.ts";

/** An empty file has no text to read: its first line is always there. */
const FIRST: Piece = { kind: "line", id: 100 };

const program = fc.letrec<{ piece: Piece; pieces: Program }>((tie) => ({
  pieces: fc.array(tie("piece"), { maxLength: 3 }),
  piece: fc.oneof(
    { depthSize: "small", maxDepth: 2, withCrossShrink: true },
    fc.record({ kind: fc.constant("line" as const), id: fc.nat(99) }),
    fc.record({ kind: fc.constant("read" as const) }),
    fc.record({
      kind: fc.constant("add" as const),
      name: fc.constantFrom("x", "y"),
      by: fc.integer({ min: 1, max: 9 }),
    }),
    fc.record({
      kind: fc.constant("task" as const),
      form: fc.constantFrom("json" as const, "code" as const),
      cells: fc.array(tie("pieces"), { maxLength: 2 }),
      value: fc.nat(1_000),
    }),
  ) as fc.Arbitrary<Piece>,
})).pieces;
const cells = fc
  .array(program, { minLength: 1, maxLength: 2 })
  .map(([first = [], ...rest]): readonly Program[] => [[FIRST, ...first], ...rest]);
const cut = fc.tuple(fc.integer({ min: 1, max: 16 }), fc.constantFrom<When>("before", "after"));

const run = async (programs: readonly Program[], cuts: readonly (readonly [number, When])[]) => {
  const sandbox = createFakeSandbox(cellBehaviour);
  const loop = await makeLoop({ script: (request) => replyTo(request, programs), sandbox, commands: [note] });
  for (const [at, when] of cuts) {
    await loop.run({ store: cutPowerAt(at, when) }).catch((error: unknown) => expect(error).toBeInstanceOf(PowerCut));
    sandbox.endProcesses();
  }
  return { loop, sandbox, state: await loop.run() };
};

/** Values of the cells of the model, and the names of the last saved namespace. */
async function outcomeOf(loop: Loop) {
  const events = await loop.events();
  const values = events.flatMap((event) =>
    event.type === "command-finished" && /^c\d+$/.test(event.callId) && event.closesTurn !== true
      ? [JSON.parse(String(event.observation.text))]
      : [],
  );
  const saved = events.findLast((event) => event.type === "namespace-saved") as EventOf<"namespace-saved"> | undefined;
  const names = Object.entries(saved?.values ?? {}).map(([name, value]) => [name, JSON.parse(value)] as const);
  return { values, names: Object.fromEntries(names), lines: loop.text("lines.txt") ?? "" };
}

describe("cells with nested calls, sub-tasks and cells in them, interrupted at random commits", () => {
  it("have each effect once, and the values and the namespace of an uninterrupted run", async () => {
    await fc.assert(
      fc.asyncProperty(cells, fc.array(cut, { maxLength: 2 }), async (programs, cuts) => {
        const { loop, state } = await run(programs, cuts);
        expect(isFinished(state)).toBe(true);
        expect(await outcomeOf(loop)).toEqual(evaluate(programs));
        // The next process folds the state from the log.
        expect(await loop.run()).toEqual(state);
      }),
      { numRuns: cases(60) },
    );
  });

  const TASK = (form: "json" | "code", ...cells: readonly Program[]): Piece => ({
    kind: "task",
    form,
    cells,
    value: 7,
  });
  const ADD = (name: string, by: number): Piece => ({ kind: "add", name, by });
  const WHOLE: readonly Program[] = [
    [
      FIRST,
      ADD("x", 1),
      TASK("code", [ADD("x", 10), { kind: "line", id: 1 }]),
      ADD("x", 100),
      TASK(
        "json",
        [{ kind: "read" }, ADD("y", 5), TASK("code", [ADD("y", 50), { kind: "line", id: 2 }]), ADD("y", 500)],
        [ADD("y", 10_000), { kind: "line", id: 3 }, ADD("x", 10_000)],
      ),
      ADD("y", 5_000),
    ],
    [ADD("x", 1_000), { kind: "read" }],
  ];

  it("survive the end of the process at every commit of three levels, and ask the model at most once more", async () => {
    const { loop: whole, sandbox } = await run(WHOLE, []);
    const commits = (await whole.events()).length;
    let repeated = 0;
    const points = someOf(Array.from({ length: Math.floor((commits - 1) / 2) }, (_, index) => 2 * index + 3));
    for (const at of points) {
      const after = await run(WHOLE, [[at, "after"]]);
      expect(await outcomeOf(after.loop)).toEqual(evaluate(WHOLE));
      if (after.sandbox.cells.length > sandbox.cells.length) repeated++;
    }
    expect(repeated).toBeGreaterThan(points.length / 8);
  });
});

// Cells that do what a small program says, nested to any depth, and an oracle for what comes of them.
//
// The code of a cell is the JSON of its pieces. They write lines, read files, change names of the namespace, and give
// sub-tasks, whose model runs a cell of the same namespace.

type Piece =
  /** Appends a line to a file; one with an odd number by a command that calls another. */
  | { readonly kind: "line"; readonly id: number }
  /** Reads the file: the length of its text. */
  | { readonly kind: "read" }
  /** Adds to a name of the namespace. */
  | { readonly kind: "add"; readonly name: string; readonly by: number }
  /** Its model runs all cells, one after the other. In the form `code` it runs the first one, whose value ends the sub-task. */
  | {
      readonly kind: "task";
      readonly form: "json" | "code";
      readonly cells: readonly Program[];
      readonly value: number;
    };
type Program = readonly Piece[];

const FILE = "lines.txt";

const note = testCommand<{ text: string }>(
  "note",
  async ({ text }, { call }) => {
    await call("append_to_file", { file: FILE, text });
    return succeed("Noted.", { value: FILE });
  },
  { args: textArgs("text"), annotations: WRITES, effect: "transactional" },
);

const cellBehaviour: CellBehaviour = async ({ code }, _host, { names, call, run }) => {
  const results: unknown[] = [];
  for (const piece of JSON.parse(code) as Program) {
    switch (piece.kind) {
      case "line": {
        const text = `line ${piece.id}\n`;
        results.push(await (piece.id % 2 ? call("note", { text }) : call("append_to_file", { file: FILE, text })));
        break;
      }
      case "read":
        results.push(String(await call("read_file", { file: FILE })).length);
        break;
      case "add":
        names.set(piece.name, Number(names.get(piece.name) ?? 0) + piece.by);
        results.push(names.get(piece.name));
        break;
      case "task": {
        const { cells, value, form } = piece;
        const returns = { type: form === "code" ? "array" : "integer" };
        results.push(await run(`TASK ${JSON.stringify({ cells, value, form })} END`, returns, form));
      }
    }
  }
  return { value: cellValue(results) };
};

/** The model decides by the prompt alone. */
function replyTo({ messages }: ModelRequest, whole: readonly Program[]): string {
  const contents = messages.map(({ content }) => content);
  const runCode = (pieces: Program): string => reply("run_code", { code: JSON.stringify(pieces) });
  const [, task] = /TASK (.*) END/.exec(contents.at(-1) ?? "") ?? [];
  const own = contents.slice(contents.findLastIndex((content) => content.includes("belong to the larger task")) + 1);
  const ended = own.filter((content) => content.startsWith("Command run_code")).length;
  if (task === undefined) return whole[ended] ? runCode(whole[ended]) : done();
  const { cells, value, form } = JSON.parse(task) as Extract<Piece, { kind: "task" }>;
  if (form === "code") return `I run it.\n\n${python(JSON.stringify(cells[0] ?? []))}`;
  return cells[ended] ? runCode(cells[ended]) : reply("task_complete", { result: value });
}

/** What cells return, the lines that they write, and the names that they leave. */
function evaluate(cells: readonly Program[]) {
  const names = new Map<string, number>();
  let lines = "";
  const evaluatePiece = (piece: Piece): unknown => {
    switch (piece.kind) {
      case "line":
        lines += `line ${piece.id}\n`;
        return FILE;
      case "read":
        return lines.length;
      case "add":
        names.set(piece.name, (names.get(piece.name) ?? 0) + piece.by);
        return names.get(piece.name);
      case "task": {
        if (piece.form === "code") return (piece.cells[0] ?? []).map(evaluatePiece);
        for (const pieces of piece.cells) pieces.map(evaluatePiece);
        return piece.value;
      }
    }
  };
  const values = cells.map((pieces) => pieces.map(evaluatePiece));
  return { values, lines, names: Object.fromEntries(names) };
}
