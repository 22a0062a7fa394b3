import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { CommandCall, RecordedEvent } from "#core/event.ts";
import { type Ended, endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { append, ledger, ledgerText, numberedModel, write } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { inPool } from "../helpers/pool.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-commit.child.ts", import.meta.url));
const STEPS = 12;
const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];

/**
 * The commits of the run: the tables, the agent, the claim; then two for each step, what is asked (with the last result) and
 * what is started (with the reply); and the end.
 */
const COMMITS = 3 + 2 * (STEPS + 1) + 1;
/** Those that start a command which changes something. The next one holds its result. */
const STARTS = Array.from({ length: STEPS }, (_, step) => 5 + 2 * step);

type Point = readonly [at: number, when: "before" | "after"];
const EVERY_POINT = Array.from({ length: COMMITS }, (_, at) => [
  [at + 1, "before"] as const,
  [at + 1, "after"] as const,
]).flat();
/** The effect has happened, and nothing says so yet: the moment that doubles it elsewhere. */
const BEHIND_EFFECTS = STARTS.map((at) => [at + 1, "before"] as const);

/** What is left of a run that was killed once and resumed. */
interface Outcome {
  readonly killed: Ended;
  readonly resumed: Ended;
  /** The agent's log at the kill, and at the end. */
  readonly before: readonly RecordedEvent[];
  readonly log: readonly RecordedEvent[];
  /** What `goald verify` finds at the end. */
  readonly problems: readonly string[];
  readonly files: Readonly<Record<string, string | undefined>>;
  /** Chat requests before the kill, and in all. */
  readonly asked: readonly [beforeKill: number, inAll: number];
  readonly violations: readonly string[];
}

async function killAndResume(
  calls: readonly CommandCall[],
  files: readonly string[],
  [at, when]: Point,
  ownFiles: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  await using server = await startOpenAIServer({ reply: numberedModel(calls), embeddings: null });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_EMBEDDER: "offline" });
  for (const [path, text] of Object.entries(ownFiles)) await goald.write(path, text);
  const killed = await goald.run(RUN, { imports: [HOOK], env: { KILL_AT_COMMIT: `${at}:${when}` } });
  const askedBefore = server.chats.length;
  const { log: before } = await lookInto(goald);
  // A kill before the agent was durable leaves nothing to resume.
  const resumed = await goald.run(before.length === 0 ? RUN : ["resume", "t", "--json"]);
  const { log, problems } = await lookInto(goald);
  const written = await Promise.all(
    files.map(async (name) => [name, await goald.read(`workspace/t/${name}`)] as const),
  );
  return {
    killed,
    resumed,
    before,
    log,
    problems,
    files: Object.fromEntries(written),
    asked: [askedBefore, server.chats.length],
    violations: server.violations,
  };
}

function expectWhole(outcome: Outcome, files: Readonly<Record<string, string>>): void {
  const { killed, resumed, problems, before, log, asked, violations } = outcome;
  expect(killed).toMatchObject({ code: null, signal: "SIGKILL" });
  endedWith(0, resumed);
  expect(problems).toEqual([]);
  // Every effect once, in the world as in the log.
  expect(outcome.files).toEqual(files);
  expect(log.slice(0, before.length)).toEqual(before);
  const finished = log.filter((event) => event.type === "command-finished");
  expect(finished.map((event) => event.step)).toEqual(Array.from({ length: STEPS + 1 }, (_, at) => at + 1));
  // A reply was lost only where the kill fell between its request and its commit; nothing else was asked for again.
  const replied = before.filter(({ type }) => type === "model-replied").length;
  const lost = asked[0] - replied;
  expect(lost === 0 || (lost === 1 && before.at(-1)?.type === "model-asked")).toBe(true);
  expect(asked[1]).toBe(STEPS + 1 + lost);
  expect(violations).toEqual([]);
}

describe.each([
  {
    title: "twelve appends to one file",
    calls: ledger(STEPS),
    files: { "ledger.txt": ledgerText(STEPS) },
    points: EVERY_POINT,
  },
  {
    title: "files, appends and deletions in turn",
    calls: [
      write("a.txt", "first"),
      append("one\n", "a.txt"),
      write("b.txt", "old"),
      append("two\n", "deep/er/c.txt"),
      write("b.txt", "new"),
      { name: "delete_file", args: { file: "a.txt" } },
      append("three\n", "deep/er/c.txt"),
      append("again\n", "a.txt"),
      append("again\n", "a.txt"),
      { name: "delete_file", args: { file: "b.txt" } },
      { name: "read_file", args: { file: "a.txt" } },
      write("b.txt", "last"),
    ],
    files: { "a.txt": "again\nagain\n", "b.txt": "last", "deep/er/c.txt": "two\nthree\n" },
    points: BEHIND_EFFECTS,
  },
])("kill -9 of the real process in a run of $title", ({ calls, files, points: at }) => {
  let outcomes: readonly Promise<Outcome>[];
  beforeAll(() => {
    outcomes = inPool(3, at, (point) => killAndResume(calls, Object.keys(files), point));
  });

  it.each(at.map(([commit, when], index) => [when, commit, index] as const))(
    "%s commit %i leaves each effect once, and no reply is paid for twice that was kept",
    async (_when, _commit, index) => expectWhole((await outcomes[index]) as Outcome, files),
    60_000,
  );
});

describe("a command that promises more than it keeps", () => {
  it("can be seen to act twice: the count of effects is no matter of luck", async () => {
    const calls = ledger(STEPS);
    // It calls itself idempotent, and adds a line whenever it runs.
    const careless = `export default {
      name: "append_to_file", label: "Append", summary: "Adds text.", effect: "idempotent",
      args: { type: "object", required: ["file", "text"], properties: {
        file: { type: "string", description: "path" }, text: { type: "string", description: "text" } } },
      annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
      async run({ file, text }, { workspace }) {
        await workspace.append(file, text);
        return { status: "ok", text: "Added.", source: "goald", artifacts: [file] };
      },
    };`;
    const outcome = await killAndResume(calls, ["ledger.txt"], [6, "before"], {
      "commands/append_to_file.ts": careless,
    });
    expect(outcome.files["ledger.txt"]).toBe(`line 1\n${ledgerText(STEPS)}`);
  });
});

describe("a run in which one process after the other is killed", () => {
  let inTheMiddle: Promise<Chain>;
  let atRandom: Promise<Chain>;
  beforeAll(() => {
    [inTheMiddle, atRandom] = inPool(2, [killInTheMiddle, killAtRandom], (kill) => kill()) as [
      Promise<Chain>,
      Promise<Chain>,
    ];
  });

  it("each right before its sixth commit, comes to its end with each effect once", async () => {
    const { kills, texts, log, problems } = await inTheMiddle;
    expect(kills).toBeGreaterThanOrEqual(STEPS);
    expect(texts).toEqual(TWELVE_FILES.map(({ args }) => args.text));
    expect(problems).toEqual([]);
    expect(log.filter(({ type }) => type === "command-finished")).toHaveLength(STEPS + 1);
  }, 90_000);

  it("at fifteen moments that nobody chose, loses nothing, doubles nothing, and is sound each time", async () => {
    const { kills, texts, log, problems, asked } = await atRandom;
    expect(kills).toBe(15);
    expect(texts).toEqual([ledgerText(MANY)]);
    expect(problems).toEqual([]);
    const replied = log.filter(({ type }) => type === "model-replied").length;
    expect(replied).toBe(MANY + 1);
    expect(asked - replied).toBeLessThanOrEqual(kills);
  }, 90_000);
});

interface Chain {
  readonly kills: number;
  readonly texts: readonly (string | undefined)[];
  readonly log: readonly RecordedEvent[];
  /** What `goald verify` found after any of the kills, and at the end. */
  readonly problems: readonly string[];
  readonly asked: number;
}

const TWELVE_FILES = Array.from({ length: STEPS }, (_, at) => write(`file-${at}.txt`, `text ${at}`));
/** A process that resumes commits the message, the claim, what it found cut off, and what it begins: its sixth would be of the step after. */
async function killInTheMiddle(): Promise<Chain> {
  await using server = await startOpenAIServer({ reply: numberedModel(TWELVE_FILES), embeddings: null });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_EMBEDDER: "offline" });
  const hook = (point: string) => ({ imports: [HOOK], env: { KILL_AT_COMMIT: point } });
  await goald.run(RUN, hook("4:after"));
  for (let kills = 1; ; kills++) {
    const ended = await goald.run(["resume", "t", "--json"], hook("6:before"));
    if (ended.signal === "SIGKILL" && kills < 5 * STEPS) continue;
    endedWith(0, ended);
    const texts = await Promise.all(TWELVE_FILES.map(({ args }) => goald.read(`workspace/t/${args.file}`)));
    return { kills, texts, asked: server.chats.length, ...(await lookInto(goald)) };
  }
}

const MANY = 80;
async function killAtRandom(): Promise<Chain> {
  const think = numberedModel(ledger(MANY));
  await using server = await startOpenAIServer({
    reply: (request) => ({ text: think(request), delayMs: 10 * Math.random() }),
  });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
  const problems: string[] = [];
  let kills = 0;
  for (; kills < 15; kills++) {
    const running = goald.start((await lookInto(goald)).log.length === 0 ? RUN : ["resume", "t", "--json"]);
    // Every other one while it starts, the rest at work.
    if (kills % 2 === 0) await running.see('"model-asked"');
    await sleep((kills % 2 === 0 ? 100 : 300) * Math.random());
    running.kill("SIGKILL");
    await running.ended;
    problems.push(...(await lookInto(goald)).problems);
  }
  endedWith(0, await goald.run(["resume", "t", "--json"]));
  endedWith(0, await goald.run(["verify"]));
  const texts = [await goald.read("workspace/t/ledger.txt")];
  const { log, problems: last } = await lookInto(goald);
  return { kills, texts, log, problems: [...problems, ...last], asked: server.chats.length };
}
