import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openForWriting } from "#store/sqlite/connection.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { createTables } from "#store/sqlite/schema.ts";
import { SPEC } from "../contracts/store-builders.ts";
import { daemonOf } from "../helpers/daemon.ts";
import { AT } from "../helpers/events.ts";
import { endedWith, type Goald, makeGoald } from "../helpers/goald.ts";

describe("a young store whose WAL is damaged in its first frame", () => {
  let goald: Goald;
  beforeAll(async () => {
    goald = await makeGoald({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1", GOALD_MEMORY_EMBEDDER: "offline" });
    const path = join(goald.home, ".goald", "goald.db");
    // As goald made stores before it emptied the WAL after the tables.
    const database = openForWriting(path);
    createTables(database);
    const store = await openSqliteStore(path);
    await store.create({ ...SPEC, name: "T" }, "t", AT);
    const files = await Promise.all(
      ["", "-wal", "-anchor"].map(async (end) => [path + end, await readFile(path + end)]),
    );
    await store.close();
    database.close();
    for (const [file, bytes] of files as [string, Buffer][]) await writeFile(file, bytes);
    const wal = await readFile(`${path}-wal`);
    wal[106] = (wal[106] ?? 0) ^ 1;
    await writeFile(`${path}-wal`, wal);
  });
  afterAll(async () => {
    await daemonOf(goald)[Symbol.asyncDispose]();
    await goald[Symbol.asyncDispose]();
  });

  const LOSS =
    /has lost commits that goald had confirmed.* The agent t is missing, with 1 event\..*Restore a backup .*or move the folder/;
  const GOAL = ["--name", "U", "--role", "r", "--goal", "g"];

  it.each<[verb: string, args: readonly string[]]>(
    [
      ["ps"],
      ["show", "t"],
      ["resume", "t", "--approve", "never"],
      ["show", "t", "--report"],
      ["events", "t"],
      ["logs", "t"],
      ["show", "t", "--files"],
      ["memory", "t", "list"],
      ["memory", "shared", "list"],
      ["backup", "copy.db"],
      ["doctor"],
      ["verify"],
      ["verify", "t"],
      ["verify", "--accept-loss"],
      ["run", "--continuous", ...GOAL],
    ].map((args) => [args.join(" "), args]),
  )("is named with what it lost by goald %s", async (_verb, args) => {
    const { stdout, stderr } = endedWith(1, await goald.ask(args));
    expect(stdout + stderr).toMatch(LOSS);
    expect(stdout + stderr).not.toMatch(/yet|sound/);
  });

  it.each<[verb: string, args: readonly string[]]>([
    ["up", ["up"]],
    ["run -d", ["run", "-d", ...GOAL]],
  ])("keeps the daemon of goald %s from starting", async (_verb, args) => {
    expect(endedWith(1, await goald.ask(args)).stderr).toMatch(LOSS);
  });

  it("does not concern verbs that read no store", async () => {
    endedWith(0, await goald.ask(["config"]));
    endedWith(4, await goald.ask(["status"]));
    expect(endedWith(0, await goald.ask(["complete", "agents"])).stdout).toBe("");
  });
});
