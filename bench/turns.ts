/**
 * turns.ts -- measures an agent that gets a task a turn: CPU of a step and bytes of a prompt, early and late in its life.
 *
 *   node bench/turns.ts [turns=500] [rounds=3]
 *
 * Each turn is two steps on the real host: a file is written, and the turn ends. The model server is in this process, and its
 * time is part of the figures. Targets: CPU of a step at most 1.2 times that of the 50 turns around turn 50, bytes of the last
 * prompt within 10 % of turn 50. A missed target is printed and does not fail the bench.
 */
import { mkdtempDisposableSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../test/helpers/waits.ts";
import { median } from "./shared/median.ts";
import { cpuMs } from "./shared/meter.ts";
import { startServer, streamReply, writeReply } from "./shared/model-server.ts";
import { openBenchHome, openBenchHost } from "./shared/open-bench-host.ts";
import { readCount } from "./shared/read-count.ts";

const TURNS = readCount(0, "the turns", 500);
const ROUNDS = readCount(1, "the rounds", 3);
const EARLY = 50;
/** Turns that one figure is measured over. */
const SPAN = 50;
const STEPS_PER_TURN = 2;

let turn = 0;
/** Bytes of the first request of the turn. */
let bytes = 0;
using server = await startServer((_request, response, body) => {
  const isWritten = body.includes("Command write_to_file ");
  if (!isWritten) bytes = Buffer.byteLength(body);
  const text = Array.from(
    { length: 15 },
    (_none, at) => `row ${at}: ${turn * 31 + at} crates, ${turn % 7} carts\n`,
  ).join("");
  const command = isWritten
    ? { name: "task_complete", args: { reason: `Paper ${turn} is written.` } }
    : { name: "write_to_file", args: { file: `paper-${turn % 10}.txt`, text } };
  streamReply(response, writeReply(command, `Paper ${turn}.`));
});
using root = mkdtempDisposableSync(join(tmpdir(), "goald-bench-"));

interface Figures {
  readonly cpuMs: readonly [early: number, late: number];
  readonly promptBytes: readonly [early: number, late: number];
}

const rounds: Figures[] = [];
for (let round = 0; round < ROUNDS; round++) rounds.push(await measure());
show(
  "CPU ms of a step",
  rounds.map(({ cpuMs }) => cpuMs),
  1.2,
  2,
);
show(
  "bytes of a prompt",
  rounds.map(({ promptBytes }) => promptBytes),
  1.1,
  0,
);

function show(name: string, pairs: readonly (readonly [number, number])[], most: number, digits: number): void {
  const [early, late] = [median(pairs.map(([first]) => first)), median(pairs.map(([, last]) => last))];
  const ratio = median(pairs.map(([first, last]) => last / first));
  const verdict = ratio <= most ? "" : `, MISSED: at most ${most}`;
  console.log(
    `${name}: turn ${EARLY} ${early.toFixed(digits)}, turn ${TURNS} ${late.toFixed(digits)}, × ${ratio.toFixed(2)}${verdict}`,
  );
}

async function measure(): Promise<Figures> {
  const folder = mkdtempSync(join(root.path, "run-"));
  let ended = 0;
  await using host = await openBenchHost(await openBenchHome(folder), server.baseUrl, {
    onCommitted: (_agent, events) => {
      ended += events.filter(({ type }) => type === "turn-finished").length;
    },
  });
  const marks = new Map<number, { readonly cpuMs: number; readonly bytes: number }>();
  turn = 1;
  const spec = { name: "Bench", role: "a clerk", goals: ["Write paper 1."] };
  const { id } = await host.control.create({
    ...spec,
    settings: { approve: "never", stepLimit: null, background: true },
  });
  for (; turn <= TURNS; turn++) {
    if (turn > 1)
      await host.control.say(id, { from: "person", text: `Write paper ${turn} of the ${turn % 13} boxes.` });
    await waitUntil(`the end of turn ${turn}`, () => ended === turn);
    marks.set(turn, { cpuMs: cpuMs(), bytes });
  }
  await host.supervisor.drain(0);
  const at = (number: number) => {
    const mark = marks.get(number);
    if (!mark) throw new Error(`Turn ${number} was not reached; expected at least ${EARLY + SPAN / 2} turns.`);
    return mark;
  };
  const cpuOf = (last: number): number => (at(last).cpuMs - at(last - SPAN).cpuMs) / (SPAN * STEPS_PER_TURN);
  return { cpuMs: [cpuOf(EARLY + SPAN / 2), cpuOf(TURNS)], promptBytes: [at(EARLY).bytes, at(TURNS).bytes] };
}
