import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { ReplyForm } from "#core/agent-settings.ts";
import type { RecordedEvent } from "#core/event.ts";
import { killAtEvent, killAtRename } from "../helpers/daemon-home.ts";
import { daemonOf, endedWith, lookInto, type StartOptions } from "../helpers/goald.ts";
import { makeSeedHome } from "../helpers/seed-home.ts";
import { inPool } from "../helpers/waits.ts";
import { FORMS, findWorkshop, JOB_FILES, JOB_GOAL, jobLines, jobSteps, LAMPS, startWorkshop } from "./jobs.ts";

/** What one run left. */
type Run = Awaited<ReturnType<typeof runJob>>;

/** Runs the job in a daemon, unattended and with default settings. `killedLike`: log of a run without kills. */
async function runJob(form: ReplyForm, killedLike?: readonly RecordedEvent[]) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  if (!killedLike) release();
  await using site = await startWorkshop((lamp) => {
    if (lamp !== "cedar") return Promise.resolve();
    hold();
    return released;
  });
  await using home = await makeSeedHome(jobLines(form, jobSteps(form, site.origin)), {
    env: { GOALD_WEB_ALLOW: site.origin },
    find: findWorkshop(site.origin),
  });
  const { goald } = home;
  await using daemon = daemonOf(goald);
  const upUnder = async (hooks: StartOptions) => {
    const running = goald.start(["up", "--foreground", "--home", goald.home], hooks);
    await running.see("The daemon is ready");
    return running;
  };
  const start = async () => {
    const agent = ["--name", "T", "--role", "a clerk", "--goal", JOB_GOAL, "--form", form, "--approve", "never"];
    endedWith(0, await goald.ask(["run", "-d", ...agent]));
  };
  if (killedLike) {
    const first = await upUnder(killAtEvent(`1:${findReply(killedLike, "/lamps/birch")}:before`));
    await start();
    expect((await first.ended).signal).toBe("SIGKILL");
    endedWith(0, await goald.ask(["up"]));
    await held;
    await daemon.kill();
    release();
    const third = await upUnder(killAtRename("hazel.md:before"));
    expect((await third.ended).signal).toBe("SIGKILL");
    endedWith(0, await goald.ask(["up"]));
  } else {
    endedWith(0, await goald.ask(["up"]));
    await start();
  }
  await daemon.until("the end", async () => {
    // A look verifies the whole store.
    await sleep(300);
    const types = (await lookInto(goald)).log.map(({ type }) => type);
    if (types.includes("agent-paused")) throw new Error(`It is paused: ${JSON.stringify((await home.log()).at(-1))}`);
    return types.includes("turn-finished");
  });
  const names = Object.keys(JOB_FILES);
  const texts = await Promise.all(names.map((name) => home.file(name)));
  return {
    log: await home.log(),
    files: Object.fromEntries(names.map((name, index) => [name, texts[index]])),
    /** Questions about pages included. */
    requests: home.seen.length,
    /** Lamps of the pages that were asked for, in order. */
    pages: site.requests.flatMap(({ path }) => (path === "/robots.txt" ? [] : [path.replace("/lamps/", "")])),
  };
}

/** Number of the event with the reply that opens a page. */
function findReply(log: readonly RecordedEvent[], page: string): number {
  const reply = log.find((event) => event.type === "model-replied" && JSON.stringify(event.text).includes(page));
  if (!reply) throw new Error(`No reply opens ${page}.`);
  return reply.seq;
}

function expectUnattended({ log, files }: Run): void {
  const troubles = ["approval-asked", "command-denied", "reply-rejected", "agent-paused"];
  expect(log.filter(({ type }) => troubles.includes(type))).toEqual([]);
  expect(log.filter((event) => event.type === "command-finished" && event.observation.status !== "ok")).toEqual([]);
  expect(files).toEqual(JOB_FILES);
}
function expectWithinTenth(runs: readonly Run[]): void {
  const requests = runs.map((run) => run.requests);
  expect(Math.max(...requests)).toBeLessThanOrEqual(1.1 * Math.min(...requests));
}

/** A run waits most of its time: pages of one site come once a second. */
const AT_ONCE = 3;
const EACH = FORMS.map((form, index) => [form, index] as const);

describe("a job of 20 steps with six pages and six files, unattended and with default settings", () => {
  let plain: readonly Promise<Run>[];
  let killed: readonly Promise<Run>[];
  beforeAll(() => {
    plain = inPool(AT_ONCE, FORMS, (form) => runJob(form));
    killed = inPool(AT_ONCE, EACH, async ([form, index]) => runJob(form, (await plain[index])?.log));
  });

  it.each(EACH)(
    "runs through in the form %s",
    async (_form, index) => {
      const run = (await plain[index]) as Run;
      expectUnattended(run);
      expect(run.pages).toEqual(LAMPS);
    },
    90_000,
  );

  it.each(EACH)(
    "goes on by itself after three kills, in the form %s: the same files, one request more",
    async (_form, index) => {
      const run = (await killed[index]) as Run;
      expectUnattended(run);
      // The page that a kill interrupted is opened again, and the reply that was lost is asked for again.
      expect(run.pages).toEqual(LAMPS.flatMap((lamp) => (lamp === "cedar" ? [lamp, lamp] : [lamp])));
      expect(run.requests).toBe(((await plain[index]) as Run).requests + 1);
    },
    90_000,
  );

  it("takes the same number of requests in all forms, within a tenth", async () => {
    expectWithinTenth(await Promise.all(plain));
    expectWithinTenth(await Promise.all(killed));
  });
});
