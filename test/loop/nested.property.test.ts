import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Command, defineCommand, succeed } from "#core/command.ts";
import type { EventOf } from "#core/event.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { activeFrame, isFinished } from "#core/state.ts";
import { type CellBehaviour, cellValue, createFakeSandbox } from "../helpers/fake-sandbox.ts";
import { done, type Loop, makeLoop, reply, resultOf } from "../helpers/loop.ts";
import { cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";
import { cases, someOf } from "../helpers/waits.ts";

const piece = fc.letrec<{ piece: Piece; pieces: readonly Piece[] }>((tie) => ({
  pieces: fc.array(tie("piece"), { maxLength: 3 }),
  piece: fc.oneof(
    { depthSize: "small", maxDepth: 2, withCrossShrink: true },
    fc.record({ kind: fc.constant("line" as const), id: fc.nat(99) }),
    fc.record({ kind: fc.constant("program" as const), pieces: tie("pieces") }),
    fc.record({ kind: fc.constant("task" as const), pieces: tie("pieces"), value: fc.nat(1_000) }),
  ) as fc.Arbitrary<Piece>,
})).pieces;

describe("nested work, interrupted at random commits", () => {
  const run = async (pieces: readonly Piece[], cuts: readonly (readonly [number, When])[], effect?: "at-most-once") => {
    const commands = [programCommand(effect)];
    const loop = await makeLoop({ script: (request) => replyTo(request, pieces), commands });
    for (const [at, when] of cuts) await loop.run({ store: cutPowerAt(at, when) }).catch(expectPowerCut);
    return { loop, state: await loop.run() };
  };
  const expectPowerCut = (error: unknown) => expect(error).toBeInstanceOf(PowerCut);
  const cut = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom<When>("before", "after"));

  it("writes every line once, in order, and returns what the oracle returns", async () => {
    await fc.assert(
      fc.asyncProperty(piece, fc.array(cut, { maxLength: 2 }), async (pieces, cuts) => {
        const { loop, state } = await run(pieces, cuts);
        const expected = evaluate(pieces);
        expect(loop.text("lines.txt") ?? "").toBe(expected.lines);
        expect(isFinished(state)).toBe(true);
        expect(state).toMatchObject({ open: [], frames: [{ id: 0 }] });
        if (pieces.length > 0) expect(JSON.parse((await resultOf(loop)).observation.text)).toEqual(expected.value);
      }),
      { numRuns: cases(60) },
    );
  });

  const THREE_LEVELS: readonly Piece[] = [
    { kind: "line", id: 1 },
    {
      kind: "task",
      value: 5,
      pieces: [
        { kind: "line", id: 2 },
        { kind: "program", pieces: [{ kind: "line", id: 3 }] },
      ],
    },
    { kind: "line", id: 4 },
  ];

  it("survives a cut at each commit of a run with three levels, and asks at most once more", async () => {
    const { loop: whole } = await run(THREE_LEVELS, []);
    const commits = (await whole.events()).length;
    let deaths = 0;
    const moments = ["before", "after"] as const;
    const points = someOf(
      Array.from({ length: commits }, (_, at) => moments.map((when) => [at + 1, when] as const)).flat(),
    );
    for (const point of points) {
      const { loop, state } = await run(THREE_LEVELS, [point]);
      expect(loop.text("lines.txt")).toBe(evaluate(THREE_LEVELS).lines);
      expect(isFinished(state)).toBe(true);
      const repeated = loop.model.requests.length - whole.model.requests.length;
      expect(repeated).toBeLessThanOrEqual(1);
      if ((await loop.events()).some(({ type }) => type === "call-interrupted")) deaths++;
    }
    expect(deaths).toBeGreaterThan(points.length / 8);
  });

  it("loses its place in a control run whose command may run only once", async () => {
    const { loop } = await run(THREE_LEVELS, [[9, "after"]], "at-most-once");
    expect(loop.text("lines.txt")).not.toBe(evaluate(THREE_LEVELS).lines);
  });

  it("leaves the same state whether it is folded at once or from the log", async () => {
    const { loop, state } = await run(THREE_LEVELS, [[7, "after"]]);
    const again = await loop.run();
    expect(activeFrame(again)).toEqual(activeFrame(state));
  });
});

// Commands that do what a small program says, nested to any depth, and an oracle for their results.
//
// A program is a list of pieces: a line to write, a program of its own in another command, or a sub-task for the model.

type Piece =
  | { readonly kind: "line"; readonly id: number }
  | { readonly kind: "program"; readonly pieces: readonly Piece[] }
  | { readonly kind: "task"; readonly pieces: readonly Piece[]; readonly value: number };

const RESULT = { type: "integer", minimum: 0 } as const;

/** `program` runs pieces; everything that it does outside goes through nested work, so it may run again. */
const programCommand = (effect: "transactional" | "at-most-once" = "transactional"): Command =>
  defineCommand({
    name: "program",
    label: "Program",
    summary: "does what its pieces say.",
    args: { type: "object", properties: { pieces: { type: "string", description: "JSON" } }, required: ["pieces"] },
    annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
    effect,
    async run({ pieces }, context) {
      const results: unknown[] = [];
      for (const piece of JSON.parse(pieces) as readonly Piece[]) {
        if (piece.kind === "line") {
          const args = { file: "lines.txt", text: `line ${piece.id}\n` };
          results.push((await context.call("append_to_file", args)).status);
        } else if (piece.kind === "program") {
          const { text } = await context.call("program", { pieces: JSON.stringify(piece.pieces) });
          results.push(JSON.parse(String(text)));
        } else {
          results.push(await context.run(taskOf(piece), RESULT));
        }
      }
      return succeed(JSON.stringify(results));
    },
  }) as unknown as Command;

const taskOf = ({ pieces, value }: Extract<Piece, { kind: "task" }>): string =>
  `TASK ${JSON.stringify({ pieces, value })} END`;

/** The model of such a run decides by the prompt alone: it runs the program of its task, and then returns the task's value. */
function replyTo({ messages }: ModelRequest, whole: readonly Piece[]): string {
  const last = messages.at(-1)?.content ?? "";
  const hasResult = messages.some(({ content }) => content.includes("Command program"));
  const task = /TASK (.*) END/.exec(last)?.[1];
  const { pieces, value } = task === undefined ? { pieces: whole, value: 0 } : JSON.parse(task);
  if (!hasResult && pieces.length > 0) return reply("program", { pieces: JSON.stringify(pieces) });
  return task === undefined ? reply("task_complete", { reason: "done" }) : reply("task_complete", { result: value });
}

/** What a program returns, and the lines that it writes, in order. */
function evaluate(pieces: readonly Piece[]): { readonly value: readonly unknown[]; readonly lines: string } {
  const value: unknown[] = [];
  let lines = "";
  for (const piece of pieces) {
    if (piece.kind === "line") {
      lines += `line ${piece.id}\n`;
      value.push("ok");
      continue;
    }
    const inner = evaluate(piece.pieces);
    lines += inner.lines;
    value.push(piece.kind === "task" ? piece.value : inner.value);
  }
  return { value, lines };
}

/** An empty file has no text to read: its first line is always there. */
const FIRST: CellPiece = { kind: "line", id: 100 };

const program = fc.letrec<{ piece: CellPiece; pieces: Program }>((tie) => ({
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
  ) as fc.Arbitrary<CellPiece>,
})).pieces;
const cells = fc
  .array(program, { minLength: 1, maxLength: 2 })
  .map(([first = [], ...rest]): readonly Program[] => [[FIRST, ...first], ...rest]);
const cut = fc.tuple(fc.integer({ min: 1, max: 16 }), fc.constantFrom<When>("before", "after"));

const run = async (programs: readonly Program[], cuts: readonly (readonly [number, When])[]) => {
  const sandbox = createFakeSandbox(cellBehaviour);
  const loop = await makeLoop({ script: (request) => replyToCells(request, programs), sandbox });
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
        expect(await outcomeOf(loop)).toEqual(evaluateCells(programs));
      }),
      { numRuns: cases(60) },
    );
  });

  const TASK = (form: "json" | "code", ...cells: readonly Program[]): CellPiece => ({
    kind: "task",
    form,
    cells,
    value: 7,
  });
  const ADD = (name: string, by: number): CellPiece => ({ kind: "add", name, by });
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

  it("survive the end of the process at every commit of three levels", async () => {
    const { loop: whole, sandbox } = await run(WHOLE, []);
    const commits = (await whole.events()).length;
    let repeated = 0;
    const points = someOf(Array.from({ length: Math.floor((commits - 1) / 2) }, (_, index) => 2 * index + 3));
    for (const at of points) {
      const after = await run(WHOLE, [[at, "after"]]);
      expect(await outcomeOf(after.loop)).toEqual(evaluateCells(WHOLE));
      if (after.sandbox.cells.length > sandbox.cells.length) repeated++;
    }
    expect(repeated).toBeGreaterThan(points.length / 8);
  });
});

// Cells that do what a small program says, nested to any depth, and an oracle for what comes of them.
//
// The code of a cell is the JSON of its pieces. They write lines, read files, change names of the namespace, and give
// sub-tasks, whose model runs a cell of the same namespace.

type CellPiece =
  /** Appends a line to a file. */
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
type Program = readonly CellPiece[];

const FILE = "lines.txt";

const cellBehaviour: CellBehaviour = async ({ code }, _host, { names, call, run }) => {
  const results: unknown[] = [];
  for (const piece of JSON.parse(code) as Program) {
    switch (piece.kind) {
      case "line":
        results.push(await call("append_to_file", { file: FILE, text: `line ${piece.id}\n` }));
        break;
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
function replyToCells({ messages }: ModelRequest, whole: readonly Program[]): string {
  const contents = messages.map(({ content }) => content);
  const runCode = (pieces: Program): string => reply("run_code", { code: JSON.stringify(pieces) });
  const [, task] = /TASK (.*) END/.exec(contents.at(-1) ?? "") ?? [];
  const own = contents.slice(contents.findLastIndex((content) => content.includes("belong to the larger task")) + 1);
  const ended = own.filter((content) => content.startsWith("Command run_code")).length;
  if (task === undefined) return whole[ended] ? runCode(whole[ended]) : done();
  const { cells, value, form } = JSON.parse(task) as Extract<CellPiece, { kind: "task" }>;
  if (form === "code") return `I run it.\n\n\`\`\`python\n${JSON.stringify(cells[0] ?? [])}\n\`\`\``;
  return cells[ended] ? runCode(cells[ended]) : reply("task_complete", { result: value });
}

/** What cells return, the lines that they write, and the names that they leave. */
function evaluateCells(cells: readonly Program[]) {
  const names = new Map<string, number>();
  let lines = "";
  const evaluatePiece = (piece: CellPiece): unknown => {
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
