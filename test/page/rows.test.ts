import { describe, expect, it } from "@jest/globals";
import { createTwoFilesPatch } from "diff";
import { addRange, agentTree, fileTree, firstGap, isNumeric, readCsv, readPatch } from "../../src/page/rows.ts";
import type { Agent, LatestFile } from "../../src/page/types.ts";

describe("rows of a diff", () => {
  const before = "a\nb\nc\n";

  it("have the numbers of both files", () => {
    const rows = readPatch(createTwoFilesPatch("x", "x", before, "a\nB\nc\nd\n"));
    expect(rows.map(({ kind, old, now, text }) => [kind, old, now, text])).toEqual([
      [" ", 1, 1, "a"],
      ["-", 2, null, "b"],
      ["+", null, 2, "B"],
      [" ", 3, 3, "c"],
      ["+", null, 4, "d"],
    ]);
  });

  it("lose no line of the text that is written, whatever it holds", () => {
    const after = "@@ -1 +1 @@\n--- a\n+++ b\n\\ No newline\n\n#\n";
    const rows = readPatch(createTwoFilesPatch("x", "x", before, after));
    const written = rows.filter(({ kind }) => kind === "+" || kind === " ").map(({ text }) => text);
    expect(`${written.join("\n")}\n`).toBe(after);
  });

  it("say where lines are left out, and where the last line has no end", () => {
    const long = Array.from({ length: 40 }, (_, n) => `line ${n}`).join("\n");
    const rows = readPatch(createTwoFilesPatch("x", "x", long, long.replace("line 30", "changed")));
    expect(rows[0]).toMatchObject({ kind: "…", text: "line 27" });
    expect(readPatch(createTwoFilesPatch("x", "x", "", "a")).at(-1)).toMatchObject({ kind: "…" });
  });
});

describe("rows of CSV", () => {
  it("keep quotes, commas and lines inside a cell", () => {
    expect(readCsv('a,b\r\n"1,5","say ""hi""\nto all"\n,\n')).toEqual([
      ["a", "b"],
      ["1,5", 'say "hi"\nto all'],
      ["", ""],
    ]);
  });

  it("know columns of numbers", () => {
    const rows = [
      ["1,240.00", "5 %", "x"],
      ["-3", "", "2"],
    ];
    expect([0, 1, 2].map((column) => isNumeric(rows, column))).toEqual([true, true, false]);
    expect(isNumeric([], 0)).toBe(false);
  });
});

const agent = (id: string, parent: string | null, kind: Agent["standing"]["kind"] = "running"): Agent =>
  ({ id, parent, standing: { kind, cause: "" }, createdAt: id }) as Agent;

describe("rows of trees", () => {
  it("have helpers below their parent, and those without one at the top", () => {
    const agents = [agent("c", "a"), agent("b", null), agent("a", null), agent("d", "gone"), agent("e", "c")];
    expect(agentTree(agents).map(({ agent: { id }, depth }) => `${id}${depth}`)).toEqual([
      "a0",
      "c1",
      "e2",
      "b0",
      "d0",
    ]);
  });

  it("have files by folder, with kept pages last", () => {
    const files = ["pages/x.md", "b.md", "data/a.csv", "a.md"].map((path) => ({ path }) as LatestFile);
    expect(fileTree(files).map(([folder, inside]) => [folder, inside.map(({ path }) => path)])).toEqual([
      ["", ["b.md", "a.md"]],
      ["data", ["data/a.csv"]],
      ["pages", ["pages/x.md"]],
    ]);
  });
});

describe("what of a command was on the screen", () => {
  const see = (...parts: readonly (readonly [number, number])[]) =>
    parts.reduce((ranges, [from, to]) => addRange(ranges, from, to), addRange([], 0, 0));

  it("is the whole once every part was, in any order", () => {
    expect(firstGap(see([0, 400], [390, 800], [800, 1_000]), 1_000)).toBe(1_000);
    expect(firstGap(see([700, 1_000], [0, 300], [300, 700]), 1_000)).toBe(1_000);
  });

  it.each([
    ["the end was not reached", see([0, 400], [300, 900]), 900],
    ["a jump left out the middle", see([0, 400], [600, 1_000]), 400],
    ["only the end was seen", see([600, 1_000]), 0],
    ["nothing was seen", see([500, 400]), 0],
  ])("is not the whole when %s", (_, ranges, gap) => {
    expect(firstGap(ranges, 1_000)).toBe(gap);
  });
});
