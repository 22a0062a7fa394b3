/**
 * many-committing.child.ts -- a process that tests kill. Several agents commit to the store at argv[2] through its writer
 * thread, without end or `commits` times each.
 *
 * It prints `<agent> <head>` when a commit has resolved and `<agent> failed <code> <message>` when one has failed; that agent
 * continues from the end of its log. At the end it prints `over` without closing the store. With `bytes`, the first agent
 * tries to store a blob of that size with each commit. Its thread ends when nothing was written for `quietMs`.
 */
import { writeSync } from "node:fs";
import { argv } from "node:process";
import { isGoaldError } from "#core/errors.ts";
import type { Store } from "#core/ports/store.ts";
import { openGroupStore } from "#store/sqlite/writer.ts";
import { AT, bytesOf, memoryOf, NOTHING, SPEC, said, stamped, wrote } from "../helpers/events.ts";

const [, , path = "", commits = "Infinity", bytes = "0", quietMs = "20"] = argv;
const AGENTS = 5;
const print = (line: string) => writeSync(1, `${line}\n`);

// Tests let the thread die, and see another one.
const store = await openGroupStore(path, { thread: "always", quietMs: Number(quietMs) });
await Promise.all(Array.from({ length: AGENTS }, (_, index) => work(store, index)));
print("over");

async function work(store: Store, index: number): Promise<void> {
  const { id } = await persist(() => store.create({ ...SPEC, name: `Agent ${index}` }, `key ${index}`, AT));
  const lease = await persist(() => store.claim(id));
  let { head } = await store.load(id, 1);
  for (let count = 0; count < Number(commits); count++) {
    const next = head + 1 + (head % 3);
    const text = `${head} ${"x".repeat((head % 7) * 500)}`;
    const events = stamped(head + 1, ...Array.from({ length: next - head }, () => said(text)));
    const blobs = [index === 0 && bytes !== "0" ? new Uint8Array(Number(bytes)) : bytesOf(text)];
    const rows = {
      events,
      blobs,
      memories: [{ ...memoryOf(next), namespace: id }],
      files: [wrote(`${head}.txt`, text)],
    };
    try {
      await store.commit(lease, head, { ...NOTHING, ...rows });
      head = next;
      print(`${id} ${head}`);
    } catch (error) {
      print(`${id} failed ${isGoaldError(error) ? `${error.code} ${error.message}` : `unexpected ${String(error)}`}`);
      head = (await store.load(id, 1)).head;
    }
  }
}

/** Repeats the call when the thread died: both calls are idempotent. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch {
    return work();
  }
}
