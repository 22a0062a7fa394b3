import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Command, defineCommand, succeed } from "#core/command.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { activeFrame, isFinished } from "#core/state.ts";
import { makeLoop, reply, resultOf } from "../helpers/loop.ts";
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
