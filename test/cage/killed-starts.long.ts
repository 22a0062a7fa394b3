import { tmpdir } from "node:os";
import { setImmediate } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import type { CagedCommand } from "#cage/cage.ts";
import { findCage } from "#cage/find-cage.ts";

const KILLS = 1_500;
/** A cage is set up within this time. */
const LONGEST_START_MS = 15;
const ENDED_MS = 5_000;
const SLEEP: CagedCommand = {
  command: "/bin/sleep",
  args: ["60.25"],
  readOnly: [],
  folder: tmpdir(),
  network: "none",
  runsPrograms: true,
  limits: { memoryMegabytes: 256, cpuSeconds: 20, fileMegabytes: 20, openFiles: 64 },
  stdio: ["ignore", "ignore", "ignore", "pipe"],
};

it(`a cage that is killed at each of ${KILLS} moments of its start leaves no process that holds its pipe`, async () => {
  const cage = await findCage();
  const leftAtMs: number[] = [];
  for (let count = 0; count < KILLS; count++) {
    const afterMs = (LONGEST_START_MS * count) / KILLS;
    const killAt = performance.now() + afterMs;
    const { child, kill, ended } = cage.spawn(SLEEP);
    while (performance.now() < killAt) await setImmediate();
    kill();
    const limit = Promise.withResolvers<"late">();
    const timer = setTimeout(limit.resolve, ENDED_MS, "late");
    if ((await Promise.race([ended, limit.promise])) === "late") leftAtMs.push(afterMs);
    clearTimeout(timer);
    for (const pipe of child.stdio) pipe?.destroy();
  }
  expect(leftAtMs).toEqual([]);
}, 120_000);
