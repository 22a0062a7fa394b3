/**
 * cell-program.ts -- cells that do what a small program says, nested to any depth, and an oracle for what comes of them.
 *
 * The code of a cell is the JSON of its pieces. They write lines, read files, change names of the namespace, and give
 * sub-tasks, whose model runs a cell of the same namespace.
 */
import type { ModelRequest } from "#core/ports/model.ts";
import { type CellBehaviour, cellValue } from "./fake-sandbox.ts";
import { done, reply } from "./loop.ts";

export type Piece =
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
export type Program = readonly Piece[];

const FILE = "lines.txt";

export const cellBehaviour: CellBehaviour = async ({ code }, _host, { names, call, run }) => {
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
export function replyToCells({ messages }: ModelRequest, whole: readonly Program[]): string {
  const contents = messages.map(({ content }) => content);
  const runCode = (pieces: Program): string => reply("run_code", { code: JSON.stringify(pieces) });
  const [, task] = /TASK (.*) END/.exec(contents.at(-1) ?? "") ?? [];
  const own = contents.slice(contents.findLastIndex((content) => content.includes("belong to the larger task")) + 1);
  const ended = own.filter((content) => content.startsWith("Command run_code")).length;
  if (task === undefined) return whole[ended] ? runCode(whole[ended]) : done();
  const { cells, value, form } = JSON.parse(task) as Extract<Piece, { kind: "task" }>;
  if (form === "code") return `I run it.\n\n\`\`\`python\n${JSON.stringify(cells[0] ?? [])}\n\`\`\``;
  return cells[ended] ? runCode(cells[ended]) : reply("task_complete", { result: value });
}

/** What cells return, the lines that they write, and the names that they leave. */
export function evaluateCells(cells: readonly Program[]) {
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
