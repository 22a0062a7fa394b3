import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { ledger, ledgerText, numberedModel, write } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { inPool } from "../helpers/pool.ts";

import { describeKills, HOOK, killAndResume, RUN, STEPS } from "./kill-points.ts";

// Every fifth point, before and after commits in turn; all of them in kill.long.ts.
describeKills((index) => index % 5 === 2);

describe("a command that promises more than it keeps", () => {
  it("can be seen to act twice: the count of effects is no matter of luck", async () => {
    const calls = ledger(STEPS);
    // It calls itself idempotent, and adds a line whenever it runs.
    const careless = `export default {
      name: "append_to_file", label: "Append", summary: "Adds text.", effect: "idempotent",
      args: { type: "object", required: ["file", "text"], properties: {
        file: { type: "string", description: "path" }, text: { type: "string", description: "text" } } },
      annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
      async run({ file, text }, { workspace }) {
        await workspace.append(file, text);
        return { status: "ok", text: "Added.", source: "goald", artifacts: [file] };
      },
    };`;
    const outcome = await killAndResume(calls, ["ledger.txt"], [6, "before"], {
      "commands/append_to_file.ts": careless,
    });
    expect(outcome.files["ledger.txt"]).toBe(`line 1\n${ledgerText(STEPS)}`);
  });
});

describe("a run in which one process after the other is killed", () => {
  let inTheMiddle: Promise<Chain>;
  let atRandom: Promise<Chain>;
  beforeAll(() => {
    [inTheMiddle, atRandom] = inPool(2, [killInTheMiddle, killAtRandom], (kill) => kill()) as [
      Promise<Chain>,
      Promise<Chain>,
    ];
  });

  it("each right before its sixth commit, comes to its end with each effect once", async () => {
    const { kills, texts, log, problems } = await inTheMiddle;
    expect(kills).toBeGreaterThanOrEqual(STEPS);
    expect(texts).toEqual(TWELVE_FILES.map(({ args }) => args.text));
    expect(problems).toEqual([]);
    expect(log.filter(({ type }) => type === "command-finished")).toHaveLength(STEPS + 1);
  }, 90_000);

  it("at fifteen moments that nobody chose, loses nothing, doubles nothing, and is sound each time", async () => {
    const { kills, texts, log, problems, asked } = await atRandom;
    expect(kills).toBe(15);
    expect(texts).toEqual([ledgerText(MANY)]);
    expect(problems).toEqual([]);
    const replied = log.filter(({ type }) => type === "model-replied").length;
    expect(replied).toBe(MANY + 1);
    expect(asked - replied).toBeLessThanOrEqual(kills);
  }, 90_000);
});

interface Chain {
  readonly kills: number;
  readonly texts: readonly (string | undefined)[];
  readonly log: readonly RecordedEvent[];
  /** What `goald verify` found after any of the kills, and at the end. */
  readonly problems: readonly string[];
  readonly asked: number;
}

const TWELVE_FILES = Array.from({ length: STEPS }, (_, at) => write(`file-${at}.txt`, `text ${at}`));
/** A process that resumes commits the message, the claim, what it found cut off, and what it begins: its sixth would be of the step after. */
async function killInTheMiddle(): Promise<Chain> {
  await using server = await startOpenAIServer({ reply: numberedModel(TWELVE_FILES), embeddings: null });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_EMBEDDER: "offline" });
  const hook = (point: string) => ({ imports: [HOOK], env: { KILL_AT_COMMIT: point } });
  await goald.run(RUN, hook("4:after"));
  for (let kills = 1; ; kills++) {
    const ended = await goald.run(["resume", "t", "--json"], hook("6:before"));
    if (ended.signal === "SIGKILL" && kills < 5 * STEPS) continue;
    endedWith(0, ended);
    const texts = await Promise.all(TWELVE_FILES.map(({ args }) => goald.read(`workspace/t/${args.file}`)));
    return { kills, texts, asked: server.chats.length, ...(await lookInto(goald)) };
  }
}

const MANY = 80;
async function killAtRandom(): Promise<Chain> {
  const think = numberedModel(ledger(MANY));
  await using server = await startOpenAIServer({
    reply: (request) => ({ text: think(request), delayMs: 10 * Math.random() }),
  });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
  const problems: string[] = [];
  let kills = 0;
  for (; kills < 15; kills++) {
    const running = goald.start((await lookInto(goald)).log.length === 0 ? RUN : ["resume", "t", "--json"]);
    // Every other one while it starts, the rest at work.
    if (kills % 2 === 0) await running.see('"model-asked"');
    await sleep((kills % 2 === 0 ? 100 : 300) * Math.random());
    running.kill("SIGKILL");
    await running.ended;
    problems.push(...(await lookInto(goald)).problems);
  }
  endedWith(0, await goald.run(["resume", "t", "--json"]));
  endedWith(0, await goald.run(["verify"]));
  const texts = [await goald.read("workspace/t/ledger.txt")];
  const { log, problems: last } = await lookInto(goald);
  return { kills, texts, log, problems: [...problems, ...last], asked: server.chats.length };
}
