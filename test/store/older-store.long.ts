/** kill -9 while a store of an older goald, with many memories in it, is brought up to date. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { rounds } from "../helpers/rounds.ts";

const CHILD = new URL("./opening.child.ts", import.meta.url).pathname;
const KILLS = rounds(16);
const ROWS = 60_000;

function query(path: string, sql: string): unknown {
  const database = new DatabaseSync(path);
  const { value } = database.prepare(sql).get() as { readonly value: unknown };
  database.close();
  return value;
}

const COLUMNS = "agent_no, seq, step, namespace, kind, text, importance, trust, at, embedder, vector";
const OLD: [version: string, columns: string, from: string][] = [
  ["1", "ordinal", "value"],
  ["3", "ordinal, change, text_sha, salt", "value, value + 100, text_sha, salt"],
];

it.each(OLD)(
  `a store of version %s is as it was or as it is to be after each of ${KILLS} kills, and has every row in the end`,
  async (was, columns, values) => {
    const folder = mkdtempSync(join(tmpdir(), "goald-older-"));
    const old = join(folder, "old.db");
    const database = new DatabaseSync(old);
    database.exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
    database.exec(readFileSync(`test/data/store-version-${was}.sql`, "utf8"));
    database.exec(`WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < ${ROWS})
    INSERT INTO memory (${COLUMNS}, ${columns})
    SELECT agent_no, 11, step, namespace, kind, text || value, importance, trust, at, embedder, vector, ${values}
    FROM memory, number WHERE seq = 3 AND ordinal = 0`);
    const { rows } = database.prepare("SELECT count(*) AS rows FROM memory").get() as { readonly rows: number };
    expect(rows).toBeGreaterThan(ROWS);
    database.close();
    const versions: unknown[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const home = join(folder, String(kill));
      const path = join(home, "goald.db");
      mkdirSync(home);
      cpSync(old, path);
      const child = spawn(process.execPath, [CHILD, path], { stdio: ["pipe", "pipe", "inherit"] });
      const ended = once(child, "close");
      await once(child.stdout, "data");
      child.stdin.write("\n");
      await sleep((kill * 240) / KILLS);
      child.kill("SIGKILL");
      await ended;
      versions.push(query(path, "SELECT value FROM meta WHERE key = 'schema'"));
      expect(query(path, "SELECT count(*) AS value FROM memory")).toBe(rows);
      await (await openSqliteStore(path)).close();
      expect(query(path, "SELECT value FROM meta WHERE key = 'schema'")).toBe("4");
      expect(query(path, "SELECT count(DISTINCT no) AS value FROM memory")).toBe(rows);
      rmSync(home, { recursive: true });
    }
    expect(versions.filter((version) => version !== was && version !== "4")).toEqual([]);
    expect(versions).toContain(was);
    rmSync(folder, { recursive: true });
  },
  120_000,
);
