/** fill.ts -- writes a store with one agent whose memory has many rows of about 400 characters, and the texts that ask for them. */
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { AgentSpec } from "#core/ports/store.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { randomNumbers } from "../../test/helpers/memory-rows.ts";
import { type Doc, readData } from "../memory-quality/data.ts";

export const AGENT = "bench";
const AT = "2026-11-20T10:00:00.000Z";
const SPEC: AgentSpec = { name: "Bench", role: "a clerk", goals: ["Remember"], approve: "never", stepLimit: null };
const ROW_CHARS = 400;
const PIECE_WORDS = 4;
const ROWS_PER_COMMIT = 1_000;
const SYLLABLES = "ka lo mi ser tan vul or bek ri den hof pau sti gra nel".split(" ");

/** Returns a function that makes texts of about `chars` characters: pieces of test/data/memory, rare names and numbers. */
export function makeTexts(seed: number): (chars: number) => string {
  const next = randomNumbers(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)] as T;
  const docs = ["agent-docs.jsonl", "chat-docs.jsonl"].flatMap((file) => readData<Doc>(file));
  const words = docs.map(({ text }) => text.split(/\s+/));
  const name = () => Array.from({ length: 3 }, () => pick(SYLLABLES)).join("");
  return (chars) => {
    let text = `${name()} ${Math.floor(1_000 * next())}`;
    while (text.length < chars) {
      const of = pick(words);
      const from = Math.floor(next() * Math.max(1, of.length - PIECE_WORDS));
      text += ` ${of.slice(from, from + PIECE_WORDS).join(" ")}`;
    }
    return text;
  };
}

/** Writes `rows` rows, one per step. */
export async function fillStore(path: string, rows: number): Promise<void> {
  const makeText = makeTexts(rows);
  const store = await openSqliteStore(path);
  await store.create(SPEC, AGENT, AT);
  const lease = await store.claim(AGENT);
  for (let head = 1; head <= rows; head += ROWS_PER_COMMIT) {
    const count = Math.min(ROWS_PER_COMMIT, rows + 1 - head);
    const seqs = Array.from({ length: count }, (_, at) => head + 1 + at);
    const events = seqs.map((seq) => ({ ...EVENT, seq }) as RecordedEvent);
    const memories = seqs.map(
      (seq): NewMemory => ({
        ...({ seq, step: seq, namespace: AGENT, kind: "step", importance: 0.4, trust: "agent" } as const),
        text: makeText(ROW_CHARS),
      }),
    );
    await store.commit(lease, head, { events, memories, consumed: [], files: [], blobs: [], staged: [] });
  }
  await store.close();
}

const EVENT = { type: "message-received", from: "ada", text: "Go on.", v: EVENT_VERSION, at: AT, frame: 0 };
