/**
 * plan-cost.ts -- measures what a plan adds to a prompt and to the CPU of a step: no plan, a plan of 10 tasks and one of 1,000.
 *
 *   node bench/plan-cost.ts [steps] [rounds]
 *
 * The real host on a real home, with a model server in this process that answers at once. The first step makes the plan. Then
 * each task is set to in_progress, a file is written, and the task is set to verified; without a plan, all of these steps write.
 * The plans are measured in turn in each round. Figures are medians of the rounds.
 */
import { mkdtempDisposableSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "./shared/median.ts";
import { cpuMs } from "./shared/meter.ts";
import { startServer, streamReply, writeReply } from "./shared/model-server.ts";
import { openBenchHome, openBenchHost } from "./shared/open-bench-host.ts";
import { readCount } from "./shared/read-count.ts";

const STEPS = readCount(0, "the steps", 300);
const ROUNDS = readCount(1, "the rounds", 3);
const SIZES = [0, 10, 1_000] as const;
/** The first steps load and compile code. */
const WARM_UP = 20;

interface Run {
  readonly size: number;
  /** Size of the last message of the last request. */
  readonly messageBytes: number;
  readonly planBytes: number;
  readonly cpuMs: number;
}

using root = mkdtempDisposableSync(join(tmpdir(), "goald-bench-"));
let asked = 0;
let size = 0;
let chapters = planChapters(0);
let cpuBefore = cpuMs();
let lastMessage = "";
using server = await startServer((_request, response, body) => {
  asked++;
  if (asked === WARM_UP) cpuBefore = cpuMs();
  if (asked === STEPS) lastMessage = JSON.parse(body).messages.at(-1).content;
  streamReply(response, writeReply(chooseCommand(asked)));
});

const runs: Run[] = [];
for (let round = 0; round <= ROUNDS; round++) for (const tasks of SIZES) runs.push(await measure(tasks));
// The first round fills caches of the process.
showRuns(runs.slice(SIZES.length));

function chooseCommand(step: number): object {
  if (size > 0 && step === 1) return { name: "add_task", args: { parent: "0", goal: "The book", subtasks: chapters } };
  const kind = step % 3;
  if (size === 0 || kind === 0) return { name: "write_to_file", args: { file: "section.md", text: `Section ${step}` } };
  const { length } = chapters;
  const turn = Math.floor((step - 2) / 3);
  const id = `0.0.${turn % length}.${Math.floor(turn / length) % (chapters[turn % length]?.subtasks.length ?? 1)}`;
  return { name: "modify_task", args: { id, state: kind === 2 ? "in_progress" : "verified" } };
}

/** Task 0, the book, its chapters and their sections are `size` tasks. */
function planChapters(size: number) {
  const count = size > 100 ? 27 : 2;
  const sections = Math.max(0, size - 2 - count);
  return Array.from({ length: count }, (_none, chapter) => ({
    goal: `Chapter ${chapter}: what became of the ship, with all names and dates`,
    subtasks: Array.from(
      { length: Math.floor(sections / count) + (chapter < sections % count ? 1 : 0) },
      (_, section) => ({
        goal: `Write section ${section} from the sources`,
      }),
    ),
  }));
}

async function measure(tasks: number): Promise<Run> {
  [size, asked, chapters] = [tasks, 0, planChapters(tasks)];
  const folder = mkdtempSync(join(root.path, "run-"));
  await using host = await openBenchHost(await openBenchHome(folder), server.baseUrl);
  const spec = { name: "Bench", role: "a clerk", goals: ["Write the book."] };
  const limits = { approve: "never", stepLimit: STEPS, background: true } as const;
  const { id } = await host.control.create({ ...spec, settings: limits });
  await host.supervisor.runners.get(id)?.settled();
  const spentMs = cpuMs() - cpuBefore;
  if (asked !== STEPS) throw new Error(`Expected ${STEPS} requests, counted ${asked}.`);
  await host.supervisor.drain(0);
  const [tree = ""] = /^\{"id":"0".*$/m.exec(lastMessage) ?? [];
  return {
    size,
    messageBytes: Buffer.byteLength(lastMessage),
    planBytes: Buffer.byteLength(tree),
    cpuMs: spentMs / (STEPS - WARM_UP),
  };
}

function showRuns(runs: readonly Run[]): void {
  const medianOf = (tasks: number, figure: (run: Run) => number): number =>
    median(runs.filter((run) => run.size === tasks).map(figure));
  console.log(`${STEPS} steps, medians of ${ROUNDS} rounds\n`);
  for (const tasks of SIZES) {
    const stepMs = medianOf(tasks, (run) => run.cpuMs);
    const figures = [
      `last message ${medianOf(tasks, (run) => run.messageBytes)} bytes`,
      `its tree ${medianOf(tasks, (run) => run.planBytes)} bytes`,
      `${stepMs.toFixed(2)} ms of CPU a step`,
      `${(stepMs / medianOf(10, (run) => run.cpuMs)).toFixed(2)} of that with 10 tasks`,
    ];
    console.log(`${String(tasks).padStart(5)} tasks: ${figures.join(", ")}`);
  }
}
