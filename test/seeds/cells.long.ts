import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "@jest/globals";
import { createSandbox } from "#app/sandbox.ts";
import { findCage } from "#cage/find-cage.ts";
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { spentOf } from "#core/limits.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import { daemonOf, endedWith, type Goald, makeGoald, readStore } from "../helpers/goald.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";
import { block, conditionalModel, DONE, type Line, ledgerText, nameIn } from "../helpers/models.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { shareSnapshot } from "../helpers/seed-home.ts";

const AGENTS = [...Array.from({ length: 18 }, (_, at) => `J${at + 1}`), "P1", "P2"];
const KILLS = 30;
const WAIT_LIMIT_MS = 100_000;
/** Usage that the server reports: of the prompt, and of a reply by its length. */
const INPUT_TOKENS = 100;

type Logs = Readonly<Record<string, readonly RecordedEvent[]>>;

const readAll = (goald: Goald): Promise<{ readonly logs: Logs; readonly problems: readonly string[] }> =>
  readStore(goald, async (reader) => {
    const rows = await reader.agents();
    const logs = await Promise.all(rows.map(async ({ id }) => [id, await reader.read(id, 0, 10_000)] as const));
    return { logs: Object.fromEntries(logs), problems: (await reader.verify()).problems };
  });

/** Resolves when the ledgers have so many lines together. */
async function reach(goald: Goald, lines: number): Promise<void> {
  const end = performance.now() + WAIT_LIMIT_MS;
  for (let poll = 1; ; poll++, await sleep(10)) {
    if (poll % 100 === 0) await resumePaused(goald);
    const ledgers = await Promise.all(AGENTS.map((name) => goald.read(`workspace/${name.toLowerCase()}/ledger.txt`)));
    const written = ledgers.reduce((sum, text = "") => sum + text.split("\n").length - 1, 0);
    if (written >= lines) return;
    if (performance.now() > end) throw new Error(`Waited in vain for ${lines} lines, there are ${written}.`);
  }
}

/** goald pauses an agent when three processes died while its command ran alone. A person lets it go on. */
async function resumePaused(goald: Goald): Promise<void> {
  for (const [id, log] of Object.entries((await readAll(goald)).logs))
    if (replay(log).paused?.code === "crash-loop") endedWith(0, await goald.ask(["resume", id, "-d"]));
}

describe("twenty agents with a cell of 200 calls each", () => {
  it("keep their limits to the token, and lose or double no cell, although the daemon is killed thirty times", async () => {
    /** Tokens that the server charged, by agent. */
    const charged: Record<string, number> = {};
    const think = conditionalModel(CROWD_LINES);
    await using server = await startOpenAIServer({
      reply: (request) => {
        const text = think(request) as string;
        const name = nameIn(request);
        charged[name] = (charged[name] ?? 0) + INPUT_TOKENS + Math.ceil(text.length / 4);
        return text;
      },
      embeddings: null,
    });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    await shareSnapshot(goald);
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.ask(["up"]));
    for (const name of AGENTS) {
      const agent = ["--name", name, "--role", "a clerk", "--goal", "Fill the ledger.", "--form", "code"];
      endedWith(0, await goald.ask(["run", "-d", ...agent, "--approve", "never", "--max-tokens", "60000"]));
    }
    // The kills are spread over the whole work, each at another moment after a line was written.
    const all = AGENTS.length * APPENDS;
    for (let kill = 1; kill <= KILLS; kill++) {
      await reach(goald, Math.floor((kill * all) / (KILLS + 2)));
      await sleep((kill * 37) % 120);
      await daemon.kill();
      endedWith(0, await goald.ask(["up"]));
    }
    await reach(goald, all);
    const isOver = async (): Promise<boolean> => {
      const states = Object.values((await readAll(goald)).logs).map((log) => replay(log));
      return states.every(({ frames }) => frames[0].phase.kind === "resting");
    };
    await daemon.until("the end", isOver);
    const { logs, problems } = await readAll(goald);
    expect(problems).toEqual([]);
    for (const name of AGENTS) {
      const id = name.toLowerCase();
      const log = logs[id] ?? [];
      expect(await goald.read(`workspace/${id}/ledger.txt`)).toBe(LEDGER);
      const ended = log.flatMap((event) => (event.type === "command-finished" ? [event] : []));
      const cells = ended.filter(({ callId }) => /^c\d+$/.test(callId));
      expect(cells.map(({ observation }) => observation.status)).toEqual(["ok", "ok"]);
      expect(new Set(ended.map(({ callId }) => callId)).size).toBe(ended.length);
      const state = replay(log);
      const { tokens } = spentOf(state);
      expect(tokens).toBeLessThanOrEqual(state.settings.tokenLimit ?? 0);
      expect(tokens).toBeGreaterThanOrEqual(charged[name] ?? 0);
    }
  }, 600_000);
});

// A cell appends ten numbered lines to the agent's ledger and reads it in between. So the ledger shows each call that
// was lost or ran twice.

const APPENDS = 10;
const CALLS = 200;
const READS = CALLS / APPENDS - 1;

const CODE = `length = 0
for line in range(1, ${APPENDS + 1}):
    append_to_file("ledger.txt", f"line {line}\\n")
    for read in range(${READS}):
        length += 1 if read_file("ledger.txt") else 0
length`;
const LEDGER = ledgerText(APPENDS);
const CROWD_LINES: readonly Line[] = [{ when: ({ own }) => own.length === 0, say: block(CODE) }, { say: DONE }];

// The conversation of seed 004, Augmented Memory: three questions about one table, each a turn of the same agent.
//
// The model knows only what a request shows. It copies the newest code that a memory of a turn has, and changes only
// what is asked. Without code it writes its own, and not the same again. Without anything it asks back.

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
const describeRevenue = (sandbox: Sandbox): void =>
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

// The conversation of seed 004 in Python, with the real sandbox.

const sandbox = createSandbox({ findCage, cacheFolder: tmpdir() });
afterAll(() => sandbox.close());

describeRevenue(sandbox);
