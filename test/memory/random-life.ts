import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import type { MemoryChange, MemoryRow } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { AgentRows } from "#memory/recall/agent-rows.ts";
import { findRecalls } from "#memory/recall/find-recalls.ts";
import { openLongTermMemory, type RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { queryParts } from "#memory/recall/query-parts.ts";
import { readRecalls } from "#memory/recall/read-rows.ts";
import { IndexSnapshots, SNAPSHOT_FILE } from "#memory/recall/snapshots.ts";
import { OutageReporter } from "#memory/vectors/server-embedder.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { stemOf } from "#util/words.ts";
import { AT, NOTHING, SPEC, said, sha256, stamped } from "../helpers/events.ts";
import { LIVE, openHashEmbedder, randomNumbers, recallQuery } from "../helpers/memory-rows.ts";

/**
 * random-life.ts -- lives the life of a memory from a seed: rows come, go and change, the process ends in order or is killed, and
 * its store is replaced by an older one.
 *
 * After each recall the memory must have recalled what an index without a file recalls that was given the same rows in the same
 * order. A snapshot must be used unless it is newer than the store. snapshots.test.ts has the damaged ones.
 */

const AGENT = "foo";
const WORDS = (
  "the bakery opens at eight gates close garden decision decide deciding price prices of Ünïcode Straße 日本語 depot " +
  "readFile soup strings shop colour green manager leads project question who where tokens token is not"
).split(" ");
const fail = (problem: string): never => {
  throw new Error(problem);
};

/** A snapshot: the rows that it was given, and the ends of the log and of the changes by people when it was written. */
interface SavedFile {
  readonly digest: string;
  readonly given: readonly MemoryRow[];
  readonly head: number;
  readonly curations: number;
  /** An older store was put back since. */
  readonly isNewer: boolean;
}

export class RandomLife {
  /** How often the snapshot was used, and how often it was newer than the store. */
  readonly counts = { restored: 0, refused: 0 };
  readonly #folder: string;
  readonly #next: () => number;
  #store!: Store;
  #memory!: RecallingMemory;
  #head = 1;
  #curations = 0;
  #names = 0;
  /** The rows that the index was given, in their order, and whether this process has read any. */
  #given: MemoryRow[] = [];
  #hasRead = false;
  #saved: SavedFile | undefined;
  /** What was so when the store was copied. */
  #backup: { readonly head: number; readonly curations: number; readonly forgotten: readonly string[] } | undefined;
  /** Stems of which each is only in one row, which a person has forgotten. */
  #forgotten: string[] = [];

  constructor(folder: string, seed: number) {
    this.#folder = folder;
    this.#next = randomNumbers(seed);
  }

  get #file(): string {
    return join(this.#folder, SNAPSHOT_FILE);
  }

  async live(actions: number): Promise<RandomLife["counts"]> {
    await this.#open();
    await this.#store.create(SPEC, "key", AT);
    // More than the arrays of an index have room for at first.
    await this.#commit(300);
    for (let action = 0; action < actions; action++) await this.#act();
    await this.#recall();
    await this.#close();
    return this.counts;
  }

  async #act(): Promise<void> {
    const happens = this.#next();
    if (happens < 0.4) await this.#commit();
    else if (happens < 0.52) await this.#curate();
    else if (happens < 0.58) await this.#forget();
    else if (happens < 0.8) await this.#recall();
    else await this.#restart();
  }

  #below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  #pick<T>(of: readonly T[]): T {
    return of[this.#below(of.length)] as T;
  }

  #text(): string {
    const words = Array.from({ length: 3 + this.#below(9) }, () => this.#pick(WORDS));
    if (this.#next() < 0.5) words.push(this.#name());
    if (this.#next() < 0.4) words.push(`${this.#below(30)}`);
    return `${words.join(" ")}${this.#next() < 0.2 ? "?" : "."}`;
  }

  /** A word that no other row has. */
  #name(): string {
    const number = this.#names++;
    return `qx${[...`${number}`].map((digit) => "bcdfghjkmp"[Number(digit)]).join("")}o`;
  }

  async #commit(count = 1 + this.#below(12)): Promise<void> {
    const events = stamped(this.#head + 1, ...Array.from({ length: count }, () => said("x")));
    const memories = events.map(({ seq }) => {
      const kind = this.#pick(["step", "step", "step", "piece", "turn"] as const);
      const source = `file-${this.#below(3)}`;
      const piece = kind === "piece" ? { source, ...(this.#next() < 0.3 ? { replaces: { source } } : {}) } : {};
      const given = { seq, step: seq, namespace: AGENT, kind, importance: this.#pick([0, 0.4, 0.8]), ...piece };
      return { ...given, trust: this.#pick(["agent", "web"] as const), text: this.#text() };
    });
    await this.#store.commit(await this.#store.claim(AGENT), this.#head, { ...NOTHING, events, memories });
    this.#head += count;
  }

  async #liveRow(): Promise<MemoryRow | undefined> {
    const rows = await this.#store.memories(AGENT, 0, 100_000);
    return this.#pick(rows.filter(({ forgotten, supersededBy }) => forgotten === null && supersededBy === null));
  }

  async #curate(): Promise<void> {
    const row = await this.#liveRow();
    if (!row) return;
    const plain = { op: "add", importance: 0.9, text: this.#text() } as const;
    const change: MemoryChange = this.#pick<MemoryChange>([
      { op: row.pinned ? "unpin" : "pin", id: row.id },
      { ...plain, kind: "fact", trust: "person", supersedes: row.id, copies: true },
      { ...plain, kind: "note", trust: "person" },
      { ...plain, kind: "fact", trust: "file", factKey: `fact-${this.#below(3)}` },
    ]);
    await this.#change(change);
  }

  async #change(change: MemoryChange): Promise<void> {
    await this.#store.curate(AGENT, [change], `k${this.#names++}`, AT);
    this.#curations++;
  }

  /** As the host does, or as when it is killed before the file is deleted. */
  async #forget(): Promise<void> {
    const row = await this.#liveRow();
    if (!row) return;
    const by = this.#pick(["person", "person", "source"] as const);
    await this.#change({ op: "forget", id: row.id, by });
    if (by === "source") return;
    for (const [name] of row.text.matchAll(/\bqx[a-z]+/g)) this.#forgotten.push(stemOf(name));
    if (this.#next() < 0.5) return;
    await this.#memory.release(AGENT);
    rmSync(this.#file, { force: true });
    this.#noteFile();
    this.#hasRead = false;
  }

  /** The store as memory reads it. */
  #reading(): Pick<Store, "memories" | "memory" | "saveVectors"> {
    return {
      memories: async (namespace, after, limit) => {
        if (!this.#hasRead) this.#noteStart(after);
        else if (after === 0) this.#given = [];
        this.#hasRead = true;
        const page = await this.#store.memories(namespace, after, limit);
        this.#given.push(...page);
        return page;
      },
      memory: (namespace, id) => this.#store.memory(namespace, id),
      saveVectors: async () => undefined,
    };
  }

  #noteStart(after: number): void {
    const saved = this.#saved;
    const isUsed = saved !== undefined && !saved.isNewer;
    expect({ usesFile: after > 0 }).toEqual({ usesFile: isUsed });
    this.#given = isUsed ? [...saved.given] : [];
    if (saved) this.counts[isUsed ? "restored" : "refused"]++;
  }

  async #recall(): Promise<void> {
    const query = recallQuery([this.#text(), this.#text()], { agent: AGENT });
    const recalls = await this.#memory.recall(query, LIVE);
    // Waits until a snapshot that is due is written.
    await this.#memory.idle(AGENT);
    const given = this.#given;
    const store: Pick<Store, "memories" | "memory"> = {
      memories: async (_, after, limit) => given.filter(({ change }) => change > after).slice(0, limit),
      memory: (namespace, id) => this.#store.memory(namespace, id),
    };
    const rows = new AgentRows(AGENT, store);
    for await (const _ of rows.readNew()) rows.takeRemovedSlots();
    const parts = queryParts(query);
    const found = await findRecalls([{ rows, vectors: undefined as never }], query, parts, { withVectors: false });
    expect(recalls).toEqual(await readRecalls(found, parts, new OutageReporter(fail)));
    this.#noteFile();
    if (existsSync(this.#file)) {
      const bytes = readFileSync(this.#file);
      expect(this.#forgotten.filter((name) => bytes.includes(Buffer.from(name, "utf16le")))).toEqual([]);
    }
  }

  /** Notes a snapshot that this process has written or deleted. */
  #noteFile(): void {
    const digest = existsSync(this.#file) ? sha256(readFileSync(this.#file)) : "";
    if (digest === "") this.#saved = undefined;
    else if (digest !== this.#saved?.digest)
      this.#saved = { digest, given: [...this.#given], head: this.#head, curations: this.#curations, isNewer: false };
  }

  async #restart(): Promise<void> {
    const happens = this.#next();
    const [store, copy] = ["goald.db", "backup.db"].map((name) => join(this.#folder, name)) as [string, string];
    if (happens < 0.5) {
      await this.#close();
      this.#noteFile();
    } else await this.#store.close();
    if (happens < 0.15) {
      copyFileSync(store, copy);
      this.#backup = { head: this.#head, curations: this.#curations, forgotten: [...this.#forgotten] };
    } else if (this.#backup && happens > 0.85) {
      copyFileSync(copy, store);
      for (const suffix of ["-wal", "-shm", "-anchor"]) rmSync(`${store}${suffix}`, { force: true });
      const { head, curations, forgotten } = this.#backup;
      const saved = this.#saved;
      if (saved && (saved.head > head || saved.curations > curations)) this.#saved = { ...saved, isNewer: true };
      this.#head = head;
      this.#curations = curations;
      this.#forgotten = [...forgotten];
    }
    await this.#open();
  }

  async #open(): Promise<void> {
    this.#hasRead = false;
    this.#store = await openSqliteStore(join(this.#folder, "goald.db"));
    const store = this.#store;
    const folderOf = () => this.#folder;
    const snapshots = new IndexSnapshots({ store, folderOf, note: () => undefined, isWriter: true, leastRows: 8 });
    const parts = { store: this.#reading(), embedder: openHashEmbedder(), report: fail, snapshots };
    this.#memory = openLongTermMemory({ ...parts, keptBytes: 1e9 });
  }

  async #close(): Promise<void> {
    await this.#memory.close();
    await this.#store.close();
  }
}
