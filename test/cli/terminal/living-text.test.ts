import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createLiveReader } from "#api/event-stream.ts";
import { describeNow, endOf, type LivingFacts } from "#cli/living-line.ts";
import { fitLine, LivingText, STYLE, widthOf, wrapText } from "#cli/terminal/living-text.ts";
import { paint } from "#cli/terminal/print.ts";
import { createShowRun } from "#cli/terminal/show-run.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { createLiveThoughts } from "#reply/thoughts.ts";
import * as given from "../../helpers/events.ts";
import { screenOf } from "../../helpers/screen.ts";

const FRAMES = ["⠋ asking gpt-4.1 · 1 s", "⠙ asking gpt-4.1 · 2 s", "⠹ asking gpt-4.1 · 3 s"];

/** Writes the pieces with a line below that changes after each of them, and returns what then stands above it. */
function written(pieces: readonly string[], columns: number): string {
  const text = new LivingText(() => columns);
  let output = text.show([FRAMES[0] ?? "", "> typed"]);
  for (const [index, piece] of pieces.entries()) {
    output += text.write(piece);
    output += text.show([fitLine(FRAMES[index % FRAMES.length] ?? "", columns - 1), "> typed"]);
  }
  return screenOf(output + text.show([]), columns);
}

/** Cuts a text at these places. */
const cutAt = (text: string, places: readonly number[]): readonly string[] => {
  const ends = [...new Set(places.map((place) => place % (text.length + 1))), text.length].sort((a, b) => a - b);
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
};
const word = fc.stringMatching(/^[a-zA-Z0-9é漢字,.-]{1,40}$/);
const blank = fc.constantFrom(" ", " ", " ", "\n", "\n  ");
const prose = fc.array(fc.tuple(word, blank), { minLength: 1, maxLength: 60 }).map((parts) => parts.flat().join(""));
const columns = fc.integer({ min: 20, max: 130 });

describe("text above lines that change", () => {
  it("is the same for any pieces of whole words, and has the lines nowhere", () => {
    fc.assert(
      fc.property(prose, columns, (text, width) => {
        const words = text.split(/(?<=\s)(?=\S)/);
        expect(written(words, width)).toBe(written([text], width));
        expect(written(words, width)).not.toMatch(/asking|> typed/);
      }),
      { numRuns: 60 },
    );
  });

  it("has each character once, wherever the pieces are cut", () => {
    fc.assert(
      fc.property(prose, columns, fc.array(fc.nat(), { maxLength: 40 }), (text, width, places) => {
        expect(written(cutAt(text, places), width).replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
      }),
      { numRuns: 60 },
    );
  });

  it("breaks between words and keeps its indentation", () => {
    expect(written(["Thoughts: I take the smallest step that brings the work forward.\n"], 40)).toBe(
      "Thoughts: I take the smallest step that\n  brings the work forward.\n",
    );
    expect(written(["    | a line of code that is longer than this\n"], 30)).toBe(
      "    | a line of code that is\n      longer than this\n",
    );
  });

  it("keeps a name whole that one row can hold, and begins a longer one where it is", () => {
    const id = "a-planner-of-meals-for-the-week";
    expect(wrapText(`Next:       Watch it: goald attach ${id}`, 38, 12)).toBe(
      `Next:       Watch it: goald attach\n      ${id}`,
    );
    expect(wrapText(`  file: ${"x".repeat(40)}`, 32)).toBe(`  file: ${"x".repeat(23)}\n    ${"x".repeat(17)}`);
    // The rows of a label's value stand below it, also those of a further line of it.
    expect(wrapText(`model  a key is set\n       for another server than this one`, 26, 7)).toBe(
      "model  a key is set\n       for another server\n       than this one",
    );
    // Styles take no cells, and are never broken.
    const styled = `\u001b[36m${"x".repeat(40)}\u001b[39m`;
    expect(wrapText(styled, 32)).toBe(`\u001b[36m${"x".repeat(31)}\n  ${"x".repeat(9)}\u001b[39m`);
  });

  it("is left as it is on a terminal that tells no width", () => {
    const text = `${"word ".repeat(100)}end\n`;
    expect(written([text], Number.POSITIVE_INFINITY)).toBe(text);
  });
});

it("cuts a line to any width without a style that goes on behind it", () => {
  const line = `${paint(true, "green", "running")}  ${paint(true, "red", "waiting: 待つ")}  12`;
  for (let columns = 1; columns < widthOf(line); columns++) {
    const cut = fitLine(line, columns);
    expect(widthOf(cut)).toBeLessThanOrEqual(columns);
    expect(cut.split(STYLE).filter((part) => STYLE.test(part))).toEqual(line.match(new RegExp(STYLE, "g")));
  }
});

describe("a line that is printed while another one grows", () => {
  const growing = (text: LivingText): string =>
    text.show([FRAMES[0] ?? ""]) +
    text.write("Criticism: I should") +
    text.writeLine("Kept for the next step: be brief");

  it("is shown below it at once, and takes its place when that one has ended", () => {
    const text = new LivingText(() => 60);
    let output = growing(text);
    expect(screenOf(output, 60)).toBe(`Criticism: I should\nKept for the next step: be brief\n${FRAMES[0]}`);
    output += text.write(" keep it") + text.write(" short.\n") + text.write("Says: Yes.\n") + text.end();
    expect(screenOf(output, 60)).toBe(
      "Criticism: I should keep it short.\nKept for the next step: be brief\nSays: Yes.\n",
    );
  });

  it("is not lost when that one never ends, and never breaks into it, wherever the pieces are cut", () => {
    const text = new LivingText(() => 60);
    expect(screenOf(growing(text) + text.end(), 60)).toBe("Criticism: I should\nKept for the next step: be brief\n");
    fc.assert(
      fc.property(prose, columns, fc.array(fc.nat(), { maxLength: 20 }), fc.nat(20), (whole, width, places, when) => {
        const living = new LivingText(() => width);
        let output = living.show(["below"]);
        for (const [at, piece] of cutAt(whole, places).entries())
          output += (at === when ? living.writeLine("KEPT") : "") + living.write(piece);
        const rows = screenOf(output + living.end(), width).split("\n");
        expect(rows.filter((row) => row.includes("KEPT")).every((row) => row === "KEPT")).toBe(true);
        expect(rows.join("").replace("KEPT", "").replace(/\s/g, "")).toBe(whole.replace(/\s/g, ""));
      }),
      { numRuns: 60 },
    );
  });
});

it("a terminal that becomes narrower has nothing left of a line that it has broken", () => {
  let width = 60;
  const text = new LivingText(() => width);
  text.write("above\n");
  text.show(["x".repeat(59)]);
  width = 30;
  // The terminal has broken the line into two rows.
  const broken = `above\n${"x".repeat(30)}\n${"x".repeat(29)}`;
  expect(screenOf(broken + text.show(["short"]), 30)).toBe("above\nshort");
});

describe("a reply", () => {
  const thoughts = {
    text: "I look at what is in my folder before I take the smallest step that brings the work forward.",
    reasoning: "It is next.\nNothing else is known yet.",
    plan: "- read what is there, from the first line to the last one\n- write the file\n- check it",
    criticism: `I should keep it short${" and not repeat myself".repeat(180)}.`,
    speak: "Looking.",
  };
  const command = { name: "search_files", args: { directory: ".", text: "plan" } };

  /** The screen after a reply that arrives in pieces of these sizes, again and again; without any it is there at once. */
  function screenAfter(sizes: readonly number[], width: number): string {
    const text = new LivingText(() => width);
    let output = "";
    const write = (more: string): void => {
      output += text.write(more) + text.show([FRAMES[more.length % FRAMES.length] ?? ""]);
    };
    const redact = (given_: string): string => given_;
    const live = { live: { write, redact, createScanner: createLiveThoughts } };
    const show = createShowRun({
      print: (line) => write(`${line}\n`),
      colour: true,
      thoughtsOf: () => thoughts,
      ...(sizes.length > 0 ? live : {}),
    });
    const see = (...events: readonly NewEvent[]): void => {
      for (const event of given.log(...events)) show(event as RecordedEvent);
    };
    see(given.asked(1));
    const reply = JSON.stringify({ thoughts, command });
    const nextPiece = createLiveReader(redact);
    for (let [end, at] = [0, 0]; sizes.length > 0 && end < reply.length; at++) {
      end += sizes[at % sizes.length] ?? 1;
      show.onText?.(nextPiece({ seq: 1, text: reply.slice(0, end) })?.text ?? "");
    }
    see(given.replied(1, "{}"), given.requested(command.name, 1, command.args));
    return screenOf(output + text.show([]), width);
  }

  it.each([40, 60, 100, 200])("looks the same live and reprinted, in pieces of any size, at %i columns", (width) => {
    const reprinted = screenAfter([], width);
    expect(reprinted.split("\n").filter((line) => line.length >= width)).toEqual([]);
    expect(reprinted.split("Says: Looking.")).toHaveLength(2);
    const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(sizes, (given_) => {
        // Small pieces only would take seconds.
        const some = given_.reduce((sum, size) => sum + size, 0) < given_.length * 20 ? [...given_, 300] : given_;
        expect(screenAfter(some, width)).toBe(reprinted);
      }),
      { numRuns: 25 },
    );
  });
});

const facts = (change: Partial<LivingFacts> = {}): LivingFacts => ({
  now: given.NOW,
  since: new Date(given.NOW.getTime() - 12_400),
  received: 0,
  status: undefined,
  heldUntil: null,
  key: "pauses",
  ...change,
});
const budget = given.created({ budgetUsd: 2, stepLimit: 50 });
const asking: readonly NewEvent[] = [budget, given.asked(1)];
const step1: readonly NewEvent[] = [...asking, { ...given.replied(1), costUsd: 0.04 }];
const line = (events: readonly NewEvent[], change: Partial<LivingFacts> = {}, columns = 100): string =>
  describeNow(given.stateOf(...events), facts(change), columns);

describe("the line below a run", () => {
  const running = [...step1, given.requested("search_files", 1, {}), given.approved(1), given.started("pure", 1)];
  const heldUntil = new Date(given.NOW.getTime() + 14_000).toISOString();
  it.each<[title: string, events: readonly NewEvent[], change: Partial<LivingFacts>, expected: RegExp]>([
    ["a request", [...running, given.finished(1), given.asked(2)], {}, /^asking test-model · 12 s · step 2 of 50 · /],
    ["a request that waits", asking, { heldUntil }, /^rate limit · asking test-model in 14 s · step 1 of 50 · /],
    ["a reply that arrives", asking, { received: 20_480 }, /^test-model is writing, 20k characters · 12 s · /],
    [
      "a command",
      running,
      {},
      /^running search_files · 12 s · step 1 of 50 · \d+ tokens · \$0\.04 of \$2\.00 · Ctrl-C pauses$/,
    ],
    ["an attached terminal", running, { key: "leaves" }, / · Ctrl-C leaves it running$/],
    ["a pause", running, { key: "stops" }, / · pausing after this step; Ctrl-C again stops at once$/],
  ])("tells of %s", (_title, events, change, expected) => {
    expect(line(events, change, 120)).toMatch(expected);
  });

  it("counts a rate limit down to the next attempt, with its status", () => {
    const failed = (code: string): readonly NewEvent[] => [...asking, given.modelFailed(1, heldUntil, code)];
    expect(line(failed("rate-limited"))).toMatch(/^429 rate limit · trying again in 14 s · step 1 of 50 · /);
    const later = new Date(given.NOW.getTime() + 13_200);
    expect(line(failed("rate-limited"), { now: later })).toMatch(/trying again in 1 s · /);
    expect(line(failed("unavailable"), { status: "503" })).toMatch(/^503 · trying again in 14 s · /);
  });

  it.each([40, 60, 80, 100])("fits into %i columns with what it does and the key", (columns) => {
    const shown = line(running, {}, columns);
    expect(widthOf(shown)).toBeLessThanOrEqual(columns);
    expect(shown).toMatch(/^running search_files · 12 s · .*\^?C pauses$/);
  });

  it.each([20, 40, 57])("keeps the key at %i columns, whatever the agent does", (columns) => {
    const shown = line(asking, { received: 120_000, key: "stops" }, columns);
    expect(widthOf(shown)).toBeLessThanOrEqual(columns);
    expect(shown).toMatch(/ · \^C stops now$/);
  });

  it.each([-1, 0, 1, 3])("shows what is typed at %i columns", (columns) => {
    expect(endOf("漢字 word", columns)).toBe(columns === 3 ? "…rd" : "…");
  });

  it("shows no control character of a model's name", () => {
    const events = [budget, { ...given.asked(1), model: "evil\u001b[2J\u0007name" }];
    expect(line(events)).toMatch(/^asking evilname · /);
  });
});
