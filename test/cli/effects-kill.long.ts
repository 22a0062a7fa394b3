import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { EventBody, RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { spentOf } from "#core/limits.ts";
import {
  type DaemonHome,
  killAtEvent,
  killUnder,
  logCommits,
  makeDaemonHome,
  runUnder,
} from "../helpers/daemon-home.ts";
import { useSharedFolder } from "../helpers/folder.ts";
import { makeRepository, startGitServer } from "../helpers/git-server.ts";
import { daemonOf, endedWith, type Goald, killRun, linesOf, lookInto, RUN, readStore } from "../helpers/goald.ts";
import { messageAgent, startAgent, subagentModel, write } from "../helpers/models.ts";
import type { Answer } from "../helpers/openai-server.ts";
import {
  MEDIA_KEY,
  type MediaReplies,
  type MediaServer,
  pictureAnswer,
  png,
  startMediaServer,
  startServiceServer,
  startXServer,
  X_ENVIRONMENT,
} from "../helpers/service-servers.ts";
import { inPool, waitUntil } from "../helpers/waits.ts";

const IDS = ["t", "t-ann", "t-bo"] as const;

/** T starts two agents, sends one a message, and ends the other. */
const CALLS = {
  T: [
    startAgent("Ann"),
    startAgent("Bo"),
    messageAgent("t-ann", "Once more."),
    { name: "delete_agent", args: { key: "t-bo" } },
  ],
  Ann: [write("a.txt", "hello")],
};

/** The last event of each commit of the run, with the number of its agent. */
const COMMITS = [
  ...[1, 2, 6, 8, 11, 15, 17, 20, 24, 26, 29, 33, 36, 40, 43].map((seq) => `1:${seq}`),
  ...[1, 2, 5, 6, 8, 12, 15, 19, 23, 26].map((seq) => `2:${seq}`),
  ...[1, 2, 6, 9].map((seq) => `3:${seq}`),
];
/** Commits that another agent reacts to; elsewhere "after" equals "before" the next commit. */
const SENT = ["1:8", "1:17", "1:26", "1:36", "2:15", "2:26", "3:9"];
/** This point is repeated, since by chance the next run may end before it takes calls. */
const BY_CHANCE = Array.from({ length: 4 }, () => "1:36:after");
const POINTS = [...COMMITS.map((event) => `${event}:before`), ...SENT.map((event) => `${event}:after`), ...BY_CHANCE];
type Logs = Readonly<Record<string, readonly RecordedEvent[]>>;
type Outcome = Awaited<ReturnType<typeof killAndResume>>;

const lookAtAll = (goald: Goald) =>
  readStore(goald, async (reader) => {
    const rows = await reader.agents();
    const logs = await Promise.all(rows.map(async ({ id }) => [id, await reader.read(id, 0, 1_000)] as const));
    const inboxes = await Promise.all(rows.map(({ id }) => reader.inbox(id)));
    const agents = rows.map(({ id, parent }) => `${id} of ${parent}`);
    const { problems } = await reader.verify();
    return { logs: Object.fromEntries(logs) as Logs, agents, unread: inboxes.flat().length, problems };
  });

/** The terminal ends with T; what T sent last may still be on its way to an agent below. */
async function lookWhenAllIsRead(goald: Goald): ReturnType<typeof lookAtAll> {
  await waitUntil("every message is read", async () => (await lookAtAll(goald)).unread === 0);
  return await lookAtAll(goald);
}

const openHome = (): Promise<DaemonHome> => makeDaemonHome([], { reply: subagentModel(CALLS) });

async function killAndResume(point: string) {
  await using home = await openHome();
  const { goald } = home;
  const killed = await killUnder(killAtEvent(point), goald, RUN);
  // Otherwise a daemon would take over the agents; another test below covers that.
  await rm(join(goald.home, ".goald", "wanted"), { force: true });
  const { agents } = await lookAtAll(goald);
  const resumed = await goald.run(agents.length === 0 ? RUN : ["resume", "t", "--json"]);
  const file = await goald.read("workspace/t/agents/t-ann/a.txt");
  return { killed, resumed, ...(await lookWhenAllIsRead(goald)), file };
}

const types = (log: readonly RecordedEvent[] = [], ...wanted: readonly EventBody["type"][]): readonly string[] =>
  log.filter(({ type }) => wanted.includes(type)).map(({ type }) => type);

function expectOnce({ logs, agents, unread, problems, file }: Omit<Outcome, "killed" | "resumed">): void {
  expect(problems).toEqual([]);
  expect(agents).toEqual(["t of null", "t-ann of t", "t-bo of t"]);
  expect(unread).toBe(0);
  const t = logs.t ?? [];
  // Each agent got one start, one message and one end, and each call finished once.
  const acts = ["agent-started", "agent-started", "agent-told", "agent-ended"];
  expect(types(t, "agent-started", "agent-told", "agent-ended")).toEqual(acts);
  const heard = t.flatMap((event) =>
    event.type === "agent-reported" ? [`${event.agent} ${event.tasksReceived}`] : [],
  );
  expect(heard).toEqual(["t-ann 1", "t-bo 1", "t-ann 2"]);
  const answers = t.flatMap((event) => (event.type === "command-finished" ? [String(event.observation.text)] : []));
  expect(answers).toHaveLength(5);
  expect(answers.filter((text) => text.includes("answers:"))).toHaveLength(3);
  expect(types(logs["t-ann"], "turn-started", "task-received", "turn-finished")).toEqual([
    "turn-finished",
    "turn-started",
    "task-received",
    "turn-finished",
  ]);
  expect(types(logs["t-bo"], "turn-started", "task-received", "turn-finished")).toEqual(["turn-finished"]);
  expect(file).toBe("hello");
  // Reserved limits are returned except for what was spent.
  const [own, ...others] = IDS.map((id) => replay(logs[id] ?? []));
  const spent = others.map((state) => spentOf(state));
  const total = spentOf(own as NonNullable<typeof own>);
  expect(total.steps).toBe((own?.step ?? 0) + spent.reduce((sum, { steps }) => sum + steps, 0));
}

describe("kill -9 of the real process at every event of a run with two sub-agents", () => {
  let outcomes: readonly Promise<Outcome>[];
  beforeAll(() => {
    outcomes = inPool(3, POINTS, killAndResume);
  });

  it("has no other commits than these", async () => {
    await using home = await openHome();
    const log = join(home.goald.cwd, "commits");
    await runUnder(logCommits(log), home.goald, RUN);
    const seen = await lookWhenAllIsRead(home.goald);
    const found = (await readFile(log, "utf8")).split(/\s+/).filter((each) => each !== "");
    expect(found.toSorted()).toEqual(COMMITS.toSorted());
    expectOnce({ ...seen, file: await home.goald.read("workspace/t/agents/t-ann/a.txt") });
  }, 60_000);

  it.each(POINTS.map((point, index) => [point, index] as const))(
    "%s: each agent starts once, each message and each answer arrives once",
    async (_point, index) => {
      const outcome = (await outcomes[index]) as Outcome;
      expect(outcome.killed).toMatchObject({ code: null, signal: "SIGKILL" });
      endedWith(0, outcome.resumed);
      expectOnce(outcome);
    },
    120_000,
  );
});

it("a daemon that is killed while sub-agents work goes on with all, and repeats no start, word or answer", async () => {
  await using home = await openHome();
  const { goald } = home;
  await using daemon = daemonOf(goald);
  const [, ...run] = RUN.filter((word) => word !== "--continuous");
  endedWith(0, await goald.run(["run", "-d", ...run]));
  const finished = async (): Promise<boolean> => types((await lookAtAll(goald)).logs.t, "turn-finished").length === 1;
  for (const event of ["agent-started", "agent-told", "agent-ended"] as const) {
    await daemon.until(event, async () => types((await lookAtAll(goald)).logs.t, event).length > 0);
    if (daemon.isHeld()) await daemon.kill();
    endedWith(0, await goald.run("up"));
  }
  await daemon.until("the end", finished);
  await lookWhenAllIsRead(goald);
  endedWith(0, await goald.run("down"));
  expectOnce({ ...(await lookAtAll(goald)), file: await goald.read("workspace/t/agents/t-ann/a.txt") });
}, 60_000);

it("a download that kill -9 interrupts is repeated after a resume, complete, and leaves no partial file", async () => {
  await using site = await startServiceServer(({ path }, index) => {
    if (path === "/robots.txt") return { status: 404 };
    return index === 1 ? { fault: "stall-body" } : { status: 200, body: "all of it" };
  });
  const calls = [{ name: "download_file", args: { url: `${site.origin}/a.txt`, file: "data/a.txt" } }];
  await using home = await makeDaemonHome(calls, { env: { GOALD_WEB_ALLOW: site.origin } });
  const { goald } = home;
  const running = goald.start(RUN);
  await site.asked(2);
  await killRun(goald, running);
  endedWith(0, await goald.ask("resume t --json"));
  const { log, problems } = await lookInto(goald);
  const started = log.flatMap((event) => (event.type === "command-started" ? [event] : []));
  expect(started.filter(({ effect }) => effect === "idempotent")).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
  expect(new Set(started.slice(0, 2).map(({ callId }) => callId)).size).toBe(1);
  expect(problems).toEqual([]);
  const folder = join(goald.home, "workspace/t");
  expect(await readdir(join(folder, "data"))).toEqual(["a.txt"]);
  expect(await readFile(join(folder, "data/a.txt"), "utf8")).toBe("all of it");
});

describe("a clone that kill -9 interrupts", () => {
  const root = useSharedFolder();
  const GIT_KEY = "github_pat_0123456789abcdefghij";

  it("leaves no partial folder after kill -9, and is complete after a resume", async () => {
    const commit = makeRepository(root, "plain.git", [{ path: "README.md", text: "# Plain\n" }]);
    let isSlow = true;
    await using git = await startGitServer({ root, instead: ({ method }) => isSlow && method === "POST" });
    const args = { repository_url: `${git.origin}/plain.git`, clone_path: "repositories/plain" };
    const env = { GOALD_WEB_ALLOW: git.origin, GITHUB_API_KEY: `${git.origin}=${GIT_KEY}` };
    await using home = await makeDaemonHome([{ name: "clone_repository", args }], { env });
    const { goald } = home;
    const running = goald.start(RUN);
    await git.asked(2);
    await killRun(goald, running);
    const place = join(goald.home, "workspace/t/repositories");
    expect(await readdir(place)).toEqual([]);
    expect(await readdir(join(goald.home, ".goald/clones"))).toHaveLength(1);
    isSlow = false;
    git.dropConnections();
    endedWith(0, await goald.ask("resume t --json"));
    expect(await readdir(place)).toEqual(["plain"]);
    expect(await readdir(join(goald.home, ".goald/clones"))).toEqual([]);
    expect(await readFile(join(place, "plain/README.md"), "utf8")).toBe("# Plain\n");
    const { log, problems } = await lookInto(goald);
    const [cloned] = log.filter((event) => event.type === "command-finished");
    expect(cloned).toMatchObject({ observation: { status: "ok", text: expect.stringContaining(commit) } });
    expect(problems).toEqual([]);
    // The server received the key, but no stored file contains it.
    expect(git.requests.every(({ authorization }) => authorization?.startsWith("Basic "))).toBe(true);
    const kept = await keptIn(goald.home);
    for (const key of [GIT_KEY, Buffer.from(`:${GIT_KEY}`).toString("base64")]) expect(kept).not.toContain(key);
  });
});

it("a post is sent once and never again if kill -9 comes before the answer, and its outcome is unknown", async () => {
  await using x = await startXServer(() => ({ fault: "stall" }));
  const env = { GOALD_TWITTER_BASE_URL: x.origin, ...X_ENVIRONMENT };
  await using home = await makeDaemonHome([{ name: "send_tweet", args: { text: "Hello" } }], { env });
  const { goald, server } = home;
  const running = goald.start(RUN);
  await x.asked(1);
  await killRun(goald, running);
  const ended = endedWith(0, await goald.ask("resume t --json"));
  expect(x.requests).toHaveLength(1);
  expect(x.violations).toEqual([]);
  const { log, problems } = await lookInto(goald);
  const [sent] = log.filter((event) => event.type === "command-finished");
  expect(sent).toMatchObject({ observation: { status: "unknown", text: expect.stringContaining("Look before") } });
  expect(server.chats.at(-1)?.messages.some(({ content }) => content.includes("Look before you repeat"))).toBe(true);
  expect(problems).toEqual([]);
  // No key is in the files, the output, or the prompts.
  const all = [await keptIn(goald.home), ended.stdout, ended.stderr, JSON.stringify(server.chats)].join("\n");
  expect(all).toContain("send_tweet");
  for (const secret of Object.values(X_ENVIRONMENT)) expect(all).not.toContain(secret);
});

/** Reads everything below the home as text. */
async function keptIn(home: string): Promise<string> {
  const names = await readdir(home, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  // The daemon renames and removes files of its own meanwhile.
  return (await Promise.all(files.map((file) => readFile(file, "latin1").catch(() => "")))).join("\n");
}

/** The price of the largest picture in the shipped prices of gpt-image-1. */
const TOKENS = { input_tokens: 4, output_tokens: 6_240, total_tokens: 6_244 };
const COST = (4 * 5 + 6_240 * 40) / 1e6;
const paint = (file: string) => ({ name: "generate_image", args: { prompt: "a red ball", file, size: "512x512" } });

/** The chat model runs on this machine and has no price, so it costs nothing. */
async function working(image: MediaReplies["image"], work: (goald: Goald, media: MediaServer) => Promise<void>) {
  await using media = await startMediaServer({ ...(image ? { image } : {}) });
  const env = { SMART_LLM: "local", GOALD_IMAGES_BASE_URL: media.baseUrl, GOALD_IMAGES_API_KEY: MEDIA_KEY };
  await using home = await makeDaemonHome(["a", "b", "c"].map(paint), { env });
  await work(home.goald, media);
  expect(media.violations).toEqual([]);
  expect((await lookInto(home.goald)).problems).toEqual([]);
}
const painted = (): Answer => {
  const answer = pictureAnswer(png(8, 8)) as { status: number; body: object };
  return { ...answer, body: { ...answer.body, usage: TOKENS } };
};
const shown = (goald: Goald) => goald.json<{ state: string; costUsd: number; lost: { usd: number } }>("show t");

describe("pictures that the real program pays for", () => {
  it("stop the agent at its budget; with a larger budget it continues and counts nothing twice", async () => {
    await working(painted, async (goald, media) => {
      const stopped = endedWith(6, await goald.ask([...RUN, "--budget", "0.3"]));
      expect(media.images).toHaveLength(2);
      const reason = "The budget of 0.3 US dollars is reached: 0.49924 US dollars are spent. ";
      expect(linesOf(stopped).at(-1)).toMatchObject({
        outcome: "budget",
        reason: expect.stringContaining(reason),
        exitCode: 6,
        costUsd: expect.closeTo(2 * COST, 6),
      });
      expect(await shown(goald)).toMatchObject({ state: "paused: budget", costUsd: expect.closeTo(2 * COST, 6) });
      expect(await goald.print("ps -a")).toContain("$0.50");
      expect(await goald.print("show t --step 1")).toContain(
        "Spent on models: 4 tokens in (0 cached), 6,240 out, $0.25\n",
      );
      expect(await goald.print("resume t --budget 5")).toMatch(/ tokens in and [\d,]+ out, \$0\.75\.\n/);
      expect(media.images).toHaveLength(3);
      // The report is written after the event that the terminal ends with.
      const report = async () => `${await goald.read("workspace/t/_goald/report.md")}`;
      await waitUntil("the cost in the report", async () => (await report()).includes("- $0.75\n"));
    });
  });

  it("count as possibly charged if kill -9 comes before the answer, and are not requested again", async () => {
    const image = (_request: unknown, _server: string): Answer => (first-- > 0 ? { fault: "stall" } : painted());
    let first = 1;
    await working(image, async (goald, media) => {
      const running = goald.start([...RUN, "--budget", "5"]);
      await media.asked(1);
      await killRun(goald, running);
      endedWith(0, await goald.ask("resume t --json"));
      expect(media.images).toHaveLength(3);
      const { costUsd, lost } = await shown(goald);
      expect(costUsd).toBeCloseTo(2 * COST, 6);
      expect(lost.usd).toBeCloseTo((4_000 * 5 + 6_240 * 40) / 1e6, 6);
    });
  });
});
