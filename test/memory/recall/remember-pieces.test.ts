import { describe, expect, it } from "@jest/globals";
import type { Observation } from "#core/call.ts";
import type { NewEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { isReplacedPiece } from "#core/memory-piece.ts";
import { initialState } from "#core/state.ts";
import { type BlobRef, headOf } from "#core/text.ts";
import { rememberStep } from "#memory/recall/remember.ts";
import { contentOf } from "#memory/recall/row-content.ts";
import type { ReadText } from "#memory/recall/step-lines.ts";
import { asked, created, finished, log, observed, replied, requested } from "../../helpers/events.ts";

const paragraph = (at: number, chars = 300): string =>
  `Paragraph ${at} begins here. ${"It has plain words and ends. ".repeat(20)}`.slice(0, chars).trimEnd();
const paragraphs = (count: number): string =>
  Array.from({ length: count }, (_none, at) => paragraph(at + 1)).join("\n\n");

/** Returns the rows of the last event, after all the others. */
async function rowsOf(events: readonly NewEvent[], read?: ReadText) {
  const recorded = log(created(), asked(), ...events);
  const last = recorded.at(-1) ?? recorded[0];
  if (!last) throw new Error("There is always agent-created.");
  return rememberStep(recorded.slice(0, -1).reduce(evolve, initialState), last, "foo", read);
}
const call = (name: string, args: Record<string, unknown>): NewEvent => ({ ...requested(name), call: { name, args } });
const thinks = (thoughts: Record<string, unknown>): NewEvent => replied(1, JSON.stringify({ thoughts, command: {} }));
const done = (text: string, change: Partial<Observation> = {}): NewEvent => finished(1, observed(text, change));
const piecesOf = async (...events: readonly NewEvent[]) => (await rowsOf(events)).slice(1);

describe("the thoughts of a step", () => {
  it("are in its row, without the sentence for the onlooker", async () => {
    const thoughts = {
      text: "The gate opens at nine.",
      reasoning: "The sign says so.",
      plan: "- go",
      criticism: "none",
    };
    const events = [thinks({ ...thoughts, speak: "Going on." }), requested("do_nothing"), done("Nothing was done.")];
    const [row] = await rowsOf(events);
    expect(row?.text).toContain("Thought: The gate opens at nine. The sign says so. - go none\n");
    expect(row?.text).not.toContain("Going on.");
  });

  it("are the line of the call when the reply has no others", async () => {
    expect((await rowsOf([thinks({ speak: "Hi." }), requested(), done("")]))[0]?.text).toContain("I write it down.");
    expect((await rowsOf([replied(1, "no JSON"), requested(), done("")]))[0]?.text).toContain("I write it down.");
  });

  it("are read in prose, and up to the fault in JSON that is not valid", async () => {
    const broken = '{"thoughts": {"text": "The depot is in Graz.", "reasoning": "It} was" said';
    expect((await rowsOf([replied(1, broken), requested(), done("")]))[0]?.text).toContain("The depot is in Graz.");
  });

  it("become pieces of the agent's own words when they are long", async () => {
    const events = [
      thinks({ text: paragraphs(4) }),
      requested("do_nothing"),
      done("Nothing was done.", { source: "web" }),
    ];
    const pieces = await piecesOf(...events);
    expect(pieces.map(({ text }) => text.split("\n")[0])).toEqual([
      ...["thoughts, piece 1 of 4:", "thoughts, piece 2 of 4:", "thoughts, piece 3 of 4:", "thoughts, piece 4 of 4:"],
    ]);
    expect(new Set(pieces.map(({ trust }) => trust))).toEqual(new Set(["agent"]));
    expect(pieces.every(({ outside }) => outside === undefined)).toBe(true);
  });

  it("of several calls of one reply are those of the first", async () => {
    const further = { ...requested("do_nothing"), callId: "c1-2", thought: "The second call." } as NewEvent;
    const end = { ...finished(1, observed("Nothing was done.")), callId: "c1-2" } as NewEvent;
    const [row] = await rowsOf([thinks({ text: "First." }), requested("read_file"), further, end]);
    expect(row?.text).toMatch(/^Thought: The second call\./);
  });
});

describe("a long text of a step", () => {
  const page = (text: string, change = {}) => [
    ...[replied(), call("browse_website", { url: "https://a.example/x", question: "When?" })],
    done(text, { source: "web", outside: [{ from: "web", name: "a.example" }], ...change }),
  ];

  it("has a short head in the row of the step, and pieces with its step, place and source", async () => {
    const [row, ...pieces] = await rowsOf(page(paragraphs(5)));
    expect(row?.text.length).toBeLessThan(500);
    const shared = { kind: "piece", step: 1, seq: row?.seq, namespace: "foo", importance: 0.4, trust: "web" };
    const outside = [{ from: "web", name: "a.example" }];
    for (const piece of pieces) {
      expect(piece).toMatchObject({ ...shared, outside, source: "https://a.example/x, asked: When?" });
      expect(piece.text.length).toBeLessThan(600);
    }
    expect(pieces.map(({ text }) => /Paragraph \d/.exec(text)?.[0])).toEqual(
      [1, 2, 3, 4, 5].map((at) => `Paragraph ${at}`),
    );
  });

  it("has no pieces when the row of the step holds it", async () => {
    expect(await piecesOf(...page("It opens at nine."))).toEqual([]);
  });

  it("is cut between lines, so that no row of a table and no line of code is cut", async () => {
    const lines = Array.from({ length: 60 }, (_none, at) => `| row ${at} | ${"x".repeat(at % 7 === 0 ? 330 : 40)} |`);
    const head = `table.md, lines 1 to 60 of 60:\n`;
    const pieces = await piecesOf(replied(), call("read_file", { file: "table.md" }), done(head + lines.join("\n")));
    const kept = new Set(pieces.flatMap(({ text }) => text.split("\n").slice(1)));
    expect(lines.filter((line) => !kept.has(line))).toEqual([]);
  });

  it("has the lines of its file as places", async () => {
    const text = Array.from({ length: 40 }, (_none, at) => `line ${at + 11} ${"y".repeat(40)}`).join("\n");
    const events = [
      replied(),
      call("read_file", { file: "a.txt" }),
      done(`a.txt, lines 11 to 50 of 90:\n${text}\n[Read on with first_line 51.]`),
    ];
    const [row, ...pieces] = await rowsOf(events);
    expect(row).toMatchObject({
      source: "a.txt",
      replaces: { source: "a.txt", lines: { first: 11, last: 50, all: 90 } },
    });
    for (const { text: piece } of pieces) {
      const [, first, last] = /^a\.txt, lines (\d+) to (\d+) of 90:\n/.exec(piece) ?? [];
      expect(piece.split("\n")[1]).toMatch(`line ${first} `);
      expect(piece.split("\n").at(-1)).toMatch(`line ${last} `);
    }
    expect(pieces.at(-1)?.text).not.toContain("Read on");
  });

  it("has at most 40 pieces, of its beginning and its end", async () => {
    const pieces = await piecesOf(
      ...[
        replied(),
        call("write_to_file", { file: "a.txt", text: paragraphs(900) }),
        done("Wrote a.txt.", { artifacts: ["a.txt"] }),
      ],
    );
    expect(pieces).toHaveLength(40);
    expect(pieces[0]?.text).toContain("Paragraph 1 ");
    expect(pieces.at(-1)?.text).toContain("Paragraph 900 ");
  });

  it("shares the pieces of a step with the other long texts", async () => {
    const code = { code: paragraphs(200) };
    const pieces = await piecesOf(thinks({ text: paragraphs(6) }), call("run_code", code), done(paragraphs(60)));
    const count = (start: string): number => pieces.filter(({ source }) => source?.startsWith(start)).length;
    expect([count("thoughts"), count("run_code code"), count("run_code {")]).toEqual([6, 17, 17]);
  });

  it("is read whole from its blob, and its beginning when the blob is lost", async () => {
    const blob = (text: string): BlobRef => ({ blob: "0".repeat(64), bytes: text.length, head: text.slice(0, 900) });
    const whole = paragraphs(30);
    const events = [replied(), call("write_to_file", { file: "a.txt", text: blob(whole) }), done("Wrote a.txt.")];
    const found = async (read: ReadText) =>
      (await rowsOf(events, read)).some(({ text }) => text.includes("Paragraph 30 "));
    expect(await found(async (text) => (typeof text === "string" ? text : whole))).toBe(true);
    expect(await found(async (text) => headOf(text))).toBe(false);
    const lost = await rowsOf(events, async (text) =>
      typeof text === "string" ? text : Promise.reject(new Error("lost")),
    );
    expect(lost[1]?.text).toContain("Paragraph 1 ");
  });

  it("of the same source and words has the same key at another place", async () => {
    const read = (text: string) => piecesOf(replied(), call("read_file", { file: "a.txt" }), done(text));
    const keys = (pieces: Awaited<ReturnType<typeof read>>) => new Set(pieces.map(({ key }) => key));
    const before = await read(`a.txt, lines 1 to 9 of 9:\n${paragraphs(5)}`);
    const after = await read(`a.txt, lines 1 to 11 of 11:\n${"New. ".repeat(90)}\n\n${paragraphs(5)}`);
    expect(keys(before).isSubsetOf(keys(after))).toBe(true);
    expect(keys(await read(`b.txt, lines 1 to 9 of 9:\n${paragraphs(5)}`)).isDisjointFrom(keys(before))).toBe(true);
  });
});

describe("a newer text of a file", () => {
  const old = "a.txt, lines 20 to 30 of 90:\nOld words.";
  it.each<[title: string, lines: Parameters<typeof isReplacedPiece>[1], isReplaced: boolean]>([
    ["the whole file", undefined, true],
    ["the same lines", { first: 25, last: 60, all: 90 }, true],
    ["other lines", { first: 31, last: 60, all: 90 }, false],
    ["other lines of a file that became shorter", { first: 1, last: 9, all: 19 }, true],
  ])("that has %s", (_title, lines, isReplaced) => {
    expect(isReplacedPiece(old, lines)).toBe(isReplaced);
  });

  it("comes from reading and writing it whole, not from adding to it", async () => {
    const written = async (name: string, args: object, text: string) =>
      (await rowsOf([replied(), call(name, { file: "a.txt", ...args }), done(text, { artifacts: ["a.txt"] })]))[0];
    expect(await written("write_to_file", { text: "new" }, "Wrote a.txt.")).toMatchObject({
      replaces: { source: "a.txt" },
    });
    expect(await written("append_to_file", { text: "new" }, "Added.")).not.toHaveProperty("replaces");
    const failed = [replied(), call("write_to_file", { file: "a.txt", text: "new" }), done("", { status: "failed" })];
    expect((await rowsOf(failed))[0]).not.toHaveProperty("replaces");
  });
});

describe("the content of a row", () => {
  it("has no confirmation of a command, and no place of a piece", () => {
    const row =
      "Thought: I note it.\nCommand: append_to_file {}\nDone: Added 23 bytes to the end of notes.md.\nFiles: notes.md";
    const content = contentOf({ kind: "step", text: row });
    expect(content).toBe("Thought: I note it.\nCommand: append_to_file {}\nFiles: notes.md");
    expect(contentOf({ kind: "piece", text: "notes.md, lines 1 to 9 of 30:\nWords." })).toBe("notes.md\nWords.");
    expect(contentOf({ kind: "piece", text: "thoughts, piece 1 of 2:\nWords." })).toBe("Words.");
  });

  it("of a person's words is the whole text", () => {
    const text = "Ada said: Please do this.\nDone: the first part.";
    expect(contentOf({ kind: "step", text })).toBe(text);
    expect(contentOf({ kind: "note", text: "Done: all" })).toBe("Done: all");
  });
});
