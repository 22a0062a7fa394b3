/**
 * unattended.child.ts -- starts a commit through the writer thread of the store at argv[2] and prints when it has resolved.
 * It must end although the thread still runs.
 */
import { writeSync } from "node:fs";
import { openGroupStore } from "#store/sqlite/writer.ts";
import { AT, NOTHING, SPEC, said, stamped } from "../helpers/events.ts";

const store = await openGroupStore(process.argv[2] ?? "", { thread: "always" });
const { id } = await store.create(SPEC, "key", AT);
const lease = await store.claim(id);
void store.commit(lease, 1, { ...NOTHING, events: stamped(2, said("x")) }).then(() => writeSync(1, "committed\n"));
