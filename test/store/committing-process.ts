/**
 * A process that tests kill. It commits to the store at argv[2] without end and prints each head when its commit has
 * resolved. With a number of bytes, it first tries to store a blob of that size; it prints each failure and ends after the
 * second.
 */
import { writeSync } from "node:fs";
import { argv } from "node:process";
import { isGoaldError } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import { type AgentState, STATE_VERSION } from "#core/state.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { AT, bytesOf, memoryOf, NOTHING, SPEC, said, stamped, words, wrote } from "../helpers/events.ts";

const [, , path = "", bytes = "0"] = argv;
const print = (line: string) => writeSync(1, `${line}\n`);

const store = await openSqliteStore(path);
const { id } = await store.create(SPEC, "key", AT);
const lease = await store.claim(id);
const loaded = await store.load(id, STATE_VERSION);
let { head } = loaded;
let state = replay(loaded.events, loaded.snapshot?.state as AgentState | undefined);

for (let failures = 0; failures < 2; ) {
  const size = failures === 0 ? Number(bytes) : 0;
  const text = `${head} ${"x".repeat((head % 7) * 1000)}`;
  const next = head + 1 + (head % 3);
  const events = stamped(head + 1, ...Array.from({ length: next - head }, () => said(text)));
  const folded = replay(events, state);
  try {
    if (head % 4 === 0 && (await store.deliver(id, `k${head}`, words(text), AT)))
      await store.commit(lease, head, { ...NOTHING, consumed: [`k${head}`] });
    await store.commit(lease, head, {
      ...NOTHING,
      events,
      memories: [memoryOf(next)],
      files: [wrote(`${head}.txt`, text)],
      blobs: [size > 0 ? new Uint8Array(size) : bytesOf(text)],
      ...(head % 5 === 0 ? { snapshot: { version: STATE_VERSION, state: folded } } : {}),
    });
    head = next;
    state = folded;
    print(String(head));
  } catch (error) {
    failures++;
    print(isGoaldError(error) ? `${error.code} ${error.message}` : `unexpected ${String(error)}`);
    // The log must still be readable and have the same end.
    if ((await store.load(id, 1)).head !== head) print("unexpected head");
  }
}
await store.close();
print("closed");
