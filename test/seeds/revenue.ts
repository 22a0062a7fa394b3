/**
 * revenue.ts -- the conversation of seed 004, Augmented Memory: three questions about one table, each a turn of the same agent.
 *
 * The model knows only what a request shows. It copies the newest code that a memory of a turn has, and changes only what is
 * asked. Without code it writes its own, and not the same again. Without anything it asks back.
 */
import { describe, expect, it } from "@jest/globals";
import type { ModelRequest } from "#core/ports/model.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";

const TABLE = [
  "month,revenue,loss",
  ...[320, 410, 380, 560, 720, 690].map((revenue, at) => `${at + 1},${revenue},${at * 7}`),
];
const QUESTIONS = [
  "Read revenue_table.csv and show the column names.",
  "Plot the revenue numbers.",
  "Set the y axis from 0 to 1000.",
] as const;

/** The parts of the programs: the drawing of a turn follows the reading of the turn before. */
interface Programs {
  readonly read: string;
  readonly show: string;
  readonly draw: string;
  /** The line that sets the axis, and the one that takes its place. */
  readonly axis: readonly [string, string];
  /** Written for the third question without the earlier program: it draws other marks. */
  readonly own: string;
}

const PROGRAMS: Programs = {
  read: 'import csv\nrows = list(csv.DictReader(open("revenue_table.csv")))',
  show: "list(rows[0])",
  draw: [
    'values = [float(row["revenue"]) for row in rows]',
    "low, high = min(values), max(values)",
    "points = [(40 * at, 200 - 200 * (value - low) / (high - low)) for at, value in enumerate(values)]",
    'path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)',
    'labels = f\'<text y="10">{high:.0f}</text><text y="200">{low:.0f}</text>\'',
    'svg = f\'<svg xmlns="http://www.w3.org/2000/svg"><polyline points="{path}"/>{labels}</svg>\'',
    'open("revenue.svg", "w").write(svg)',
  ].join("\n"),
  axis: ["low, high = min(values), max(values)", "low, high = 0, 1000"],
  own: [
    'lines = open("revenue_table.csv").read().split()[1:]',
    'revenue = [int(line.split(",")[1]) for line in lines]',
    "low, high = 0, 1000",
    'marks = "".join(f\'<circle cx="{40 * at}" cy="{200 - 200 * (r - low) / (high - low)}"/>\' for at, r in enumerate(revenue))',
    'open("revenue.svg", "w").write(f\'<svg xmlns="http://www.w3.org/2000/svg">{marks}<text>{low:.0f} {high:.0f}</text></svg>\')',
  ].join("\n"),
};

type Messages = ModelRequest["messages"];
const isMemory = ({ content }: Messages[number]): boolean => content.startsWith("Your memory of turn ");

/** The code of the newest memory that has some, as the memory shows it. */
function codeIn(messages: Messages): string | undefined {
  const found = messages
    .filter(isMemory)
    .flatMap(({ content }) => Array.from(content.matchAll(/\ncode:\n([\s\S]*?)\n<\/data-/g), ([, code = ""]) => code));
  return found.at(-1);
}

function answer({ messages }: Pick<ModelRequest, "messages">): string {
  const { read, show, draw, axis, own } = PROGRAMS;
  const question = QUESTIONS.findLast((each) =>
    messages.some((message) => message.content.includes(`\n${each}\n`) && !isMemory(message)),
  );
  const result = messages.find(({ content }) => content.startsWith("Command run_code"));
  if (result)
    return done(
      result.content.includes("month") ? "The columns are month, revenue, loss." : "The plot is in revenue.svg.",
    );
  const run = (code: string): string => reply("run_code", { code });
  if (question === undefined) return run(`${read}\n${show}`);
  const known = codeIn(messages);
  const knowsTable = messages.some(
    ({ content }) => content.includes("revenue_table.csv") && !content.startsWith("You are "),
  );
  if (question === QUESTIONS[1]) {
    if (known?.includes(read)) return run(known.replace(show, draw));
    return knowsTable ? run(`${read}\n${draw}`) : done("Which numbers do you want to see plotted?");
  }
  if (known?.includes(axis[0])) return run(known.replace(axis[0], axis[1]));
  return knowsTable ? run(own) : done("The y axis of which plot?");
}

interface Conversation {
  readonly loop: Loop;
  /** The programs that ran in each turn, and the words that ended it. */
  readonly turns: readonly {
    readonly codes: readonly string[];
    readonly output: string;
    readonly svg: string | undefined;
  }[];
}

/** `show`: what the model sees of a request; by default all of it. */
async function converse(
  sandbox: Sandbox,
  show: (messages: Messages) => Messages = (messages) => messages,
): Promise<Conversation> {
  const script = ({ messages }: ModelRequest) => answer({ messages: show(messages) });
  const loop = await makeLoop({ script, sandbox, goals: [QUESTIONS[0]] });
  loop.files.set("revenue_table.csv", new TextEncoder().encode(`${TABLE.join("\n")}\n`));
  const svgs: (string | undefined)[] = [];
  for (const [index, text] of QUESTIONS.entries()) {
    const said = { type: "say", from: "ada", text } as const;
    if (index > 0) await loop.store.deliver(loop.row.id, text, said, loop.clock.now().toISOString());
    await loop.run();
    svgs.push(loop.text("revenue.svg"));
  }
  const events = await loop.events();
  let turn = 1;
  const turns = QUESTIONS.map((_question, index) => ({ codes: [] as string[], output: "", svg: svgs[index] }));
  for (const event of events) {
    const now = turns[turn - 1];
    if (event.type === "turn-started") turn = event.turn;
    if (event.type === "command-requested" && event.call.name === "run_code")
      now?.codes.push(String(event.call.args.code));
    if (event.type === "turn-finished" && now) now.output = event.reason;
  }
  return { loop, turns };
}

/** Lines of the second text that the first one does not have. */
const changedLines = (before = "", after = ""): readonly string[] =>
  after.split("\n").filter((line) => !before.split("\n").includes(line));

/** The messages that a model would see with no memory of turns. */
const withoutMemory = (messages: Messages): Messages => messages.filter((message) => !isMemory(message));
/** The messages with the questions and answers of earlier turns, and nothing of what was done. */
const withMessagesOnly = (messages: Messages): Messages =>
  messages.map((message) =>
    isMemory(message)
      ? { ...message, content: message.content.replace(/\n\nThese commands succeeded[\s\S]*(?=\n\nYou ended)/, "") }
      : message,
  );

/** C5 of seed 004, with its controls. */
export const describeRevenue = (sandbox: Sandbox): void =>
  describe("a person who asks for a plot, and then for another axis", () => {
    const [, wanted] = PROGRAMS.axis;

    it("gets the same program with one other line, because the memory of the turn has it", async () => {
      const { loop, turns } = await converse(sandbox);
      const [, plot, axis] = turns;
      expect(changedLines(plot?.codes[0], axis?.codes[0])).toEqual([wanted]);
      expect([plot?.codes.length, axis?.codes.length]).toEqual([1, 1]);
      expect(plot?.svg).toMatch(/<polyline points="0(\.0)?,200\.0 [^"]+"\/><text y="10">720<\/text><text y="200">320</);
      expect(axis?.svg).toMatch(/<polyline points="0(\.0)?,136\.0 [^"]+"\/><text y="10">1000<\/text><text y="200">0</);
      // The turns before are in the prompt as memories alone: nothing of their messages is left.
      const last = loop.model.requests.at(-2)?.messages ?? [];
      expect(last.map(({ role }) => role)).toEqual(["system", "user", "user", "user", "user", "user"]);
      expect(last.filter(isMemory).map(({ content }) => /memory of turn (\d)/.exec(content)?.[1])).toEqual(["1", "2"]);
    });

    it("is asked back when there is no memory of turns", async () => {
      const { turns } = await converse(sandbox, withoutMemory);
      expect(turns.map(({ codes }) => codes.length)).toEqual([1, 0, 0]);
      expect(turns[1]?.output).toContain("Which numbers");
      expect(turns[2]?.svg).toBeUndefined();
    });

    it("gets another program when questions and answers are all that is left of the turns", async () => {
      const { turns } = await converse(sandbox, withMessagesOnly);
      const [, plot, axis] = turns;
      expect(changedLines(plot?.codes[0], axis?.codes[0]).length).toBeGreaterThan(3);
      expect(axis?.svg).toContain("<circle");
    });
  });
