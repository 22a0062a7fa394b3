import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { isLive } from "#core/memory.ts";
import { createWordSet } from "#memory/lexical/word-set.ts";
import { AgentRows } from "#memory/recall/agent-rows.ts";
import { wordsOf } from "#util/words.ts";
import { memoryRows } from "../../helpers/memory-rows.ts";

const word = fc.constantFrom(..."the plan plans lamps v2 x10s 100 100s C++ 钥匙 Bürokeller 12".split(" "));
const text = fc.array(word, { maxLength: 4 }).map((words) => words.join(" "));
/** Adds a text, or forgets the row at this place. */
const change = fc.oneof(text, fc.nat(30));

const textKey = (said: string): string => said.toLowerCase().replace(/\s+/g, " ").trim();

it("rows in flat columns are those of the store: newest of each text, words, and rows per word", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(change, { maxLength: 20 }), { maxLength: 4 }), async (rounds) => {
      const store = memoryRows();
      const rows = new AgentRows("foo", store);
      for (const changes of rounds) {
        for (const one of changes)
          if (typeof one === "string") store.add("foo", one);
          else store.forget("foo", `foo/${one}`);
        for await (const _ of rows.readNew());
        const live = (store.rows.get("foo") ?? []).filter(isLive);
        const newest = new Map(live.map((row) => [textKey(row.text), row]));
        const held = Array.from(rows.newestSlots(), (slot) => rows.at(slot));
        expect(held.map(({ id }) => id).sort()).toEqual(Array.from(newest.values(), ({ id }) => id).sort());
        const sets = new Map(Array.from(newest.values(), (row) => [row.id, createWordSet(wordsOf(row.text))]));
        for (const { id, words } of held) expect(words.hashes).toEqual(sets.get(id)?.hashes);
        const hashes = new Set([...sets.values()].flatMap((set) => [...set.hashes]));
        for (const hash of hashes)
          expect(rows.groups.rowsWithWord(hash)).toBe(
            [...sets.values()].filter((set) => set.hashes.includes(hash)).length,
          );
        for (const row of live) expect(rows.has(row.id)).toBe(newest.get(textKey(row.text)) === row);
      }
    }),
  );
});
