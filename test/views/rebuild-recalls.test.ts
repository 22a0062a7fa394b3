import { beforeAll, describe, expect, it } from "@jest/globals";
import { loadRegistry } from "#commands/registry.ts";
import type { EventOf, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { shownIds } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { createCommandSets } from "#loop/command-set.ts";
import { type LongTermMemoryParts, openLongTermMemory, type RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { BackgroundLots } from "#memory/recall/row-embedder.ts";
import { loadWords } from "#prompt/words.ts";
import { rebuildPrompt } from "#views/whole-step.ts";
import { fixedEmbedder } from "../helpers/fixed-embedder.ts";
import { openHashEmbedder } from "../helpers/hash-embedder.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";

type Asked = EventOf<"model-asked"> & RecordedEvent;
const PRICES = [113, 142, 97, 205, 88, 176];
const LONG = "The harbour has a crane that lifts boats. ".repeat(40);

type Parts = Pick<LongTermMemoryParts, "embedder" | "lots">;

/**
 * Runs an agent with a long memory and a series, and `notes` of a person, and returns its requests with what rebuilds their
 * prompts.
 */
async function runAgent(memoryParts: Parts = { embedder: openHashEmbedder() }, notes: readonly string[] = []) {
  let memory: RecallingMemory | undefined;
  const loop = await makeLoop({
    script: [
      ...PRICES.map((price, at) =>
        reply("append_to_file", { file: "list.md", text: `Listing ${301 + 7 * at} has a price of ${price} euros.` }),
      ),
      ...["soup", "beans", "bread", "salad", "rice", "tea"].map((dish) =>
        reply("write_to_file", { file: `${dish}.md`, text: `A recipe of ${dish}.` }),
      ),
      reply("search_files", { directory: "", text: "prices of listings and the crane in the harbour" }),
      done(),
    ],
    memory: {
      remote: false,
      recall: async (query, signal) => (await memory?.recall({ ...query, count: 5 }, signal)) ?? [],
    },
  });
  const report = (problem: string): never => {
    throw new Error(problem);
  };
  memory = openLongTermMemory({ store: loop.store, ...memoryParts, report });
  const curated = notes.map((text) => ({ op: "add", kind: "note", text, importance: 0.5, trust: "person" }) as const);
  if (notes.length > 0) await loop.store.curate(loop.row.id, curated, "notes", loop.clock.now().toISOString());
  const words = { type: "say", from: "ada", text: `${LONG}\nNote the price of each listing.` } as const;
  await loop.store.deliver(loop.row.id, "say", words, loop.clock.now().toISOString());
  await loop.run();
  const registry = await loadRegistry(["commands"], {
    plan: { ready: true },
    memories: { ready: true },
    tests: { ready: true },
  });
  const commandsFor = createCommandSets(registry.all, { commands: {}, args: {} });
  const parts = { commandsFor, words: await loadWords(["prompts"]), contextTokens: 32_000, replyTokens: 1_000 };
  const requests: { readonly asked: Asked; readonly state: AgentState; readonly rows: readonly MemoryRow[] }[] = [];
  let state = initialState;
  for (const event of await loop.events()) {
    if (event.type === "model-asked") {
      const rows = await Promise.all(shownIds(event).map((id) => loop.store.memory(loop.row.id, id)));
      requests.push({ asked: event, state, rows: rows.filter((row) => row !== undefined) });
    }
    state = evolve(state, event);
  }
  return { requests, parts, sent: loop.model.requests.map(({ messages }) => messages) };
}

describe("a prompt with recalls", () => {
  let run: Awaited<ReturnType<typeof runAgent>>;
  beforeAll(async () => {
    run = await runAgent();
  });

  it("is rebuilt exactly from the log and the rows: cut texts, the rows around recalls, and series", () => {
    const { requests, parts, sent } = run;
    const rebuilt = requests.map(({ asked, state, rows }) => rebuildPrompt(asked, state, rows.toReversed(), parts));
    expect(rebuilt.map(({ exact, note }) => [exact, note])).toEqual(requests.map(() => [true, ""]));
    expect(rebuilt.map(({ messages }) => messages)).toEqual(sent);
    const shown = requests.flatMap(({ asked }) => asked.shown ?? []);
    for (const part of ["ranges", "with", "series"] as const)
      expect([part, shown.some((recall) => recall[part] !== undefined)]).toEqual([part, true]);
    expect(JSON.stringify(shown)).not.toMatch(/harbour|Listing/);
    expect(requests[0]?.asked).not.toHaveProperty("shown");
  });

  it("is rebuilt exactly although vectors made in the background changed what later steps recall", async () => {
    const embedder = fixedEmbedder();
    const notes = Array.from({ length: 400 }, (_, at) => `Note ${at} of the harbour, the crane and listing ${at}.`);
    const { requests, parts, sent } = await runAgent({ embedder, lots: new BackgroundLots(0) }, notes);
    // More requests than steps: the background worked during the run.
    expect(embedder.requests.length).toBeGreaterThan(requests.length);
    const rebuilt = requests.map(({ asked, state, rows }) => rebuildPrompt(asked, state, rows.toReversed(), parts));
    expect(rebuilt.map(({ exact }) => exact)).toEqual(requests.map(() => true));
    expect(rebuilt.map(({ messages }) => messages)).toEqual(sent);
  });

  it("is a reconstruction without that record, with other characters, or without one of the rows", () => {
    const { requests, parts } = run;
    const { asked, state, rows } = requests.findLast(({ asked: { shown = [] } }) =>
      shown.some(({ ranges }) => ranges),
    ) as (typeof requests)[number];
    const { shown = [], ...older } = asked;
    const isExact = (event: Asked, given = rows) => rebuildPrompt(event, state, given, parts).exact;
    expect(isExact(asked)).toBe(true);
    expect(isExact(older)).toBe(false);
    const moved = shown.map((recall) => ({
      ...recall,
      ...(recall.ranges ? { ranges: recall.ranges.map(([from, to]) => [from, to - 1] as const) } : {}),
    }));
    expect(isExact({ ...asked, shown: moved })).toBe(false);
    const nearIn = (of: Asked) => shownIds(of).filter((id) => !of.recallIds.includes(id));
    const request = requests.find((one) => nearIn(one.asked).length > 0) as (typeof requests)[number];
    const [near] = nearIn(request.asked);
    const left = request.rows.filter(({ id }) => id !== near);
    const fewer = rebuildPrompt(request.asked, request.state, left, parts);
    expect([fewer.exact, fewer.note]).toEqual([false, expect.stringContaining("1 of the memories in it")]);
  });

  it("of an older event, which records only ids, is built again from the whole rows", () => {
    const { requests, parts } = run;
    const { asked, state, rows } = requests.at(-1) as (typeof requests)[number];
    const { shown: _shown, ...older } = asked;
    const { messages } = rebuildPrompt(older, state, rows, parts);
    const block = messages.at(-1)?.content ?? "";
    for (const id of asked.recallIds) expect(block).toContain(`[${id} | `);
    expect(block).not.toMatch(/^\(/m);
  });
});
