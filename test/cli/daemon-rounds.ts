/**
 * daemon-rounds.ts -- kills the daemon with -9 while six processes start one: exactly one must result.
 *
 * The agent that causes the restart waits for an approval, so it stays unfinished during the test.
 */
import { expect } from "@jest/globals";
import { daemonOf, type TestDaemon } from "../helpers/daemon.ts";
import { type Ended, endedWith, type Goald, makeGoald } from "../helpers/goald.ts";
import { numberedModel, write } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const VERBS = [["up"], ["ps"], ["up"], ["ps"], ["up"], ["ps"]];

export async function playRounds(rounds: number): Promise<void> {
  await using server = await startOpenAIServer({ reply: numberedModel([write("a.txt", "a")]), embeddings: null });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
  await using daemon = daemonOf(goald);
  endedWith(0, await goald.run(["up"]));
  await createWaiting(daemon);
  for (let round = 1; round <= rounds; round++) {
    const before = daemon.pid();
    await daemon.kill();
    await daemon.until("none is left", async () => (await daemon.processes()).length === 0);
    const ended = await Promise.all(VERBS.map((verb) => goald.run([...verb, "--json"])));
    await expectOne(goald, daemon, before, ended);
  }
}

/** Starts an agent in the background whose first command waits for an approval. */
export async function createWaiting({ client, until }: TestDaemon): Promise<void> {
  await client.create({
    name: "t",
    role: "an assistant that waits",
    goals: ["wait"],
    settings: { approve: "always", stepLimit: null, background: true },
  });
  await until("the agent waits for a yes", async () => (await client.agent("t")).state === "waiting: approval");
}

async function expectOne(goald: Goald, daemon: TestDaemon, before: number, ended: readonly Ended[]): Promise<void> {
  for (const one of ended) endedWith(0, one);
  const pid = daemon.pid();
  expect(pid).not.toBe(before);
  const told = ended.filter((_one, at) => VERBS[at]?.[0] === "up").map((one) => JSON.parse(one.stdout) as object);
  // All six got the same daemon, and at most one of them started it.
  expect(told).toEqual(told.map(() => expect.objectContaining({ pid, running: true })));
  const revived = ended.filter(({ stderr }) => stderr.includes("started again")).length;
  expect(told.filter((one) => "started" in one && one.started === true).length + revived).toBe(1);
  // The processes that lost the race end by themselves.
  await daemon.until("one process is left", async () => (await daemon.processes()).length === 1);
  expect(await daemon.processes()).toEqual([pid]);
  expect(JSON.parse(endedWith(0, await goald.run(["status", "--json"])).stdout)).toMatchObject({
    pid,
    agents: { waiting: 1 },
  });
}
