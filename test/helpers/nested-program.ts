/**
 * nested-program.ts -- commands that do what a small program says, nested to any depth, and an oracle for their results.
 *
 * A program is a list of pieces: a line to write, a program of its own in another command, or a sub-task for the model.
 */
import { type Command, defineCommand, succeed } from "#core/command.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { reply } from "./loop.ts";

export type Piece =
  | { readonly kind: "line"; readonly id: number }
  | { readonly kind: "program"; readonly pieces: readonly Piece[] }
  | { readonly kind: "task"; readonly pieces: readonly Piece[]; readonly value: number };

const RESULT = { type: "integer", minimum: 0 } as const;

/** `program` runs pieces; everything that it does outside goes through nested work, so it may run again. */
export const programCommand = (effect: "transactional" | "at-most-once" = "transactional"): Command =>
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
export function replyTo({ messages }: ModelRequest, whole: readonly Piece[]): string {
  const last = messages.at(-1)?.content ?? "";
  const hasResult = messages.some(({ content }) => content.includes("Command program"));
  const task = /TASK (.*) END/.exec(last)?.[1];
  const { pieces, value } = task === undefined ? { pieces: whole, value: 0 } : JSON.parse(task);
  if (!hasResult && pieces.length > 0) return reply("program", { pieces: JSON.stringify(pieces) });
  return task === undefined ? reply("task_complete", { reason: "done" }) : reply("task_complete", { result: value });
}

/** What a program returns, and the lines that it writes, in order. */
export function evaluate(pieces: readonly Piece[]): { readonly value: readonly unknown[]; readonly lines: string } {
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
