import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { spentOf } from "#core/limits.ts";
import { openSqliteReader } from "#store/sqlite/open-store.ts";
import { conditionalModel } from "../helpers/conditional-model.ts";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, type Goald, makeGoald } from "../helpers/goald.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { shareSnapshot } from "../helpers/seed-home.ts";
import { nameIn } from "../helpers/subagent-model.ts";
import { APPENDS, CALLS, crowdLines, ledgerOf } from "./cell-crowd.ts";

const AGENTS = [...Array.from({ length: 18 }, (_, at) => `J${at + 1}`), "P1", "P2"];
const CELLS = 1;
const KILLS = 30;
const WAIT_LIMIT_MS = 100_000;
/** Usage that the server reports: of the prompt, and of a reply by its length. */
const INPUT_TOKENS = 100;

type Logs = Readonly<Record<string, readonly RecordedEvent[]>>;

async function readAll({ home }: Goald): Promise<{ readonly logs: Logs; readonly problems: readonly string[] }> {
  const reader = await openSqliteReader(join(home, ".goald", "goald.db"));
  try {
    const rows = await reader.agents();
    const logs = await Promise.all(rows.map(async ({ id }) => [id, await reader.read(id, 0, 10_000)] as const));
    return { logs: Object.fromEntries(logs), problems: (await reader.verify()).problems };
  } finally {
    await reader.close();
  }
}

/** Resolves when the ledgers have so many lines together. */
async function reach(goald: Goald, lines: number): Promise<void> {
  const end = performance.now() + WAIT_LIMIT_MS;
  for (let poll = 1; ; poll++, await sleep(10)) {
    if (poll % 100 === 0) await resumePaused(goald);
    const ledgers = await Promise.all(AGENTS.map((name) => goald.read(`workspace/${name.toLowerCase()}/ledger.txt`)));
    const written = ledgers.reduce((sum, text = "") => sum + text.split("\n").length - 1, 0);
    if (written >= lines) return;
    if (performance.now() > end) throw new Error(`Waited in vain for ${lines} lines, there are ${written}.`);
  }
}

/** goald pauses an agent when three processes died while its command ran alone. A person lets it go on. */
async function resumePaused(goald: Goald): Promise<void> {
  for (const [id, log] of Object.entries((await readAll(goald)).logs))
    if (replay(log).paused?.code === "crash-loop") endedWith(0, await goald.ask(["resume", id, "-d"]));
}

describe("twenty agents whose every reply is a cell of 200 calls", () => {
  it("keep their limits to the token, and lose or double no cell, although the daemon is killed thirty times", async () => {
    /** Tokens that the server charged, by agent. */
    const charged: Record<string, number> = {};
    const think = conditionalModel(crowdLines(CELLS));
    await using server = await startOpenAIServer({
      reply: (request) => {
        const text = think(request) as string;
        const name = nameIn(request);
        charged[name] = (charged[name] ?? 0) + INPUT_TOKENS + Math.ceil(text.length / 4);
        return text;
      },
      embeddings: null,
    });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    await shareSnapshot(goald);
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.ask(["up"]));
    for (const name of AGENTS) {
      const agent = [
        "--name",
        name,
        "--role",
        "a clerk",
        "--goal",
        "Fill the ledger.",
        "--form",
        "code",
        "--approve",
        "never",
      ];
      endedWith(0, await goald.ask(["run", "-d", ...agent, "--max-tokens", "60000"]));
    }
    // The kills are spread over the whole work, each at another moment after a line was written.
    const all = AGENTS.length * CELLS * APPENDS;
    for (let kill = 1; kill <= KILLS; kill++) {
      await reach(goald, Math.floor((kill * all) / (KILLS + 2)));
      await sleep((kill * 37) % 120);
      await daemon.kill();
      endedWith(0, await goald.ask(["up"]));
    }
    await reach(goald, all);
    const isOver = async (): Promise<boolean> => {
      const states = Object.values((await readAll(goald)).logs).map((log) => replay(log));
      return states.every(({ frames }) => frames[0].phase.kind === "resting");
    };
    await daemon.until("the end", isOver);
    const { logs, problems } = await readAll(goald);
    expect(problems).toEqual([]);
    for (const name of AGENTS) {
      const id = name.toLowerCase();
      const log = logs[id] ?? [];
      expect(await goald.read(`workspace/${id}/ledger.txt`)).toBe(ledgerOf(CELLS));
      const ended = log.flatMap((event) => (event.type === "command-finished" ? [event] : []));
      const cells = ended.filter(({ callId }) => /^c\d+$/.test(callId));
      expect(cells.map(({ observation }) => observation.status)).toEqual(Array.from({ length: CELLS + 1 }, () => "ok"));
      expect(new Set(ended.map(({ callId }) => callId)).size).toBe(ended.length);
      const state = replay(log);
      const { tokens } = spentOf(state);
      expect(tokens).toBeLessThanOrEqual(state.settings.tokenLimit ?? 0);
      expect(tokens).toBeGreaterThanOrEqual(charged[name] ?? 0);
    }
    expect(CALLS).toBe(200);
  }, 600_000);
});
