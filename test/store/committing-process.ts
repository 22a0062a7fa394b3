/** A process that tests kill. It commits to the store at argv[2] without end and prints each durable head. */
import { writeSync } from "node:fs";
import { argv } from "node:process";
import { replay } from "#core/evolve.ts";
import { type AgentState, STATE_VERSION } from "#core/state.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { AT, bytesOf, memoryOf, NOTHING, SPEC, said, stamped, words, wrote } from "../helpers/events.ts";

const [, , path = ""] = argv;
const store = await openSqliteStore(path);
const { id } = await store.create(SPEC, "key", AT);
const lease = await store.claim(id);
const loaded = await store.load(id, STATE_VERSION);
let { head } = loaded;
let state = replay(loaded.events, loaded.snapshot?.state as AgentState | undefined);

for (;;) {
  const text = `${head} ${"x".repeat((head % 7) * 1000)}`;
  const next = head + 1 + (head % 3);
  const events = stamped(head + 1, ...Array.from({ length: next - head }, () => said(text)));
  state = replay(events, state);
  if (head % 4 === 0 && (await store.deliver(id, `k${head}`, words(text), AT)))
    await store.commit(lease, head, { ...NOTHING, consumed: [`k${head}`] });
  await store.commit(lease, head, {
    ...NOTHING,
    events,
    memories: [memoryOf(next)],
    files: [wrote(`${head}.txt`, text)],
    blobs: [bytesOf(text)],
    ...(head % 5 === 0 ? { snapshot: { version: STATE_VERSION, state } } : {}),
  });
  head = next;
  writeSync(1, `${head}\n`);
}
