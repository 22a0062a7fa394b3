/** memory-schemas.ts -- the memory changes that a request may ask for and their results, as JSON Schema. */
import type { MemoryChanged as Changed, MemoryChange } from "#core/ports/memory.ts";
import { anyOf, closed, described, flag, listOf, oneOf, open, type Schema, text } from "#util/schema.ts";
import { MEMORY_KINDS, TRUSTS } from "#views/memory-view.ts";
import { GivenSources } from "#views/parts.ts";
import { key, sized } from "./schemas.ts";

const memoryId: Schema<string> = { type: "string", minLength: 3, maxLength: 100, pattern: "^[^\\s\\p{Cc}]+$" };
const copies = described(flag, "Also replace or forget every row of the memory that says the same.");
const MemoryAdded = closed(
  {
    op: oneOf("add"),
    copies,
    kind: oneOf(...MEMORY_KINDS),
    text: sized(1, 20_000),
    importance: { type: "number", minimum: 0, maximum: 1 } as Schema<number>,
    trust: oneOf(...TRUSTS),
    supersedes: memoryId,
    key,
    source: sized(1, 4_096),
    outside: GivenSources,
    factKey: { type: "string", pattern: "^[0-9a-f]{64}$" } as Schema<string>,
  },
  "copies",
  "supersedes",
  "key",
  "source",
  "outside",
  "factKey",
);
const MemoryPinned = closed({ op: oneOf("pin", "unpin"), id: memoryId });
const MemoryForgotten = closed({ op: oneOf("forget"), id: memoryId, by: oneOf("person", "source"), copies }, "copies");
export const MemoryChanges = closed({
  changes: listOf<MemoryChange>(anyOf(MemoryAdded, MemoryPinned, MemoryForgotten), { minItems: 1, maxItems: 1_000 }),
  key,
});

const ChangedRow = open(
  {
    id: text,
    isNew: flag,
    copies: described(listOf(text), "Other rows that were replaced or forgotten, because they say the same."),
    alike: described(
      listOf(text),
      "Rows that resemble it, come from the same event or are the memory of its turn; they were left as they are.",
    ),
  },
  "copies",
  "alike",
);
export const MemoryChanged = open({ changed: listOf<Changed>(ChangedRow) });
