import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { STATE_VERSION } from "#core/state.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { fill } from "./filled-store.ts";

/** A user without rights, because root may write to every folder. */
const NOBODY = 65_534;
async function withoutRights<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

describe("a store in a folder that cannot be written", () => {
  let folder: string;
  let path: string;
  let store: Store;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "goald-fixed-"));
    chmodSync(folder, 0o755);
    path = join(folder, "home", "goald.db");
    store = await openSqliteStore(join(folder, "goald.db"));
    await fill(store);
  });
  afterEach(async () => {
    await store.close();
    chmodSync(join(folder, "home"), 0o755);
    rmSync(folder, { recursive: true, force: true });
  });
  function protect(suffixes: readonly string[]): void {
    mkdirSync(join(folder, "home"));
    for (const suffix of ["", "-anchor", ...suffixes]) {
      copyFileSync(join(folder, `goald.db${suffix}`), path + suffix);
      chmodSync(path + suffix, 0o444);
    }
    chmodSync(join(folder, "home"), 0o555);
  }
  const seen = () =>
    withoutRights(async () => {
      expect(() => writeFileSync(join(folder, "home", "x"), "")).toThrow(/EACCES/);
      const reader = await openSqliteReader(path);
      try {
        return {
          heads: (await reader.agents()).map(({ id, head }) => [id, head]),
          loaded: await reader.load("foo", STATE_VERSION),
          files: (await reader.files("foo")).length,
          ...(await reader.verify()),
        };
      } finally {
        await reader.close();
      }
    });
  const whole = async () => ({
    heads: [
      ["foo", 10],
      ["bar", 2],
    ],
    loaded: await store.load("foo", STATE_VERSION),
    files: 3,
    ...{ problems: [], agents: 2, events: 12 },
  });

  it.each<[what: string, files: readonly string[]]>([
    ["a WAL and its index, as a killed process leaves them", ["-wal", "-shm"]],
    ["a WAL without its index", ["-wal"]],
  ])("is read to the last commit with %s", async (_what, files) => {
    protect(files);
    const before = readdirSync(join(folder, "home"));
    expect(await seen()).toMatchObject(await whole());
    expect(readdirSync(join(folder, "home"))).toEqual(before);
  });

  it("is read after a clean close, without a WAL", async () => {
    const expected = await whole();
    await store.close();
    protect([]);
    expect(await seen()).toMatchObject(expected);
    expect(readdirSync(join(folder, "home"))).toEqual(["goald.db", "goald.db-anchor"]);
  });

  it("is refused with its reason when the WAL cannot be read, instead of being shown without it", async () => {
    protect(["-wal"]);
    chmodSync(`${path}-wal`, 0o000);
    await expect(seen()).rejects.toMatchObject({ code: "GOALD_HOME_UNWRITABLE" });
  });

  it("is not opened for writing", async () => {
    protect(["-wal"]);
    await withoutRights(async () =>
      expect(openSqliteStore(path)).rejects.toMatchObject({ code: "GOALD_HOME_UNWRITABLE" }),
    );
  });
});
