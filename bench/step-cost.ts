/**
 * step-cost.ts -- measures the cost of a step, its growth with the agent's age, and its ratio to two loops.
 *
 *   node bench/step-cost.ts [rounds]
 *
 * The bare loop (step-cost/floor.ts) makes the commits of goald, the plain loop (step-cost/bare.ts) keeps one row a message.
 * All run at the same time, each in a process of its own, against a model server in another process that answers at once. CPU, memory and bytes are therefore those of the loop alone, and other load on the
 * machine slows all: one program measured twice in turn differed by up to 17 % on a shared machine, side by side by 4 %.
 * Figures are medians of the rounds, ratios are medians of the rounds' ratios. A missed target is printed and does not fail the bench.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCount } from "./shared/read-count.ts";
import type { Job, Report } from "./step-cost/meter.ts";
import type { Seen } from "./step-cost/model-server.ts";
import { type Run, SIDES, showRuns } from "./step-cost/table.ts";

const STEPS = [100, 500, 2000];
const ROUNDS = readCount(0, "the rounds", 3);

const root = mkdtempSync(join(tmpdir(), "goald-bench-"));
const server = fork(join(import.meta.dirname, "step-cost/model-server.ts"));
try {
  const [port] = (await once(server, "message")) as [number];
  // The first run of each fills the compile cache. goald's run has ten recalls in its last prompt and so determines the sizes.
  const sizes = await measure("goald", 20, port, { systemChars: 0, lastMessageChars: 0 });
  for (const side of ["floor", "bare"] as const) await measure(side, 20, port, sizes);
  const runs: Run[] = [];
  for (let round = 0; round < ROUNDS; round++)
    for (const steps of STEPS) runs.push(...(await measureAll(steps, port, sizes)));
  showRuns(runs, ROUNDS);
} finally {
  server.disconnect();
  rmSync(root, { recursive: true, force: true });
}

type Sizes = Pick<Job, "systemChars" | "lastMessageChars" | "replyFormat">;

/** Starts another process of each side that ends, so that the slowest side does not run alone. */
async function measureAll(steps: number, port: number, sizes: Sizes): Promise<readonly Run[]> {
  const fillers: ChildProcess[] = [];
  const runs = SIDES.map(async (side) => {
    const run = await measure(side, steps, port, sizes);
    fillers.push(start(side, 1_000 * steps, port, sizes).child);
    return run;
  });
  const all = await Promise.all(runs);
  const ended = fillers.map((filler) => once(filler, "exit"));
  for (const filler of fillers) filler.kill("SIGKILL");
  await Promise.all(ended);
  return all;
}

async function measure(side: Run["side"], steps: number, port: number, sizes: Sizes): Promise<Run & Seen> {
  const { child, name, startedAt } = start(side, steps, port, sizes);
  const report = await answer<Report>(child, `${side} of ${steps} steps`);
  const seen = await seenOf(name);
  if (seen.requests !== steps) throw new Error(`Expected ${steps} requests of ${side}, counted ${seen.requests}.`);
  rmSync(join(root, name), { recursive: true });
  return { side, steps, startMs: seen.firstAt - startedAt, ...report, ...seen };
}

function start(side: Run["side"], steps: number, port: number, sizes: Sizes) {
  const folder = mkdtempSync(join(root, `${side}-`));
  const name = folder.slice(root.length + 1);
  const { systemChars, lastMessageChars, replyFormat } = sizes;
  const job: Job = {
    steps,
    baseUrl: `http://127.0.0.1:${port}/${name}/v1`,
    folder,
    systemChars,
    lastMessageChars,
    replyFormat,
  };
  const env = { ...process.env, NODE_COMPILE_CACHE: join(root, "compile-cache") };
  const startedAt = Date.now();
  const child = fork(join(import.meta.dirname, `step-cost/${side}.ts`), [JSON.stringify(job)], { env });
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
