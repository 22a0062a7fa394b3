import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, lookInto } from "../helpers/goald.ts";
import { inPool } from "../helpers/pool.ts";
import { makeSeedHome, type SeedHome } from "../helpers/seed-home.ts";
import { CITIES_GOAL, CITIES_LINES, expectCitiesFile, expectCitiesOrder, findCity, NATURAL_LINES } from "./cities.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-event.child.ts", import.meta.url));
const POINTS = 10;
const AGENT = ["--name", "T", "--role", "an assistant", "--goal", CITIES_GOAL, "--form", "code"];

const openHome = (): Promise<SeedHome> => makeSeedHome(CITIES_LINES, { find: findCity });
const types = (log: readonly RecordedEvent[], type: RecordedEvent["type"]): number =>
  log.filter((event) => event.type === type).length;

/** Runs the cities in a daemon that the hook kills, and then in the next daemon to the end. */
async function runInDaemon(home: SeedHome, env: Readonly<Record<string, string>>): Promise<boolean> {
  const { goald } = home;
  await using daemon = daemonOf(goald);
  const first = goald.start(["up", "--foreground", "--home", goald.home], { imports: [HOOK], env });
  await first.see("The daemon is ready");
  endedWith(0, await goald.ask(["run", "-d", ...AGENT, "--approve", "never"]));
  const isDone = async (): Promise<boolean> => types((await lookInto(goald)).log, "turn-finished") === 1;
  let killed = false;
  void first.ended.then(({ signal }) => {
    killed = signal === "SIGKILL";
  });
  await daemon.until("the end or a kill", async () => killed || (await isDone()));
  if (killed) endedWith(0, await goald.ask(["up"]));
  await daemon.until("the end", isDone);
  return killed;
}

async function expectWhole(home: SeedHome): Promise<readonly RecordedEvent[]> {
  expectCitiesOrder(home.seen);
  expectCitiesFile(await home.file("cities_introduction.md"));
  expect(await home.file("notes.txt")).toBe("Chengdu\n");
  expect(await home.log()).not.toContainEqual(expect.objectContaining({ observation: { status: "unknown" } }));
  return await home.log();
}

describe("the cities of seed 000, in a daemon that is killed with -9 inside the second introduction", () => {
  /** Events with a commit of their own inside the second introduction. */
  let commits: readonly number[];
  let asked: number;
  beforeAll(async () => {
    await using home = await openHome();
    const file = join(home.goald.cwd, "commits");
    expect(await runInDaemon(home, { COMMIT_LOG: file })).toBe(false);
    const log = await expectWhole(home);
    asked = home.seen.length;
    const start = log.find((event) => event.type === "frame-pushed" && event.task === "Introduce Chengdu");
    const end = log.find(
      (event) => event.type === "frame-popped" && start?.type === "frame-pushed" && event.callId === start.callId,
    );
    const all = (await readFile(file, "utf8")).split(/\s+/).map((each) => Number(each.split(":")[1]));
    commits = all.filter((seq) => seq >= (start?.seq ?? 0) && seq < (end?.seq ?? 0));
  }, 120_000);

  it("resumes at ten points and repeats no nested call", async () => {
    expect(commits.length).toBeGreaterThanOrEqual(POINTS);
    const points = Array.from({ length: POINTS }, (_, at) => commits[Math.floor((at * commits.length) / POINTS)]);
    await Promise.all(
      inPool(2, points, async (seq) => {
        await using home = await openHome();
        expect(await runInDaemon(home, { KILL_AT_EVENT: `1:${seq}:after` })).toBe(true);
        await expectWhole(home);
        // All that was done is known: no request of the model and no search is made twice.
        expect(home.seen.length).toBe(asked);
        expect(home.search.queries).toEqual([...new Set(home.search.queries)]);
      }),
    );
  }, 180_000);
});

describe("the cities of seed 000, unattended, with numbers with commas and search words of the model's own", () => {
  it("are compared and introduced, and no search is refused", async () => {
    await using home = await makeSeedHome(NATURAL_LINES, { find: findCity });
    expect(await runInDaemon(home, {})).toBe(false);
    expectCitiesFile(await home.file("cities_introduction.md"));
    const log = await home.log();
    for (const type of ["command-denied", "approval-asked", "reply-rejected"] as const)
      expect(types(log, type)).toBe(0);
    expect(home.search.queries).toHaveLength(6);
    expect(log.filter((event) => event.type === "command-finished" && event.observation.status !== "ok")).toEqual([]);
  }, 60_000);
});
