import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "@jest/globals";
import { createSandbox } from "#app/sandbox.ts";
import { findCage } from "#cage/find-cage.ts";
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { spentOf } from "#core/limits.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { daemonOf, endedWith, type Goald, makeGoald, readStore } from "../helpers/goald.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";
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
// what is asked.

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
const PROGRAMS = {
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
  /** The line that sets the axis, and the one that takes its place. */
  axis: ["low, high = min(values), max(values)", "low, high = 0, 1000"] as const,
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
  const { read, show, draw, axis } = PROGRAMS;
  if (messages.some(({ content }) => content.startsWith("Command run_code"))) return done("It is done.");
  const isAsked = (question: string): boolean =>
    messages.some((message) => message.content.includes(`\n${question}\n`) && !isMemory(message));
  const known = codeIn(messages) ?? "";
  if (isAsked(QUESTIONS[2])) return reply("run_code", { code: known.replace(axis[0], axis[1]) });
  if (isAsked(QUESTIONS[1])) return reply("run_code", { code: known.replace(show, draw) });
  return reply("run_code", { code: `${read}\n${show}` });
}

const sandbox = createSandbox({ findCage, cacheFolder: tmpdir() });
afterAll(() => sandbox.close());

describe("a person who asks for a plot, and then for another axis", () => {
  it("gets the same program with one other line, because the memory of the turn has it", async () => {
    const loop = await makeLoop({ script: answer, sandbox, goals: [QUESTIONS[0]] });
    loop.files.set("revenue_table.csv", new TextEncoder().encode(`${TABLE.join("\n")}\n`));
    const svgs: (string | undefined)[] = [];
    for (const [index, text] of QUESTIONS.entries()) {
      if (index > 0) await loop.tell({ type: "say", from: "ada", text });
      await loop.run();
      svgs.push(loop.text("revenue.svg"));
    }
    const requested = (await loop.of("command-requested")).filter(({ call }) => call.name === "run_code");
    const [, plot = "", axis = "", ...others] = requested.map(({ call }) => String(call.args.code));
    expect(others).toEqual([]);
    expect(axis.split("\n").filter((line) => !plot.split("\n").includes(line))).toEqual([PROGRAMS.axis[1]]);
    expect(svgs).toEqual([
      undefined,
      expect.stringMatching(/<polyline points="0(\.0)?,200\.0 [^"]+"\/><text y="10">720<\/text><text y="200">320</),
      expect.stringMatching(/<polyline points="0(\.0)?,136\.0 [^"]+"\/><text y="10">1000<\/text><text y="200">0</),
    ]);
    // The turns before are in the prompt as memories alone: nothing of their messages is left.
    const last = loop.model.requests.at(-2)?.messages ?? [];
    expect(last.map(({ role }) => role)).toEqual(["system", "user", "user", "user", "user", "user"]);
    expect(last.filter(isMemory).map(({ content }) => /memory of turn (\d)/.exec(content)?.[1])).toEqual(["1", "2"]);
  });
});
