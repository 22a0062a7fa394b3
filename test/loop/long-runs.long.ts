import { describe, expect, it } from "@jest/globals";
import { ALL_READY } from "#commands/registry.ts";
import type { LongTermMemory } from "#core/ports/memory.ts";
import type { Services } from "#core/services.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";
import type { MemoryStore } from "../helpers/memory-store.ts";
import { foundBy, RESEARCH_BRIEF, RESEARCH_GOALS, RESEARCH_PAGES, researchCalls } from "../helpers/research-run.ts";
import { bytesOf, LANTERN, runTurns } from "../seeds/jobs.ts";

const urlOf = (page: number): string => `https://site${page % 5}.example${RESEARCH_PAGES[page]?.path}`;
const pageAt = (url: string) =>
  RESEARCH_PAGES[RESEARCH_PAGES.findIndex((_page, index) => url.startsWith(urlOf(index)))];

const serving: Partial<Services> = {
  search: {
    search: async (query) => ({
      provider: "searxng",
      failed: [],
      isCached: false,
      results: foundBy(query).map((page) => ({
        title: RESEARCH_PAGES[page]?.title ?? "",
        href: urlOf(page),
        body: RESEARCH_PAGES[page]?.text.slice(0, 90) ?? "",
      })),
    }),
  },
  pages: {
    read: async (url) => {
      const { title = "", text = "", links = [] } = pageAt(url) ?? {};
      const named = links.map((page) => ({ text: RESEARCH_PAGES[page]?.title ?? "", href: urlOf(page) }));
      return {
        url,
        title,
        text,
        links: named,
        contentType: "text/html",
        sha256: "0".repeat(64),
        fetchedAt: "2026-11-20T08:00:00.000Z",
        remarks: [],
      };
    },
    select: async (page) => [{ id: "p1", headings: [page.title], text: page.text }],
  },
};

/** Recalls rows from the whole life of the agent, other ones at each step. */
function recallEverything(store: () => MemoryStore): LongTermMemory {
  let asked = 0;
  return {
    remote: false,
    recall: async ({ agent }) => {
      asked++;
      const rows = (await store().memories(agent, 0, 1_000)).filter((_row, index) => (index + asked) % 7 === 0);
      return rows
        .slice(-10)
        .map(({ id, seq, step, at, kind, trust, text }) => ({ id, seq, step, at, kind, trust, text, score: 1 }));
    },
  };
}

async function research() {
  const calls = researchCalls(urlOf);
  let step = -1;
  const loop: Awaited<ReturnType<typeof makeLoop>> = await makeLoop({
    script: ({ messages }) => {
      if (messages[0]?.content.includes("You are Foo") !== true) return "The page says what it says.";
      const call = calls[++step];
      return call ? reply(call.name, call.args, `Step ${step}: I go on with ${call.name} as planned.`) : done();
    },
    settings: { approve: "risky", stepLimit: 200 },
    goals: RESEARCH_GOALS,
    services: ALL_READY,
    serving,
    memory: recallEverything(() => loop.store),
  });
  loop.files.set("brief.md", Buffer.from(RESEARCH_BRIEF));
  const state = await loop.run({ ask: async () => ({ kind: "approved", count: 1 }) });
  return { state, events: await loop.events() };
}

describe("an ordinary research run of forty pages and ten searches", () => {
  it("asks nothing, and so is refused nothing when nobody can be asked", async () => {
    const { state, events } = await research();
    expect(state.frames[0].phase.kind).toBe("resting");
    const started = events.filter(
      (event) => event.type === "command-started" && event.annotations.openWorld && event.annotations.readOnly,
    );
    expect(started).toHaveLength(50);
    expect(events.flatMap((event) => (event.type === "approval-asked" ? [event.reason] : []))).toEqual([]);
    expect(events.filter((event) => event.type === "command-requested" && event.leaving)).toEqual([]);
  });
});

describe("an agent of 500 turns", () => {
  it("has a prompt of the same size as at turn 50, and recalls turn 3 when it is asked for", async () => {
    const bytes = new Map<number, number>();
    const { say, loop } = await runTurns(500, (turn, request) => bytes.set(turn, bytesOf(request)));
    const [early = 0, late = 0] = [bytes.get(50), bytes.get(500)];
    process.stdout.write(
      `bytes of a prompt: turn 50 ${early}, turn 500 ${late}; state ${JSON.stringify((await loop.run()).turns).length}\n`,
    );
    expect(late / early).toBeLessThan(1.1);
    expect(late / early).toBeGreaterThan(0.9);
    // The control: the first turns have shorter prompts, because there is less to remember.
    expect(bytes.get(2) ?? 0).toBeLessThan(early / 2);
    const { request, recalls } = await say("How did you write the lighthouse schedule? Do it again.");
    expect(recalls[0]).toMatchObject({ kind: "turn", text: expect.stringMatching(/^Turn 3 was/) });
    expect(request.messages.at(-1)?.content).toContain(LANTERN);
  });
});
