import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { EventBody, RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { spentOf } from "#core/limits.ts";
import { openSqliteReader } from "#store/sqlite/open-store.ts";
import { daemonOf } from "../helpers/daemon.ts";
import { type Ended, endedWith, type Goald, makeGoald } from "../helpers/goald.ts";
import { write } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { inPool } from "../helpers/pool.ts";
import { messageAgent, startAgent, subagentModel } from "../helpers/subagent-model.ts";
import { killUnder, runUnder } from "../helpers/under-hooks.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-event.child.ts", import.meta.url));
const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
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
interface Outcome {
  readonly killed: Ended;
  readonly resumed: Ended;
  readonly logs: Logs;
  readonly agents: readonly string[];
  readonly unread: number;
  readonly problems: readonly string[];
  readonly file: string | undefined;
}

async function lookAtAll({ home }: Goald): Promise<Pick<Outcome, "logs" | "agents" | "unread" | "problems">> {
  const reader = await openSqliteReader(join(home, ".goald", "goald.db"));
  try {
    const rows = await reader.agents();
    const logs = await Promise.all(rows.map(async ({ id }) => [id, await reader.read(id, 0, 1_000)] as const));
    const inboxes = await Promise.all(rows.map(({ id }) => reader.inbox(id)));
    const agents = rows.map(({ id, parent }) => `${id} of ${parent}`);
    const { problems } = await reader.verify();
    return { logs: Object.fromEntries(logs), agents, unread: inboxes.flat().length, problems };
  } finally {
    await reader.close();
  }
}

/** The terminal ends with T; what T sent last may still be on its way to an agent below. */
async function lookWhenAllIsRead(goald: Goald): ReturnType<typeof lookAtAll> {
  await waitUntil("every message is read", async () => (await lookAtAll(goald)).unread === 0);
  return await lookAtAll(goald);
}

const openHome = async () => {
  const server = await startOpenAIServer({ reply: subagentModel(CALLS), embeddings: null });
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  return {
    goald,
    [Symbol.asyncDispose]: async () => {
      await goald[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
};

async function killAndResume(point: string): Promise<Outcome> {
  await using home = await openHome();
  const { goald } = home;
  const killed = await killUnder({ imports: [HOOK], env: { KILL_AT_EVENT: point } }, goald, RUN);
  // Otherwise a daemon would take over the agents; another test below covers that.
  await rm(join(goald.home, ".goald", "wanted"), { force: true });
  const { agents } = await lookAtAll(goald);
  const resumed = await goald.run(agents.length === 0 ? RUN : ["resume", "t", "--json"]);
  return {
    killed,
    resumed,
    ...(await lookWhenAllIsRead(goald)),
    file: await goald.read("workspace/t/agents/t-ann/a.txt"),
  };
}

const types = (log: readonly RecordedEvent[] = [], ...wanted: readonly EventBody["type"][]): readonly string[] =>
  log.filter(({ type }) => wanted.includes(type)).map(({ type }) => type);

function expectOnce({ logs, agents, unread, problems, file }: Omit<Outcome, "killed" | "resumed">): void {
  expect(problems).toEqual([]);
  expect(agents).toEqual(["t of null", "t-ann of t", "t-bo of t"]);
  expect(unread).toBe(0);
  const t = logs.t ?? [];
  // Each agent got one start, one message and one end, and each call finished once.
  expect(types(t, "agent-started", "agent-told", "agent-ended")).toEqual([
    "agent-started",
    "agent-started",
    "agent-told",
    "agent-ended",
  ]);
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
    await runUnder({ imports: [HOOK], env: { COMMIT_LOG: log } }, home.goald, RUN);
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

describe("a daemon that is killed repeatedly while sub-agents work", () => {
  it("continues with all of them each time, and repeats no start, message or answer", async () => {
    await using home = await openHome();
    const { goald } = home;
    await using daemon = daemonOf(goald);
    const [, ...run] = RUN.filter((word) => word !== "--continuous");
    endedWith(0, await goald.run(["run", "-d", ...run]));
    const finished = async (): Promise<boolean> => types((await lookAtAll(goald)).logs.t, "turn-finished").length === 1;
    for (const event of ["agent-started", "agent-told", "agent-ended"] as const) {
      await daemon.until(event, async () => types((await lookAtAll(goald)).logs.t, event).length > 0);
      if (daemon.isHeld()) await daemon.kill();
      endedWith(0, await goald.run(["up"]));
    }
    await daemon.until("the end", finished);
    await lookWhenAllIsRead(goald);
    endedWith(0, await goald.run(["down"]));
    expectOnce({ ...(await lookAtAll(goald)), file: await goald.read("workspace/t/agents/t-ann/a.txt") });
  }, 60_000);
});
