import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { isDaemonExpected } from "#api/daemon-files.ts";
import { ensureDaemon } from "#api/find-daemon.ts";
import { spawnDaemon } from "#api/spawn-daemon.ts";
import { findHome, type Home } from "#config/home.ts";
import { isGoaldError } from "#core/errors.ts";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, jsonOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { type OpenAIServerOptions, startOpenAIServer } from "../helpers/openai-server.ts";

/** Shorter for the calls that meet the end; the other tests must reach the daemon before it. */
const IDLE_MS = 3_000;
const SHORT_MS = 400;
const PROGRAM = fileURLToPath(new URL("../helpers/idle-daemon.child.ts", import.meta.url));
const SETTINGS = { approve: "never", stepLimit: 3 } as const;

/** A home whose next daemon ends after `IDLE_MS`, as one does after ten minutes that a verb started. */
async function openHome(reply: OpenAIServerOptions["reply"] = numberedModel([])) {
  const server = await startOpenAIServer({ reply, embeddings: null });
  const goald = await makeGoald();
  await goald.write(".env", `OPENAI_BASE_URL=${server.baseUrl}\nGOALD_MEMORY_EMBEDDER=offline\n`);
  const search = { checkout: undefined, userHome: goald.userHome, configHome: undefined, isTerminal: false };
  const home: Home = await findHome({
    ...{ ...search, flag: goald.home, env: {}, cwd: goald.cwd, uid: process.getuid?.() },
    askTrust: async () => false,
  });
  return {
    ...{ server, goald, home, daemon: daemonOf(goald) },
    start: (idleMs = IDLE_MS) => {
      process.env.IDLE_MS = `${idleMs}`;
      return spawnDaemon(home, { program: PROGRAM });
    },
    [Symbol.asyncDispose]: async () => {
      await goald[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

describe("a daemon that nothing has needed for its time", () => {
  it("ends, is not missed, and the next verb starts another one", async () => {
    await using world = await openHome();
    const { daemon, goald, home, start } = world;
    await start();
    await daemon.until("it ends", () => !daemon.isHeld());
    expect(isDaemonExpected(home)).toBe(false);
    expect(endedWith(0, await goald.ask(["logs", "--daemon"])).stdout).toContain("The daemon has gone down.");
    endedWith(0, await goald.ask(["run", "--continuous", "--name", "T", "--role", "r", "-g", "g"]));
    expect(daemon.isHeld()).toBe(true);
  });

  it("stays while an agent waits for a time, and while somebody follows one", async () => {
    await using world = await openHome(() => ({ status: 429, headers: { "retry-after": "120" } }));
    const { daemon, start } = world;
    await start();
    await daemon.client.create({ name: "T", role: "r", goals: ["g"], settings: SETTINGS });
    await daemon.until("it waits for the server", async () => (await lookInto(world.goald)).log.some(isFailure));
    await sleep(1.5 * IDLE_MS);
    expect(daemon.isHeld()).toBe(true);
    await daemon.client.kill("t");
    const leaving = new AbortController();
    const following = daemon.client.follow("t", { after: 0, signal: leaving.signal })[Symbol.asyncIterator]();
    await following.next();
    await sleep(1.5 * IDLE_MS);
    expect(daemon.isHeld()).toBe(true);
    leaving.abort();
    await following.return?.();
    await daemon.until("it ends", () => !daemon.isHeld());
  });

  it("stays when goald up has asked for it", async () => {
    await using world = await openHome();
    const { daemon, goald, start } = world;
    await start();
    endedWith(0, await goald.ask(["up"]));
    await sleep(1.5 * IDLE_MS);
    expect(daemon.isHeld()).toBe(true);
    endedWith(0, await goald.ask(["down"]));
  });
});

describe("three hundred calls within 50 ms of the end", () => {
  it("are each accepted once or refused, by one daemon, and none is lost", async () => {
    await using world = await openHome();
    const { daemon, goald, home, start } = world;
    const accepted: string[] = [];
    const refused: string[] = [];
    await ensureDaemon(home);
    await daemon.client.create({ name: "Hub", role: "r", goals: ["g"], settings: { ...SETTINGS, stepLimit: null } });
    for (let round = 0; round < 30; round++) {
      if (daemon.isHeld()) await daemon.client.shutdown(1_000);
      await daemon.until("no daemon is left", () => !daemon.isHeld());
      await start(SHORT_MS);
      const calls = Array.from({ length: 10 }, async (_none, at) => {
        await sleep(SHORT_MS - 100 + 100 * Math.random());
        const name = `r${round}n${at}`;
        try {
          const { client } = await ensureDaemon(home);
          if (at % 2 === 0) await client.create({ name, role: "r", goals: ["g"], settings: SETTINGS, key: name });
          else await client.say("hub", { from: "ada", text: `${name}.`, key: name });
          accepted.push(name);
        } catch (thrown) {
          if (!isGoaldError(thrown, "GOALD_DAEMON")) throw thrown;
          refused.push(name);
        }
      });
      await Promise.all(calls);
    }
    await ensureDaemon(home);
    const names = new Set(accepted);
    const isOver = async () => (await daemon.client.agents()).every(({ state }) => state === "completed");
    await daemon.until("all agents are done", isOver);
    const { agents } = jsonOf<{ agents: { name: string }[] }>(await goald.ask(["ps", "--all", "--json"]));
    const made = agents.map(({ name }) => name).filter((name) => name !== "Hub");
    const heard = (await lookInto(goald, "hub")).log.flatMap((event) =>
      event.type === "message-received" ? [String(event.text).replace(/\.$/, "")] : [],
    );
    expect([...made, ...heard].sort()).toEqual([...names].sort());
    expect(accepted.length + refused.length).toBe(300);
    expect(accepted.length).toBeGreaterThan(200);
    expect((await daemon.processes()).length).toBe(1);
    expect((await lookInto(goald, "hub")).problems).toEqual([]);
  }, 300_000);
});

const isFailure = ({ type }: { readonly type: string }): boolean => type === "model-failed";
