/**
 * step-cost.ts -- measures the cost of a step, its growth with the agent's age, its ratio to two loops, and the cost of recall.
 *
 *   node bench/step-cost.ts [rounds]
 *
 * The bare loop (step-cost/floor.ts) makes the commits of goald, the plain loop (step-cost/bare.ts) keeps one row a message.
 * All run at the same time, each in a process of its own, against a model server in another process that answers at once. CPU, memory and bytes are therefore those of the loop alone, and other load on the
 * machine slows all: one program measured twice in turn differed by up to 17 % on a shared machine, side by side by 4 %.
 * Then goald runs each scenario of step-cost/scenarios.ts beside itself without recall and the bare loop.
 * Figures are medians of the rounds, ratios are medians of the rounds' ratios. A missed target is printed and does not fail the bench.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCount } from "./shared/read-count.ts";
import type { Job, Report } from "./step-cost/meter.ts";
import type { Seen } from "./step-cost/model-server.ts";
import { SCENARIOS, type Scenario } from "./step-cost/scenarios.ts";
import { RECALL_SIDES, type Run, SIDES, type Side, showRuns, showScenarios } from "./step-cost/table.ts";

const STEPS = [100, 500, 2000];
const SCENARIO_STEPS = [500];
const ROUNDS = readCount(0, "the rounds", 3);

using root = mkdtempDisposableSync(join(tmpdir(), "goald-bench-"));
using server = fork(join(import.meta.dirname, "step-cost/model-server.ts"));
const [port] = (await once(server, "message")) as [number];
showRuns(await measureRounds("words", SIDES, STEPS, port), ROUNDS);
const runs: Run[] = [];
for (const scenario of SCENARIOS) runs.push(...(await measureRounds(scenario, RECALL_SIDES, SCENARIO_STEPS, port)));
showScenarios(runs);

/** What the runs that are compared have in common. */
interface Setup extends Pick<Job, "systemChars" | "lastMessageChars" | "replyFormat"> {
  readonly scenario: Scenario;
  readonly port: number;
}

async function measureRounds(
  scenario: Scenario,
  sides: readonly Side[],
  ages: readonly number[],
  port: number,
): Promise<readonly Run[]> {
  // The first run of each fills the compile cache. goald's run has ten recalls in its last prompt and so determines the sizes.
  const sizes = await measure("goald", 20, { scenario, port, systemChars: 0, lastMessageChars: 0 });
  const { systemChars, lastMessageChars, replyFormat } = sizes;
  const setup: Setup = { scenario, port, systemChars, lastMessageChars, replyFormat };
  for (const side of sides) if (side !== "goald") await measure(side, 20, setup);
  const runs: Run[] = [];
  for (let round = 0; round < ROUNDS; round++)
    for (const steps of ages) runs.push(...(await measureAll(sides, steps, setup)));
  return runs;
}

/** Starts another process of each side that ends, so that the slowest side does not run alone. */
async function measureAll(sides: readonly Side[], steps: number, setup: Setup): Promise<readonly Run[]> {
  const fillers: ChildProcess[] = [];
  const runs = sides.map(async (side) => {
    const run = await measure(side, steps, setup);
    fillers.push(start(side, 1_000 * steps, setup).child);
    return run;
  });
  const all = await Promise.all(runs);
  const ended = fillers.map((filler) => once(filler, "exit"));
  for (const filler of fillers) filler.kill("SIGKILL");
  await Promise.all(ended);
  return all;
}

async function measure(side: Side, steps: number, setup: Setup): Promise<Run & Seen> {
  const { child, name, startedAt } = start(side, steps, setup);
  const report = await answer<Report>(child, `${side} of ${steps} steps`);
  const seen = await seenOf(name);
  if (seen.requests !== steps) throw new Error(`Expected ${steps} requests of ${side}, counted ${seen.requests}.`);
  rmSync(join(root.path, name), { recursive: true });
  return { side, scenario: setup.scenario, steps, startMs: seen.firstAt - startedAt, ...report, ...seen };
}

function start(side: Side, steps: number, { scenario, port, ...sizes }: Setup) {
  const folder = mkdtempSync(join(root.path, `${scenario}-${side}-`));
  const name = folder.slice(root.path.length + 1);
  const job: Job = {
    ...sizes,
    steps,
    baseUrl: `http://127.0.0.1:${port}/${name}/v1`,
    folder,
    ...(side === "unrecalled" ? { recallCount: 0 } : {}),
  };
  const env = { ...process.env, NODE_COMPILE_CACHE: join(root.path, "compile-cache") };
  const startedAt = Date.now();
  const program = side === "unrecalled" ? "goald" : side;
  const child = fork(join(import.meta.dirname, `step-cost/${program}.ts`), [JSON.stringify(job)], { env });
  return { child, name, startedAt };
}

async function seenOf(name: string): Promise<Seen> {
  server.send(name);
  for (;;) {
    const seen = await answer<Seen>(server, "the model server");
    if (seen.run === name) return seen;
  }
}

/** Returns the next message; rejects when the process exits without one. */
async function answer<T>(child: ChildProcess, who: string): Promise<T> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`Expected an answer from ${who}, but it exited with ${code}.`);
  });
  ended.catch(() => undefined);
  try {
    const [message] = await Promise.race([once(child, "message", { signal }), ended]);
    return message as T;
  } finally {
    over.abort();
  }
}
