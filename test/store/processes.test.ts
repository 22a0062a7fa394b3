import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { NOTHING, said, stamped } from "../contracts/store-builders.ts";
import { type ProcessLines, readProcessLines } from "../helpers/process-lines.ts";

const PROGRAM = fileURLToPath(new URL("./committing-process.ts", import.meta.url));

const startWriter = (path: string, ...mode: string[]): ProcessLines =>
  readProcessLines(spawn(process.execPath, [PROGRAM, path, ...mode], { stdio: ["ignore", "pipe", "inherit"] }));

describe("the embedded store, with real processes", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "goald-processes-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("detects a commit that was acknowledged before it was made", async () => {
    const path = join(folder, "boast", "goald.db");
    const writer = startWriter(path, "boast");
    await writer.ended;
    const reader = await openSqliteReader(path);
    expect((await reader.load("foo", 1)).head).toBeLessThan(Number(writer.lines.at(-1)));
    await reader.close();
  });

  it("lets another process read during writes, and keeps its files private", async () => {
    const path = join(folder, "read", "goald.db");
    const writer = startWriter(path);
    await writer.reach(1);
    const reader = await openSqliteReader(path);
    let after = 0;
    while (after < 60) {
      const page = await reader.read("foo", after, 7);
      expect(page.map(({ seq }) => seq)).toEqual(page.map((_, index) => after + index + 1));
      after += page.length;
      if (page.length === 0) await sleep(1);
    }
    const { problems } = await reader.verify();
    writer.child.kill("SIGKILL");
    await writer.ended;
    expect(problems).toEqual([]);
    const modes = ["", "-wal", "-shm"].map((suffix) => (statSync(path + suffix).mode & 0o777).toString(8));
    expect(modes).toEqual(["600", "600", "600"]);
    await reader.close();
  });

  it("reports a full disk, keeps earlier commits, and works again when there is space", async () => {
    const path = join(folder, "full", "goald.db");
    // Files can grow to 1 or 2 MB, depending on the shell's unit. Node ignores the signal and gets EFBIG.
    const script = 'ulimit -f 2048; exec "$@"';
    const args = ["-c", script, "sh", process.execPath, PROGRAM, path, String(4 * 1024 * 1024)];
    const writer = readProcessLines(spawn("sh", args, { stdio: ["ignore", "pipe", "inherit"] }));
    await writer.ended;
    const [first, ...rest] = writer.lines;
    const failure = /^GOALD_STORE_FULL The disk did not take a write to .*goald\.db/;
    // The blob does not fit. Smaller commits of the same store fit until the file cannot grow any more.
    expect(first).toMatch(failure);
    const heads = rest.slice(0, -2).map(Number);
    expect(heads.length).toBeGreaterThan(5);
    expect(heads).toEqual(heads.toSorted((a, b) => a - b));
    expect(rest.at(-2)).toMatch(failure);
    expect(rest.at(-1)).toBe("closed");

    const head = heads.at(-1) ?? 0;
    const store = await openSqliteStore(path);
    expect(await store.verify()).toEqual({ agents: 1, events: head, problems: [] });
    const lease = await store.claim("foo");
    await store.commit(lease, head, {
      ...NOTHING,
      events: stamped(head + 1, said("room")),
      blobs: [new Uint8Array(4e6)],
    });
    expect(await store.verify()).toEqual({ agents: 1, events: head + 1, problems: [] });
    await store.close();
  });
});
