import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { type ProcessLines, readProcessLines } from "../helpers/process-lines.ts";
import { rounds } from "../helpers/rounds.ts";

const PROGRAM = fileURLToPath(new URL("./committing-process.ts", import.meta.url));

const startWriter = (path: string, ...mode: string[]): ProcessLines =>
  readProcessLines(spawn(process.execPath, [PROGRAM, path, ...mode], { stdio: ["ignore", "pipe", "inherit"] }));

describe("the embedded store, with real processes", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "goald-processes-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(["one", "two"].map((name) => [name]))(
    "loses nothing that was acknowledged to kill -9, again and again (store %s)",
    async (name) => {
      const path = join(folder, name, "goald.db");
      let known = 0;
      for (let kill = 0; kill < rounds(4); kill++) {
        const writer = startWriter(path);
        await writer.reach(1);
        await sleep(Math.random() * 40);
        writer.child.kill("SIGKILL");
        await writer.ended;
        const acknowledged = Number(writer.lines.at(-1));
        expect(acknowledged).toBeGreaterThan(known);
        // A reader needs no recovery by a writer first, and finds the same.
        const reader = await openSqliteReader(path);
        const { head, events, snapshot } = await reader.load("foo", 1);
        expect(head).toBeGreaterThanOrEqual(acknowledged);
        expect(events.at(-1)?.seq ?? snapshot?.seq).toBe(head);
        if (kill % 3 === 0) expect(await reader.verify()).toEqual({ agents: 1, events: head, problems: [] });
        await reader.close();
        known = head;
      }
      const store = await openSqliteStore(path);
      expect(await store.verify()).toEqual({ agents: 1, events: known, problems: [] });
      await store.close();
    },
  );
});
