/** kill -9 during an upgrade to the made-up version 2 leaves a store of version 1 or 2, and never one in between. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { openForWriting } from "#store/connection.ts";
import { prepareSchema } from "#store/schema.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { rounds } from "../helpers/rounds.ts";
import { fill } from "./filled-store.ts";
import { VERSION_2 } from "./made-up-schema.ts";

const CHILD = new URL("./opening.child.ts", import.meta.url).pathname;
const KILLS = rounds(16);
const ROWS = 200_000;

const STATE = `SELECT (SELECT value FROM meta WHERE key = 'schema') AS version, (SELECT count(*) FROM memory) AS rows,
  (SELECT count(*) FROM pragma_table_info('agent') WHERE name = 'color') AS columns,
  (SELECT count(*) FROM sqlite_schema WHERE name = 'memory_kind') AS indexes`;

it(`an upgrade is complete or absent after each of ${KILLS} kills, and can be made afterwards`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "goald-upgrade-"));
  const old = join(folder, "old.db");
  const store = await openSqliteStore(old);
  await fill(store);
  await store.close();
  const columns = "step, namespace, kind, text, text_sha, salt, importance, trust, at";
  const database = new DatabaseSync(old);
  database.exec(`WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < ${ROWS})
      INSERT INTO memory (agent_no, change, seq, ordinal, ${columns})
      SELECT agent_no, 100 + value, 10, value, ${columns} FROM memory, number WHERE seq = 6 AND ordinal = 0`);
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
    await sleep((kill * 400) / KILLS);
    child.kill("SIGKILL");
    await ended;
    const after = openForWriting(path);
    const state = after.prepare(STATE).get() ?? {};
    versions.push(state.version);
    const parts = state.version === "2" ? 1 : 0;
    expect(state).toEqual({ version: expect.stringMatching(/^[12]$/), rows, columns: parts, indexes: parts });
    prepareSchema(after, VERSION_2);
    expect(after.prepare(STATE).get()).toEqual({ version: "2", rows, columns: 1, indexes: 1 });
    after.close();
    rmSync(home, { recursive: true });
  }
  expect(versions).toContain("1");
  rmSync(folder, { recursive: true });
}, 120_000);
