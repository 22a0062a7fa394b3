import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { activeFrame, isFinished } from "#core/state.ts";
import { makeLoop } from "../helpers/loop.ts";
import { evaluate, type Piece, programCommand, replyTo } from "../helpers/nested-program.ts";
import { resultOf } from "../helpers/outer-command.ts";
import { cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";
import { cases, someOf } from "../helpers/rounds.ts";

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
