import { describe, expect, it } from "@jest/globals";
import { type ParsedAnswer, parseAnswer } from "#cli/terminal/approve.ts";

const keys = { yes: "y", no: "n" };

describe("the answer to a command that waits", () => {
  it.each<[line: string, answer: ParsedAnswer]>([
    ["y", { kind: "approved", count: 1 }],
    ["Y  \t", { kind: "approved", count: 1 }],
    [" y", { kind: "approved", count: 1 }],
    ["y -1", { kind: "approved", count: 1 }],
    ["y -12", { kind: "approved", count: 12 }],
    ["Y  - 3 ", { kind: "approved", count: 3 }],
    ["y -1000", { kind: "approved", count: 1000 }],
    ["n", { kind: "denied-exit" }],
    ["N ", { kind: "denied-exit" }],
    ["yes please", { kind: "feedback", text: "yes please" }],
    ["yes", { kind: "feedback", text: "yes" }],
    ["no", { kind: "feedback", text: "no" }],
    ["y 5", { kind: "feedback", text: "y 5" }],
    ["y-5", { kind: "feedback", text: "y-5" }],
    ["n -5", { kind: "feedback", text: "n -5" }],
    ["not so fast - write it first", { kind: "feedback", text: "not so fast - write it first" }],
    [" Use Other.txt ", { kind: "feedback", text: "Use Other.txt" }],
    ["漢字", { kind: "feedback", text: "漢字" }],
    ["a\u001b[2Jb", { kind: "feedback", text: "ab" }],
  ])("%j", (line, answer) => {
    expect(parseAnswer(line, keys)).toEqual(answer);
  });

  it.each([
    "",
    "  ",
    "\t",
    "\u001b[A",
    "y -",
    "y -0",
    "y -1001",
    "y --5",
    "y -1.5",
    "y -x",
    "y -1e3",
    "y -99999999999",
  ])("is asked for again after %j, with the reason", (line) => {
    expect(parseAnswer(line, keys)).toEqual({ kind: "again", why: expect.stringContaining("y -N") });
  });

  it("goes by the person's own keys, whatever their case", () => {
    const own = { yes: "Ja", no: "nein" };
    expect(parseAnswer("jA", own)).toEqual({ kind: "approved", count: 1 });
    expect(parseAnswer("ja -2", own)).toEqual({ kind: "approved", count: 2 });
    expect(parseAnswer("NEIN", own)).toEqual({ kind: "denied-exit" });
    expect(parseAnswer("y", own)).toEqual({ kind: "feedback", text: "y" });
    expect(parseAnswer("n", own)).toEqual({ kind: "feedback", text: "n" });
  });
});
