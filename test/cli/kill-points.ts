/** kill-points.ts -- a run of twelve effects, killed before or after a chosen commit, resumed, and checked. */
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { type Ended, endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { append, ledger, ledgerText, numberedModel, write } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { inPool } from "../helpers/pool.ts";
import { killUnder } from "../helpers/under-hooks.ts";

export const HOOK = fileURLToPath(new URL("../helpers/kill-at-commit.child.ts", import.meta.url));
export const STEPS = 12;
export const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];

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

/** The result of a run that was killed once and resumed. */
interface Outcome {
  readonly killed: Ended;
  readonly resumed: Ended;
  /** The agent's log at the kill and at the end. */
  readonly before: readonly RecordedEvent[];
  readonly log: readonly RecordedEvent[];
  /** Problems that `goald verify` reports at the end. */
  readonly problems: readonly string[];
  readonly files: Readonly<Record<string, string | undefined>>;
  /** Chat requests before the kill, and in total. */
  readonly asked: readonly [beforeKill: number, inAll: number];
  readonly violations: readonly string[];
}

export async function killAndResume(
  calls: readonly CommandCall[],
  files: readonly string[],
  [at, when]: Point,
  ownFiles: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  await using server = await startOpenAIServer({ reply: numberedModel(calls), embeddings: null });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  for (const [path, text] of Object.entries(ownFiles)) await goald.write(path, text);
  const killed = await killUnder({ imports: [HOOK], env: { KILL_AT_COMMIT: `${at}:${when}` } }, goald, RUN);
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
