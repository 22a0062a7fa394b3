/** Adds, corrects and forgets memories without end, and prints the number of each durable call. Run by store.long.ts. */
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { argv } from "node:process";
import type { MemoryChange } from "#core/ports/memory.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { AT } from "../helpers/events.ts";

const [, , path = "", first = "0"] = argv;
// A killed process writes no compile cache.
flushCompileCache();
const store = await openSqliteStore(path);
for (let call = Number(first); ; call++) {
  const note = (text: string) => ({ op: "add", kind: "note", text, importance: 1, trust: "person" }) as const;
  const [added] = await store.curate("shared", [note(`one ${call}`), note(`two ${call}`)], `add ${call}`, AT);
  const id = added?.id ?? "";
  const change: MemoryChange =
    call % 2 === 0 ? { ...note(`right ${call}`), supersedes: id } : { op: "forget", id, by: "person" };
  await store.curate(
    "shared",
    [change, { op: "pin", id: id.replace(/\d+$/, (n) => String(Number(n) + 1)) }],
    `do ${call}`,
    AT,
  );
  writeSync(1, `${call}\n`);
}
