/** many-turns.ts -- an agent that gets a task a turn: the real loop with the real long-term memory, in memory. */

import type { Recall } from "#core/ports/memory.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { openHashEmbedder } from "../helpers/hash-embedder.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";

const PLACES = [
  "harbour",
  "castle",
  "station",
  "garden",
  "bridge",
  "market",
  "tower",
  "mill",
  "quarry",
  "abbey",
] as const;
const KINDS = [
  "survey",
  "inventory",
  "timetable",
  "budget",
  "rota",
  "catalogue",
  "forecast",
  "diary",
  "ledger",
] as const;

/** The request of a turn. Turn 3 is about the lighthouse, and no other one. */
export const taskOf = (turn: number): string =>
  turn === 3
    ? "Write the lighthouse schedule."
    : `Write the ${KINDS[turn % KINDS.length]} of the ${PLACES[(turn * 7) % PLACES.length]} number ${1_000 + turn}.`;
/** The command of turn 3 has a line that nothing else has. */
export const LANTERN = 'lantern = rotate(period=11, colour="amber")';
const textOf = (turn: number): string => {
  const lines = Array.from(
    { length: 12 },
    (_none, at) => `row ${at} of the ${KINDS[(turn + at) % KINDS.length]}: ${turn * 31 + at} crates\n`,
  );
  return turn === 3 ? `${LANTERN}\n${lines.join("")}` : lines.join("");
};

export interface ManyTurns {
  readonly loop: Loop;
  /** Requests of the turn, each with what was recalled for it. */
  readonly first: { readonly request: ModelRequest; readonly recalls: readonly Recall[] };
  say(text: string): Promise<ManyTurns["first"]>;
}

/** `watch` is called with the number of each turn that has ended, and its first request. */
export async function runTurns(
  count: number,
  watch: (turn: number, request: ModelRequest) => void = () => undefined,
): Promise<ManyTurns> {
  let turn = 1;
  let recalls: readonly Recall[] = [];
  const seen: { request: ModelRequest; recalls: readonly Recall[] }[] = [];
  const script = (request: ModelRequest): string => {
    const result = request.messages.some(({ content }) => content.startsWith("Command write_to_file"));
    if (!result) seen.push({ request, recalls });
    if (result) return done(`The ${turn === 3 ? "lighthouse schedule" : `paper ${turn}`} is written.`);
    return reply("write_to_file", { file: `paper-${turn % 20}.txt`, text: textOf(turn) }, `Now paper ${turn}.`);
  };
  const memory = {
    remote: false,
    recall: async (query: never, signal: AbortSignal) => (recalls = await real.recall(query, signal)),
  };
  const loop = await makeLoop({ script, memory, goals: [taskOf(1)], settings: { stepLimit: null } });
  const real = openLongTermMemory({ store: loop.store, embedder: openHashEmbedder(), report: fail });
  const firstOf = (): ManyTurns["first"] => seen.at(-1) as ManyTurns["first"];
  const say = async (text: string): Promise<ManyTurns["first"]> => {
    const at = loop.clock.now().toISOString();
    await loop.store.deliver(loop.row.id, `say ${turn}`, { type: "say", from: "ada", text }, at);
    await loop.run();
    return firstOf();
  };
  await loop.run();
  watch(1, firstOf().request);
  while (turn < count) {
    turn++;
    watch(turn, (await say(taskOf(turn))).request);
  }
  turn++;
  return { loop, first: firstOf(), say };
}

const fail = (problem: string): never => {
  throw new Error(problem);
};

export const bytesOf = ({ messages }: ModelRequest): number => Buffer.byteLength(JSON.stringify(messages));
