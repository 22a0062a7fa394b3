/** A report is gathered from the agent's state and its newest events, at the same cost for a log of any length. */
import { describe, expect, it } from "@jest/globals";
import { viewAgent } from "#views/agent-view.ts";
import { renderReport } from "#views/report.ts";
import { gatherReport, type ReportFacts } from "#views/report-facts.ts";
import { NOTHING, SPEC, stamped, wrote } from "../contracts/store-builders.ts";
import { AT, asked, finished, observed, replied, requested } from "../helpers/events.ts";
import { MemoryStore } from "../helpers/memory-store.ts";

const facts = { workspaceFolder: "/w", hosted: false, lastCommand: null, stallAfterMs: () => 0, now: new Date(AT) };

/** An agent that took this many steps of four events: each reads a file, and every tenth writes one. */
async function makeWorker(steps: number) {
  const store = new MemoryStore();
  await store.create(SPEC, "key", AT);
  const lease = await store.claim("foo");
  for (let step = 1; step <= steps; step++) {
    const head = 1 + (step - 1) * 4;
    const call = { name: "read_file", args: { file: `in-${step}.md` } };
    const outcome = observed("text", step % 3 === 0 ? { status: "failed" } : { source: "workspace" });
    const events = stamped(
      head + 1,
      asked(step),
      replied(step),
      { ...requested("read_file", step), call },
      finished(step, outcome),
    );
    const files = step % 10 === 0 ? [{ ...wrote(`${step}.md`, "x", `c${step}`), step }] : [];
    await store.commit(lease, head, { ...NOTHING, events, files });
  }
  return store;
}

async function gather(store: MemoryStore): Promise<{ readonly facts: ReportFacts; readonly rows: number }> {
  const row = await store.agent("foo");
  if (!row) throw new Error("no agent");
  let rows = 0;
  const counted = async <T>(read: Promise<readonly T[]>): Promise<readonly T[]> => {
    const page = await read;
    rows += page.length;
    return page;
  };
  const seen = {
    load: store.load.bind(store),
    read: (...args: Parameters<MemoryStore["read"]>) => counted(store.read(...args)),
    files: (...args: Parameters<MemoryStore["files"]>) => counted(store.files(...args)),
  };
  const gathered = await gatherReport(row, seen, (state) => viewAgent(row, state, facts));
  return { facts: gathered, rows };
}

describe("a report of a store", () => {
  it("reads as many rows of a log of any length, and says what it looked at", async () => {
    const young = await gather(await makeWorker(200));
    const old = await gather(await makeWorker(2_000));
    expect(old.rows).toBe(young.rows);
    expect(old.facts).toMatchObject({ since: 7_501, events: 8_001, step: 2_000, usage: { modelCalls: 2_000 } });
    const paths = old.facts.files.map(({ path }) => path);
    expect(paths).toEqual(Array.from({ length: 13 }, (_, at) => `${1_880 + 10 * at}.md`));
    const report = renderReport(old.facts);
    expect(report).toContain("- Files, sources, failures and turns below are those of its last 500 events\n");
    expect(report).toContain("all files: `goald show foo --files`.");
    expect(report).toContain("it names no file of the last changed ones");
  });

  it("has all of a short log (control)", async () => {
    const { facts: short, rows } = await gather(await makeWorker(60));
    expect(short).toMatchObject({ since: 0, events: 241, troubles: { failed: 20 } });
    expect([rows, short.sources.length, short.files.length]).toEqual([247, 40, 6]);
    expect(renderReport(short)).not.toContain("below are those");
  });

  it("counts a message in the tail to the step that reads it, also before the first step there", async () => {
    const store = await makeWorker(200);
    const lease = await store.claim("foo");
    const { head } = (await store.agent("foo")) ?? { head: 0 };
    const said = { type: "message-received", from: "person", text: "Hello" } as const;
    const later = Array.from({ length: 166 }, (_, at) => [
      asked(201 + at),
      replied(201 + at),
      { type: "agent-resumed" } as const,
    ]).flat();
    const events = stamped(head + 1, said, ...later, { type: "agent-resumed" });
    await store.commit(lease, head, { ...NOTHING, events });
    expect((await gather(store)).facts.sources).toMatchObject([{ what: "Hello", step: 201 }]);
  });
});
