/** A daemon keeps the memory of an idle agent loaded. What changes meanwhile is seen by the next wake. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { memoryFolder } from "#app/memory-folders.ts";
import type { CommandCall } from "#core/call.ts";
import { SNAPSHOT_FILE } from "#memory/recall/snapshots.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith } from "../helpers/goald.ts";

const done: CommandCall = { name: "task_complete", args: { reason: "Done." } };
const run = ["run", "-d", "--name", "T", "--role", "r", "-g", "Write the letter to Ada"];

it("recalls what a person added and nothing that a person forgot or removed while the agent was idle", async () => {
  await using home = await makeDaemonHome([done, done, done]);
  const ask = async (...args: readonly string[]) => endedWith(0, await home.goald.ask([...args]));
  await ask(...run);
  await home.logged("turn-finished");
  await ask("memory", "t", "add", "Letters to Ada are written in green ink");
  await ask("say", "t", "Write another letter to Ada");
  await home.logged("turn-finished", 2);
  expect(JSON.stringify(home.server.chats.at(-1))).toContain("in green ink");
  await ask("memory", "t", "forget", "+1");
  await ask("memory", "t", "add", "Letters to Ada are short");
  await ask("say", "t", "And one more letter to Ada");
  await home.logged("turn-finished", 3);
  const prompt = JSON.stringify(home.server.chats.at(-1));
  expect(prompt).toContain("Letters to Ada are short");
  expect(prompt).not.toContain("in green ink");
  const folder = memoryFolder(join(home.goald.home, ".goald", "memory"), "t");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, SNAPSHOT_FILE), "letters");
  await ask("rm", "t", "--files", "--force");
  expect(existsSync(folder)).toBe(false);
  const { length } = home.server.chats;
  await ask(...run);
  await home.asked(length + 1);
  expect(JSON.stringify(home.server.chats[length])).not.toContain("Letters to Ada are");
});
