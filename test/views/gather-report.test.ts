/** The report is gathered from the saved fold and the events since, and from the whole log when there is no sound fold. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Lease } from "#core/ports/agent.ts";
import type { Store } from "#core/ports/store.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { gatherReport } from "#views/gather-report.ts";
import type { ReportFacts } from "#views/report-facts.ts";
import { REPORT_VERSION } from "#views/report-fold.ts";
import { NOTHING, SPEC, stamped, wrote } from "../contracts/store-builders.ts";
import { AT, wholeStep } from "../helpers/events.ts";
import { type CellBehaviour, createFakeSandbox } from "../helpers/fake-sandbox.ts";
import { makeLoop, reply } from "../helpers/loop.ts";

describe("a report that is gathered from a store", () => {
  let folder: string;
  let store: Store;
  let lease: Lease;
  let head = 1;
  /** Events and file versions that the store returned. */
  let rows: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "goald-gather-"));
    store = await openSqliteStore(join(folder, "goald.db"));
    await store.create(SPEC, "key", AT);
    lease = await store.claim("foo");
    head = 1;
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Works for some steps, each of which writes a file. */
  async function work(from: number, to: number): Promise<void> {
    const steps = Array.from({ length: to - from + 1 }, (_, at) => from + at);
    const events = stamped(head + 1, ...steps.flatMap((step) => wholeStep(step)));
    const files = steps.map((step) => ({ ...wrote(`${step % 20}.md`, `text ${step}`, `c${step}`), step }));
    await store.commit(lease, head, { ...NOTHING, events, files });
    head += events.length;
  }

  async function gather(saves: boolean): Promise<ReportFacts> {
    rows = 0;
    const counted = async <T>(read: Promise<readonly T[]>): Promise<readonly T[]> => {
      const page = await read;
      rows += page.length;
      return page;
    };
    const seen = {
      load: store.load.bind(store),
      projection: store.projection.bind(store),
      read: (...args: Parameters<Store["read"]>) => counted(store.read(...args)),
      files: (...args: Parameters<Store["files"]>) => counted(store.files(...args)),
    };
    const [row] = await store.agents();
    if (!row) throw new Error("no agent");
    return gatherReport(row, { store: seen, folder: "/w", hosted: false }, saves ? { store, lease } : undefined);
  }

  /** The same report from the log alone. */
  async function gatherAll(): Promise<ReportFacts> {
    change("DELETE FROM projection");
    return gather(false);
  }

  function change(sql: string): void {
    const database = new DatabaseSync(join(folder, "goald.db"));
    expect(database.prepare(sql).run().changes).toBe(1);
    database.close();
  }

  it("reads the events since the last one, however long the log is", async () => {
    await work(1, 100);
    await gather(true);
    await work(101, 101);
    await gather(true);
    const young = rows;
    await work(102, 1_000);
    await gather(true);
    await work(1_001, 1_001);
    const facts = await gather(true);
    expect(rows).toBe(young);
    expect(await gatherAll()).toEqual(facts);
    // Negative control: without the saved fold the whole log is read.
    expect(rows).toBeGreaterThan(6_000);
  });

  it("is the same after a death between the commit and the save", async () => {
    await work(1, 60);
    await gather(true);
    await work(61, 90);
    await work(91, 130);
    const facts = await gather(false);
    expect(rows).toBeLessThan(600);
    expect(facts.cost.steps).toBe(130);
    expect(await gatherAll()).toEqual(facts);
  });

  it("is saved rarely: a short tail is read again instead", async () => {
    await work(1, 100);
    await gather(true);
    const saved = await store.projection("foo", "report", REPORT_VERSION);
    await work(101, 105);
    await gather(true);
    expect(await store.projection("foo", "report", REPORT_VERSION)).toEqual(saved);
    await work(106, 150);
    await gather(true);
    expect((await store.projection("foo", "report", REPORT_VERSION))?.seq).toBe(head);
  });

  it.each([
    ["was deleted", "DELETE FROM projection"],
    ["was damaged", "UPDATE projection SET data = replace(data, 'write_to_file', 'write_no_file')"],
    ["is that of another log", "UPDATE projection SET seq = seq - 1"],
    ["is of another version", "UPDATE projection SET version = version + 1"],
    ["covers events that the log does not have", "UPDATE projection SET seq = seq + 1000"],
  ])("is built again from the log when the saved one %s", async (_what, sql) => {
    await work(1, 50);
    await gather(true);
    const sound = await gather(false);
    expect(rows).toBe(0);
    change(sql);
    expect(await gather(true)).toEqual(sound);
    expect(rows).toBe(head + 50);
    await gather(false);
    expect(rows).toBe(0);
  });

  it("is not saved by a host that lost the agent", async () => {
    await work(1, 50);
    await store.claim("foo");
    await expect(gather(true)).rejects.toMatchObject({ code: "GOALD_FENCED" });
    expect(await store.projection("foo", "report", REPORT_VERSION)).toBeUndefined();
    expect((await gather(false)).cost.steps).toBe(50);
  });
});

describe("a report about an agent that acts by code", () => {
  it("names the cell that wrote a file, not the step by which it was saved, and keeps the last thought", async () => {
    const plot: CellBehaviour = async (_cell, host) => {
      await host.saveFiles([{ path: "plot.svg", bytes: new TextEncoder().encode("<svg/>") }]);
    };
    const loop = await makeLoop({
      script: [reply("run_code", { code: "plot()" })],
      sandbox: createFakeSandbox({ "plot()": plot }),
      settings: { stepLimit: 1 },
    });
    await loop.run();
    const row = (await loop.store.agent(loop.row.id)) ?? loop.row;
    const facts = await gatherReport(row, { store: loop.store, folder: "/w", hosted: false });
    expect(facts.files).toMatchObject([{ path: "plot.svg", by: "agent", command: "run_code" }]);
    expect(facts.commands).toEqual({ run_code: 1 });
    expect(facts.lastThought).not.toBe("");
  });
});
