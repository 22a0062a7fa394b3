/** The report of an agent whose daemon was killed after the fold of its log was saved. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, jsonOf } from "../helpers/goald.ts";
import { append } from "../helpers/numbered-model.ts";

const done: CommandCall = { name: "task_complete", args: { reason: "Task 21 of 29 is done." } };
const appends = (from: number, count: number): readonly CommandCall[] =>
  Array.from({ length: count }, (_, at) => append(`line ${from + at}\n`, `file-${(from + at) % 7}.txt`));

it("is that of the whole log, although the daemon died with events that the saved fold does not have", async () => {
  await using home = await makeDaemonHome([...appends(1, 20), done, ...appends(21, 8)]);
  const { goald } = home;
  endedWith(0, await goald.ask(["run", "-d", "--name", "T", "--role", "r", "-g", "Write"]));
  await home.logged("turn-finished");
  const saved = () => query("SELECT seq FROM projection")[0]?.seq as number | undefined;
  await home.until(async () => saved() !== undefined, "a saved fold");
  const before = saved() ?? 0;
  expect(before).toBeGreaterThan(100);
  home.holdFrom(26);
  endedWith(0, await goald.ask(["say", "t", "Go on"]));
  await home.asked(26);
  process.kill((await home.hostPid()) as number, "SIGKILL");
  home.release();
  endedWith(0, await goald.ask(["up"]));
  await home.logged("turn-finished", 2);
  endedWith(0, await goald.ask(["down"]));
  expect(saved()).toBe(before);
  const report = jsonOf(await goald.ask(["report", "t", "--json"]));
  expect(report).toMatchObject({ cost: { steps: 30 }, files: { length: 7 }, commands: { append_to_file: 28 } });
  query("DELETE FROM projection");
  expect(jsonOf(await goald.ask(["report", "t", "--json"]))).toEqual(report);

  function query(sql: string): readonly Record<string, unknown>[] {
    const database = new DatabaseSync(join(goald.home, ".goald", "goald.db"));
    try {
      return database.prepare(sql).all() as Record<string, unknown>[];
    } finally {
      database.close();
    }
  }
});
