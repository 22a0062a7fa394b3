import { describe, expect, it } from "@jest/globals";
import { type ApprovalReply, askText, askYesNo, readApproval } from "#cli/terminal/questions.ts";
import { askToContinue, chooseConnection } from "#cli/terminal/set-up.ts";
import { scriptedLines } from "../../helpers/scripted-lines.ts";

const last = { name: "Foo", role: "an AI", goals: ["one"] };
const KEY = "sk-abcdefgh";

/** Every yes-or-no question of the command line: the lines before it, and what it made of the answer. */
const QUESTIONS: readonly {
  readonly name: string;
  readonly enter: boolean | undefined;
  ask(lines: readonly string[]): Promise<{ readonly meaning: boolean | undefined; readonly said: readonly string[] }>;
}[] = [
  {
    name: "a question whose default is yes",
    enter: true,
    ask: (lines) => ask(lines, (screen) => askYesNo(screen, { question: "Sure?", default: true, help: "HELP" })),
  },
  {
    name: "a question whose default is no",
    enter: false,
    ask: (lines) => ask(lines, (screen) => askYesNo(screen, { question: "Sure?", default: false, help: "HELP" })),
  },
  {
    name: "Go on with it?",
    enter: true,
    ask: (lines) => ask(lines, (screen) => askToContinue(screen, last)),
  },
  {
    name: "Keep it in .env?",
    enter: true,
    ask: (lines) =>
      ask(["2", KEY, ...lines], async (screen) => {
        const probe = { found: [], list: async () => [], test: async () => "It answered." };
        const choice = await chooseConnection(screen, probe, ".env");
        return choice.kind === "server" ? choice.save : undefined;
      }),
  },
  {
    name: "Run it?",
    enter: undefined,
    ask: (lines) =>
      ask(lines, async ({ input, say }) => {
        for (;;) {
          const line = await input().askLine("Run it? ");
          if (line === undefined) return undefined;
          const reply = readApproval(line);
          if (reply.kind === "approved") return true;
          if (reply.kind === "refused") return false;
          say(reply.kind === "unclear" ? reply.why : "feedback");
        }
      }),
  },
];

async function ask<T>(
  lines: readonly string[],
  question: (screen: { input(): ReturnType<typeof scriptedLines>; say(line: string): void }) => Promise<T>,
) {
  const said: string[] = [];
  const input = scriptedLines(lines);
  const meaning = await question({ input: () => input, say: (line) => said.push(line) });
  return { meaning, said };
}

describe.each(QUESTIONS)("$name", ({ enter, ask: askIt }) => {
  it.each(["y", "Y", "yes", "YES", " Yes ", "yEs\t"])("takes %j for yes", async (line) => {
    expect((await askIt([line])).meaning).toBe(true);
  });

  it.each(["n", "N", "no", "NO", " No ", "nO\t"])("takes %j for no", async (line) => {
    expect((await askIt([line])).meaning).toBe(false);
  });

  it("takes Enter for the default that it shows, or asks again when it shows none", async () => {
    expect((await askIt(["", "y"])).meaning).toBe(enter ?? true);
    expect((await askIt(["  ", "n"])).meaning).toBe(enter ?? false);
  });

  it.each(["?", "help", "HELP"])("explains its answers after %j and asks again", async (line) => {
    const before = (await askIt(["y"])).said.length;
    const { meaning, said } = await askIt([line, "n"]);
    expect(meaning).toBe(false);
    expect(said.length).toBeGreaterThan(before);
  });

  it.each(["maybe", "yn", "nope", "yes no", "1"])("takes %j for neither", async (line) => {
    expect((await askIt([line])).meaning).toBeUndefined();
    expect((await askIt([line, "n"])).meaning).toBe(false);
  });

  it("is left at the end of input", async () => {
    expect((await askIt([])).meaning).toBeUndefined();
  });
});

describe("the default of a yes-or-no question", () => {
  it.each([
    [true, "[Y/n]"],
    [false, "[y/N]"],
  ])("%j is shown as %s", async (isYes, shown) => {
    const input = scriptedLines(["y"]);
    await askYesNo({ input: () => input, say: () => {} }, { question: "Sure?", default: isYes, help: "" });
    expect(input.asked).toEqual([`Sure? ${shown} `]);
  });
});

describe("the answer to a command that waits", () => {
  it.each<[line: string, answer: ApprovalReply]>([
    ["y -1", { kind: "approved", count: 1 }],
    ["y -12", { kind: "approved", count: 12 }],
    ["Y  - 3 ", { kind: "approved", count: 3 }],
    ["y -1000", { kind: "approved", count: 1000 }],
    ["y 5", { kind: "approved", count: 5 }],
    ["y5", { kind: "approved", count: 5 }],
    ["y-5", { kind: "approved", count: 5 }],
    ["YES -2", { kind: "approved", count: 2 }],
    ["yes please", { kind: "feedback", text: "yes please" }],
    ["yesterday's file", { kind: "feedback", text: "yesterday's file" }],
    ["y 5 files are enough", { kind: "feedback", text: "y 5 files are enough" }],
    ["no, write it first", { kind: "feedback", text: "no, write it first" }],
    ["n -5", { kind: "feedback", text: "n -5" }],
    ["not so fast - write it first", { kind: "feedback", text: "not so fast - write it first" }],
    [" Use Other.txt ", { kind: "feedback", text: "Use Other.txt" }],
    ["漢字", { kind: "feedback", text: "漢字" }],
    ["a\u001b[2Jb", { kind: "feedback", text: "ab" }],
  ])("%j", (line, answer) => {
    expect(readApproval(line)).toEqual(answer);
  });

  it.each([
    "",
    "\u001b[A",
    "y -",
    "y -0",
    "y 0",
    "y -1001",
    "y --5",
    "y -1.5",
    "y -x",
    "y -1e3",
    "y -99999999999",
    "?",
  ])("is asked for again after %j, with the grammar", (line) => {
    expect(readApproval(line)).toEqual({ kind: "unclear", why: expect.stringMatching(/y -[N5]/) });
  });
});

describe("a question for text", () => {
  const question = {
    question: "Name: ",
    help: "HELP",
    problemWith: (text: string) => (text === "bad" ? "WHY" : undefined),
  };

  it("explains itself after ?, says why an answer cannot be used, and takes Enter as empty", async () => {
    const { meaning, said } = await ask(["?", "bad", " good "], (screen) => askText(screen, question));
    expect(meaning).toBe("good");
    expect(said).toEqual(["HELP", "WHY"]);
    expect((await ask([""], (screen) => askText(screen, question))).meaning).toBe("");
    expect((await ask([], (screen) => askText(screen, question))).meaning).toBeUndefined();
  });
});
