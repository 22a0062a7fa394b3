/**
 * write-log.ts -- writes an agent of any age into a store through its port, as if it had run for that many steps.
 *
 * A step has six events. Every tenth step appends to a file, and each file gets ten lines. The other steps read files and
 * pages; some fail. A person says something every 50 steps. The agent rests at the end, so a message starts its next turn.
 */
import { hash } from "node:crypto";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { EVENT_VERSION } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { Commit, Store } from "#core/ports/store.ts";
import { type AgentState, initialState, STATE_VERSION } from "#core/state.ts";
import { rememberStep } from "#memory/remember/remember.ts";

export interface LogJob {
  readonly name: string;
  readonly steps: number;
  /** Whether each step leaves a row in long-term memory. */
  readonly remembers: boolean;
}

const STEPS_PER_COMMIT = 250;
const STEPS_PER_MESSAGE = 50;
const BEGIN = Date.parse("2026-01-01T00:00:00.000Z");
const NOT_DESTRUCTIVE = { readOnly: false, destructive: false, idempotent: false, openWorld: false } as const;

/** Returns the id of the agent. */
export async function writeLog(store: Store, { name, steps, remembers }: LogJob): Promise<string> {
  const settings = { approve: "never", stepLimit: null, background: true } as const;
  const spec = { name, role: "a clerk who keeps notes", goals: ["Keep the notes up to date."], ...settings };
  const { id } = await store.create(spec, name, timeOf(0));
  const lease = await store.claim(id);
  const [created] = await store.read(id, 0, 1);
  let state: AgentState = created ? evolve(initialState, created) : initialState;
  let head = 1;
  for (let from = 1; from <= steps; from += STEPS_PER_COMMIT) {
    const to = Math.min(steps, from + STEPS_PER_COMMIT - 1);
    const commit = {
      events: [] as RecordedEvent[],
      memories: [] as NewMemory[],
      files: [] as Commit["files"][number][],
    };
    const record = async (event: NewEvent): Promise<void> => {
      const seq = head + commit.events.length + 1;
      const recorded = { frame: 0, ...event, v: EVENT_VERSION, seq, at: timeOf(seq) } as RecordedEvent;
      if (remembers) commit.memories.push(...(await rememberStep(state, recorded, id)));
      commit.events.push(recorded);
      state = evolve(state, recorded);
    };
    const consumed: string[] = [];
    for (let step = from; step <= to; step++) {
      for (const event of eventsOf(step, step === steps)) await record(event);
      if (step % 10 === 0) commit.files.push(lineOf(step));
      if (step % STEPS_PER_MESSAGE !== 0 || step === steps) continue;
      const text = `Note ${step}: ${wordsOf(step, 8)}.`;
      const key = `say/${step}`;
      await store.deliver(id, key, { type: "say", from: "person", text }, timeOf(head));
      consumed.push(key);
      await record({ type: "message-received", from: "person", text });
    }
    const snapshot = { version: STATE_VERSION, state };
    await store.commit(lease, head, { ...commit, consumed, blobs: [], staged: [], wakeAt: null, snapshot });
    head += commit.events.length;
  }
  return id;
}

const timeOf = (seq: number): string => new Date(BEGIN + seq * 1_000).toISOString();

const fileOf = (step: number): string => `notes/${Math.ceil(step / 100)}.md`;

function lineOf(step: number): Commit["files"][number] {
  const content = Buffer.from(`${String(step).padStart(8)} ${wordsOf(step, 4)}`.slice(0, 40).padEnd(40).concat("\n"));
  const bytes = content.length * ((((step / 10 - 1) % 10) + 10) % 10) + content.length;
  const sha256 = hash("sha256", content, "hex");
  return { step, callId: `c${step}`, path: fileOf(step), operation: "append", bytes, sha256, content };
}

function eventsOf(step: number, isLast: boolean): readonly NewEvent[] {
  const [model, command] = [
    { step, callId: `m${step}` },
    { step, callId: `c${step}` },
  ];
  const { name, args, result } = isLast ? COMPLETE : callOf(step);
  const usage = { inputTokens: 3_000, outputTokens: 150, cachedTokens: 2_000, estimated: false };
  const events: readonly NewEvent[] = [
    {
      type: "model-asked",
      ...model,
      attempt: 1,
      epoch: 1,
      model: "gpt-4.1",
      mode: "json_schema",
      requestHash: hash("sha256", `${step}`, "hex"),
      recallIds: [],
      reservedTokens: 7_000,
      reservedUsd: 0.05,
    },
    {
      type: "model-replied",
      ...model,
      text: `Step ${step}: ${wordsOf(step, 60)}.`,
      finishReason: "stop",
      usage,
      costUsd: 0.007,
      durationMs: 2_000,
    },
    { type: "command-requested", ...command, call: { name, args }, thought: wordsOf(step, 20), repaired: false },
    { type: "command-approved", ...command, by: "policy" },
    {
      type: "command-started",
      ...command,
      attempt: 1,
      epoch: 1,
      effect: "idempotent",
      prepared: null,
      annotations: NOT_DESTRUCTIVE,
    },
    {
      type: "command-finished",
      ...command,
      observation: result,
      durationMs: 5,
      ...(isLast ? { closesTurn: true } : {}),
    },
  ];
  return isLast ? [...events, { type: "turn-finished", outcome: "completed", reason: "All is noted." }] : events;
}

const COMPLETE = {
  name: "task_complete",
  args: { reason: "All is noted." },
  result: { status: "ok", text: "All is noted.", source: "goald", artifacts: [] },
} as const;

function callOf(step: number) {
  const text = `${wordsOf(step + 7, 30)}.`;
  const failure = { status: "failed", text: `There is no such page: ${text}`, source: "goald", artifacts: [] } as const;
  if (step % 10 === 0) {
    const result = { status: "ok", text: "Added.", source: "goald", artifacts: [fileOf(step)] } as const;
    return { name: "append_to_file", args: { file: fileOf(step), text }, result };
  }
  if (step % 3 !== 0)
    return {
      name: "read_file",
      args: { file: fileOf(Math.max(1, step - 40)) },
      result: { status: "ok", text, source: "workspace", artifacts: [] } as const,
    };
  const result = step % 9 === 0 ? failure : ({ status: "ok", text, source: "web", artifacts: [] } as const);
  return { name: "browse_website", args: { url: `https://example.org/${step}`, question: wordsOf(step, 5) }, result };
}

const WORDS = (
  "harbour ledger copper violin meadow signal lantern budget garden orbit canvas pepper ladder mirror winter engine " +
  "letter market needle oyster pencil quarry ribbon saddle temple turbine valley window yellow zipper anchor basket " +
  "candle dragon ember forest glacier hammer island jacket kernel lemon magnet novel onion pocket river silver tunnel"
).split(" ");

/** Returns the same words for the same seed: a linear congruential generator (Numerical Recipes). */
function wordsOf(seed: number, count: number): string {
  let value = seed;
  return Array.from({ length: count }, () => {
    value = (Math.imul(value, 1664525) + 1013904223) >>> 0;
    return WORDS[Math.floor((value / 2 ** 32) * WORDS.length)];
  }).join(" ");
}
