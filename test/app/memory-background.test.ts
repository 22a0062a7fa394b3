/** A host makes missing vectors in the background; a recorded or replayed run does not. */
import { afterEach, expect, it } from "@jest/globals";
import { openMemory } from "#app/memory.ts";
import type { Tape } from "#cassette/tape.ts";
import type { Home } from "#config/home.ts";
import { loadSettings } from "#config/load-settings.ts";
import { systemClock } from "#util/clock.ts";
import { memoryOf, NOTHING, SPEC, said, stamped } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";
import { fixedEmbedder } from "../helpers/fixed-embedder.ts";
import { MemoryStore } from "../helpers/memory-store.ts";

const ROWS = 200;
let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

/** Opens the memory of an agent with 200 rows, recalls once and returns the number of rows that were embedded a second later. */
async function countEmbedded(tape?: Tape): Promise<number> {
  const { settings } = await loadSettings({ env: { MEMORY_BACKEND: "exact" } });
  const store = new MemoryStore();
  await store.create(SPEC, "key", AT);
  const events = stamped(2, ...Array.from({ length: ROWS }, (_, row) => said(`${row}`)));
  const memories = events.map((_event, row) => memoryOf(row + 2, `Report number ${row}`));
  await store.commit(await store.claim("foo"), 1, { ...NOTHING, events, memories });
  const embedder = fixedEmbedder();
  const memory = openMemory(
    {
      home: { root: "/nowhere", privateFolder: "/nowhere/.goald" } as Home,
      settings,
      server: { baseUrl: "http://127.0.0.1:1/v1", apiKey: "", http: { to: () => fetch } },
      ...{ store, keeper: store, report: () => undefined },
      ...(tape ? { tape } : {}),
    },
    embedder,
  );
  close = () => memory.close();
  const query = { agent: "foo", texts: ["Which report?"], count: 5, excludeSteps: new Set<number>() };
  await memory.recall(query, new AbortController().signal);
  const embedded = () => embedder.requests.flat().length - 1;
  for (let tries = 0; tries < 200 && embedded() < ROWS; tries++)
    await new Promise((resolve) => setTimeout(resolve, tape ? 5 : 25));
  return embedded();
}

it("makes the vectors that a recall has no room for in a host", async () => {
  expect(await countEmbedded()).toBe(ROWS);
});

it("makes none of them in a recorded or replayed run", async () => {
  expect(await countEmbedded({ beside: systemClock } as Tape)).toBe(96);
});
