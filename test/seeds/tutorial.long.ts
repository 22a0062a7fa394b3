import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { replay } from "#core/evolve.ts";
import { endedWith, lookInto } from "../helpers/goald.ts";
import { inPool } from "../helpers/pool.ts";
import { makeSeedHome, type SeedHome } from "../helpers/seed-home.ts";
import { killUnder, runUnder } from "../helpers/under-hooks.ts";
import { TUTORIAL, TUTORIAL_FILE, TUTORIAL_GOAL, TUTORIAL_LINES, TUTORIAL_PLAN, TUTORIAL_STEPS } from "./tutorial.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-commit.child.ts", import.meta.url));
const RUN = ["run", "--name", "T", "--role", "a blogger", "--goal", TUTORIAL_GOAL, "--form", "plan", "--continuous"];

const openHome = (): Promise<SeedHome> => makeSeedHome(TUTORIAL_LINES);

async function expectWhole(home: SeedHome): Promise<void> {
  const log = await home.log();
  expect(replay(log).plan).toEqual(TUTORIAL_PLAN);
  expect(log.filter(({ type }) => type === "task-added")).toHaveLength(3);
  expect(log.filter(({ type }) => type === "turn-finished")).toHaveLength(1);
  expect(await home.file(TUTORIAL_FILE)).toBe(TUTORIAL);
}

describe("the tutorial of seed 002, killed with -9 before and after every commit", () => {
  let commits: number;
  beforeAll(async () => {
    await using home = await openHome();
    const recording = join(home.goald.cwd, "tutorial.ndjson");
    const ended = await runUnder({ imports: [HOOK] }, home.goald, [...RUN, "--record", recording]);
    endedWith(0, ended);
    await expectWhole(home);
    expect(home.seen).toHaveLength(TUTORIAL_STEPS);
    const replayed = endedWith(0, await home.goald.run(["replay", recording]));
    expect(replayed.stdout).toMatch(/State: [0-9a-f]{64}, as recorded/);
    commits = Number(/(\d+) commits/.exec(ended.stderr)?.[1]);
  }, 60_000);

  it.each(["before", "after"])(
    "goes on with the same ids and states: %s the commit",
    async (when) => {
      expect(commits).toBeGreaterThan(2 * TUTORIAL_STEPS);
      const points = Array.from({ length: commits }, (_, at) => at + 1);
      await Promise.all(
        inPool(2, points, async (at) => {
          await using home = await openHome();
          const killed = await killUnder(
            { imports: [HOOK], env: { KILL_AT_COMMIT: `${at}:${when}` } },
            home.goald,
            RUN,
          );
          expect(killed.signal).toBe("SIGKILL");
          const asked = home.seen.length;
          const { log } = await lookInto(home.goald);
          const isOver = log.some(({ type }) => type === "turn-finished");
          if (!isOver) endedWith(0, await home.goald.run(log.length === 0 ? RUN : ["resume", "t"]));
          await expectWhole(home);
          expect((await home.log()).slice(0, log.length)).toEqual(log);
          const lost = asked - log.filter(({ type }) => type === "model-replied").length;
          expect(lost).toBeLessThanOrEqual(1);
          expect(home.seen).toHaveLength(TUTORIAL_STEPS + lost);
        }),
      );
    },
    600_000,
  );
});
