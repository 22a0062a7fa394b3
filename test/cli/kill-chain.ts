/** kill-chain.ts -- a run whose processes are killed in turn, at a chosen commit or at a random moment. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { daemonOf } from "../helpers/daemon.ts";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { ledger, ledgerText, numberedModel, write } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { inPool } from "../helpers/pool.ts";
import { killUnder } from "../helpers/under-hooks.ts";
import { HOOK, RUN } from "./kill-points.ts";

/** `files`: steps of the run killed at chosen commits. `kills`: kills of the other run. `lines`: its steps. */
export interface ChainLength {
  readonly files: number;
  readonly kills: number;
  readonly lines: number;
}

export function describeChains({ files, kills: many, lines }: ChainLength): void {
  describe("a run whose processes are killed one after another", () => {
    let inTheMiddle: Promise<Chain>;
    let atRandom: Promise<Chain>;
    beforeAll(() => {
      const chains = [() => killInTheMiddle(files), () => killAtRandom(many, lines)];
      [inTheMiddle, atRandom] = inPool(2, chains, (kill) => kill()) as [Promise<Chain>, Promise<Chain>];
    });

    it("finishes with each effect once if each process dies right before its seventh commit", async () => {
      const { kills, texts, log, problems } = await inTheMiddle;
      expect(kills).toBeGreaterThanOrEqual(files);
      expect(texts).toEqual(writesOf(files).map(({ args }) => args.text));
      expect(problems).toEqual([]);
      expect(log.filter(({ type }) => type === "command-finished")).toHaveLength(files + 1);
    }, 90_000);

    it(`loses and repeats nothing at ${many} random moments, and its store is sound each time`, async () => {
      const { kills, texts, log, problems, asked } = await atRandom;
      expect(kills).toBe(many);
      expect(texts).toEqual([ledgerText(lines)]);
      expect(problems).toEqual([]);
      const replied = log.filter(({ type }) => type === "model-replied").length;
      expect(replied).toBe(lines + 1);
      expect(asked - replied).toBeLessThanOrEqual(kills);
    }, 90_000);
  });
}

interface Chain {
  readonly kills: number;
  readonly texts: readonly (string | undefined)[];
  readonly log: readonly RecordedEvent[];
  /** Problems that `goald verify` reported after each kill and at the end. */
  readonly problems: readonly string[];
  readonly asked: number;
}

const writesOf = (files: number) => Array.from({ length: files }, (_, at) => write(`file-${at}.txt`, `text ${at}`));

/**
 * A resumed process first commits the message, its claim, the interruption, that the command runs alone, and its next start.
 * The sixth commit has the result, and the seventh belongs to the following step.
 */
async function killInTheMiddle(files: number): Promise<Chain> {
  const calls = writesOf(files);
  await using server = await startOpenAIServer({ reply: numberedModel(calls), embeddings: null });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  const hook = (point: string) => ({ imports: [HOOK], env: { KILL_AT_COMMIT: point } });
  await killUnder(hook("4:after"), goald, RUN);
  for (let kills = 1; ; kills++) {
    const ended = await killUnder(hook("7:before"), goald, ["resume", "t", "--json"]);
    if (ended.signal === "SIGKILL" && kills < 5 * files) continue;
    endedWith(0, ended);
    const texts = await Promise.all(calls.map(({ args }) => goald.read(`workspace/t/${args.file}`)));
    return { kills, texts, asked: server.chats.length, ...(await lookInto(goald)) };
  }
}

async function killAtRandom(many: number, lines: number): Promise<Chain> {
  const think = numberedModel(ledger(lines));
  // The delay keeps fast machines from finishing before the kill.
  const stepsALife = Math.floor(lines / many) - 1;
  let steps = 0;
  await using server = await startOpenAIServer({
    reply: (request) =>
      steps++ < stepsALife ? { text: think(request), delayMs: 10 * Math.random() } : { fault: "stall" },
  });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
  const daemon = daemonOf(goald);
  const problems: string[] = [];
  let kills = 0;
  for (; kills < many; kills++) {
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
  endedWith(0, await goald.run(["resume", "t", "--json"]));
  endedWith(0, await goald.run(["verify"]));
  const texts = [await goald.read("workspace/t/ledger.txt")];
  const { log, problems: last } = await lookInto(goald);
  return { kills, texts, log, problems: [...problems, ...last], asked: server.chats.length };
}
