/** kill-points.ts -- runs killed at chosen commits or at random moments, resumed, and checked: of twelve effects, and of three levels. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import { replay } from "#core/evolve.ts";
import {
  killAtCommit,
  killAtEvent,
  killUnder,
  logCommits,
  makeDaemonHome,
  NESTED_LINES,
  nestedModel,
  runUnder,
  writeNestedCommands,
} from "../helpers/daemon-home.ts";
import { daemonOf, endedWith, type Goald, lookInto, makeGoald, RUN } from "../helpers/goald.ts";
import { append, ledger, ledgerText, numberedModel, write } from "../helpers/models.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { inPool } from "../helpers/waits.ts";

export const STEPS = 12;

/** Commits before the first step: the tables, the agent and the claim. */
const FIRST = 3;
/** Commands without `prepare`, after which a step has two commits instead of three. */
const UNPREPARED: ReadonlySet<string> = new Set(["read_file", "task_complete"]);

type Point = readonly [at: number, when: "before" | "after"];

/** A step commits its request with the last result, then the reply before a `prepare`, then its start. */
const startsOf = (calls: readonly CommandCall[]): readonly number[] => {
  let at = FIRST;
  return calls.map(({ name }) => (at += UNPREPARED.has(name) ? 2 : 3));
};
const everyPoint = (calls: readonly CommandCall[]): readonly Point[] => {
  const all = (startsOf(calls).at(-1) ?? FIRST) + 2 + 1;
  return Array.from({ length: all }, (_, at) => [[at + 1, "before"] as const, [at + 1, "after"] as const]).flat();
};
/** The effect has happened but its result is not committed, so a naive resume would repeat it. */
const behindEffects = (calls: readonly CommandCall[]): readonly Point[] =>
  startsOf(calls).map((at) => [at + 1, "before"] as const);

type Outcome = Awaited<ReturnType<typeof killAndResume>>;

/** Kills a run at a point, resumes it, and returns what it left. */
export async function killAndResume(
  calls: readonly CommandCall[],
  files: readonly string[],
  [at, when]: Point,
  ownFiles: Readonly<Record<string, string>> = {},
) {
  await using home = await makeDaemonHome(calls, { files: ownFiles });
  const { goald, server } = home;
  const killed = await killUnder(killAtCommit(`${at}:${when}`), goald, RUN);
  const askedBefore = server.chats.length;
  const { log: before } = await lookInto(goald);
  // An agent that was not yet committed cannot be resumed.
  const resumed = await goald.run(before.length === 0 ? RUN : ["resume", "t", "--json"]);
  const { log, problems } = await lookInto(goald);
  const written = await Promise.all(
    files.map(async (name) => [name, await goald.read(`workspace/t/${name}`)] as const),
  );
  return {
    killed,
    resumed,
    /** The agent's log at the kill and at the end. */
    before,
    log,
    problems,
    files: Object.fromEntries(written),
    /** Chat requests before the kill, and in total. */
    asked: [askedBefore, server.chats.length] as const,
    violations: server.violations,
  };
}

function expectWhole(outcome: Outcome, files: Readonly<Record<string, string>>): void {
  const { killed, resumed, problems, before, log, asked, violations } = outcome;
  expect(killed).toMatchObject({ code: null, signal: "SIGKILL" });
  endedWith(0, resumed);
  expect(problems).toEqual([]);
  // Each effect happened once, in the files and in the log.
  expect(outcome.files).toEqual(files);
  expect(log.slice(0, before.length)).toEqual(before);
  const finished = log.filter((event) => event.type === "command-finished");
  expect(finished.map((event) => event.step)).toEqual(Array.from({ length: STEPS + 1 }, (_, at) => at + 1));
  // A request repeats only if the kill came between the request and its commit.
  const replied = before.filter(({ type }) => type === "model-replied").length;
  const lost = asked[0] - replied;
  expect(lost === 0 || (lost === 1 && before.at(-1)?.type === "model-asked")).toBe(true);
  expect(asked[1]).toBe(STEPS + 1 + lost);
  expect(violations).toEqual([]);
}

/** Kills a run of each job at these points and checks the result. `isTaken` selects points by index. */
export function describeKills(isTaken: (index: number) => boolean): void {
  describe.each([
    {
      title: "twelve appends to one file",
      calls: ledger(STEPS),
      files: { "ledger.txt": ledgerText(STEPS) },
      pointsOf: everyPoint,
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
      pointsOf: behindEffects,
    },
  ])("kill -9 of the real process in a run of $title", ({ calls, files, pointsOf }) => {
    const at = pointsOf(calls).filter((_point, index) => isTaken(index));
    let outcomes: readonly Promise<Outcome>[];
    beforeAll(() => {
      outcomes = inPool(3, at, (point) => killAndResume(calls, Object.keys(files), point));
    });

    it.each(at.map(([commit, when], index) => [when, commit, index] as const))(
      "%s commit %i keeps each effect single, and pays for no stored reply twice",
      async (_when, _commit, index) => expectWhole((await outcomes[index]) as Outcome, files),
      60_000,
    );
  });
}

/** Random kills of a run of that many lines. */
const KILLS = 15;
const LINES = 80;

export function describeChains(): void {
  describe("a run whose processes are killed one after another", () => {
    let inTheMiddle: ReturnType<typeof killInTheMiddle>;
    let atRandom: ReturnType<typeof killAtRandom>;
    beforeAll(() => {
      inTheMiddle = killInTheMiddle();
      atRandom = killAtRandom();
      // A row that waits later still gets the rejection.
      for (const chain of [inTheMiddle, atRandom]) chain.catch(() => undefined);
    });

    it("finishes with each effect once if each process dies right before its seventh commit", async () => {
      const { kills, texts, log, problems } = await inTheMiddle;
      expect(kills).toBeGreaterThanOrEqual(STEPS);
      expect(texts).toEqual(WRITES.map(({ args }) => args.text));
      expect(problems).toEqual([]);
      expect(log.filter(({ type }) => type === "command-finished")).toHaveLength(STEPS + 1);
    }, 90_000);

    it(`loses and repeats nothing at ${KILLS} random moments, and its store is sound each time`, async () => {
      const { text, log, problems, asked } = await atRandom;
      expect(text).toBe(ledgerText(LINES));
      expect(problems).toEqual([]);
      const replied = log.filter(({ type }) => type === "model-replied").length;
      expect(replied).toBe(LINES + 1);
      expect(asked - replied).toBeLessThanOrEqual(KILLS);
    }, 90_000);
  });
}

const WRITES = Array.from({ length: STEPS }, (_, at) => write(`file-${at}.txt`, `text ${at}`));

/**
 * A resumed process first commits the message, its claim, the interruption, that the command runs alone, and its next start.
 * The sixth commit has the result, and the seventh belongs to the following step.
 */
async function killInTheMiddle() {
  await using home = await makeDaemonHome(WRITES);
  const { goald } = home;
  await killUnder(killAtCommit("4:after"), goald, RUN);
  for (let kills = 1; ; kills++) {
    const ended = await killUnder(killAtCommit("7:before"), goald, ["resume", "t", "--json"]);
    if (ended.signal === "SIGKILL" && kills < 5 * STEPS) continue;
    endedWith(0, ended);
    const texts = await Promise.all(WRITES.map(({ args }) => goald.read(`workspace/t/${args.file}`)));
    return { kills, texts, ...(await lookInto(goald)) };
  }
}

async function killAtRandom() {
  const think = numberedModel(ledger(LINES));
  // The delay keeps fast machines from finishing before the kill.
  const stepsALife = Math.floor(LINES / KILLS) - 1;
  let steps = 0;
  await using server = await startOpenAIServer({
    reply: (request) =>
      steps++ < stepsALife ? { text: think(request), delayMs: 10 * Math.random() } : { fault: "stall" },
  });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
  const daemon = daemonOf(goald);
  const problems: string[] = [];
  for (let kills = 0; kills < KILLS; kills++) {
    steps = 0;
    const running = goald.start((await lookInto(goald)).log.length === 0 ? RUN : ["resume", "t", "--json"]);
    // Half of the processes are killed while they start, the others at work.
    if (kills % 2 === 0) await running.see('"model-asked"');
    await sleep((kills % 2 === 0 ? 100 : 300) * Math.random());
    running.kill("SIGKILL");
    await running.ended;
    if (daemon.isHeld()) await daemon.kill();
    problems.push(...(await lookInto(goald)).problems);
  }
  steps = Number.NEGATIVE_INFINITY;
  endedWith(0, await goald.run("resume t --json"));
  endedWith(0, await goald.run("verify"));
  const text = await goald.read("workspace/t/ledger.txt");
  const { log, problems: last } = await lookInto(goald);
  return { text, log, problems: [...problems, ...last], asked: server.chats.length };
}

/** Model calls of a whole run: outer, inner and result of the sub-task, end. */
const ASKED = 4;

export async function openNestedHome(options: Parameters<typeof writeNestedCommands>[1] = {}) {
  const home = await makeDaemonHome([], { reply: nestedModel });
  await writeNestedCommands(home.goald, options);
  return home;
}

/** The last event of each commit of a run that nobody kills. */
export async function findCommits(): Promise<readonly number[]> {
  await using home = await openNestedHome();
  const file = join(home.goald.cwd, "commits");
  await runUnder(logCommits(file), home.goald, RUN);
  await expectNestedWhole(home.goald);
  return (await readFile(file, "utf8"))
    .split(/\s+/)
    .flatMap((each) => (each === "" ? [] : [Number(each.split(":")[1])]));
}

/** Resolves to the number of repeated model calls. */
export async function killNested(seq: number, when: "before" | "after"): Promise<number> {
  await using home = await openNestedHome();
  const { goald, server } = home;
  const killed = await killUnder(killAtEvent(`1:${seq}:${when}`), goald, RUN);
  expect(killed.signal).toBe("SIGKILL");
  const { log } = await lookInto(goald);
  endedWith(0, await goald.run(log.length === 0 ? RUN : ["resume", "t", "--json"]));
  await expectNestedWhole(goald);
  return server.chats.length - ASKED;
}

async function expectNestedWhole(goald: Goald): Promise<void> {
  const { log, problems } = await lookInto(goald);
  expect(problems).toEqual([]);
  expect(await goald.read("workspace/t/lines.txt")).toBe(NESTED_LINES);
  const ended = log.flatMap((event) => (event.type === "command-finished" ? [event.callId] : []));
  expect(ended).toEqual(["c1.1", "c1.2.c1.1", "c1.2.c1", "c1.2.c2", "c1.3", "c1", "c4"]);
  expect(replay(log)).toMatchObject({ frames: [{ id: 0, phase: { kind: "resting" } }], open: [] });
}
