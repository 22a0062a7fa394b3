import type { ChildProcess } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { holdHostLock, isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
import { useFolder } from "../helpers/folder.ts";
import { rounds } from "../helpers/rounds.ts";
import { INFO, useContenders } from "./contenders.ts";

const CONTENDERS = 6;

describe("the host lock", () => {
  const at = useFolder();
  let path: string;
  beforeEach(() => {
    path = at(".goald", "lock.db");
  });
  const { start, contend, end } = useContenders(() => path);

  it("goes to exactly one of six racing processes when its holder is killed, in every round", async () => {
    let holder = await start();
    expect(await contend(holder)).toBe("won");
    let others = await Promise.all(Array.from({ length: CONTENDERS }, start));
    for (let round = 0; round < rounds(3); round++) {
      const gone = end(holder);
      const racing = others.map(contend);
      // A check of the lock during the race changes no outcome.
      isHostHeld(path);
      const answers = await Promise.all(racing);
      await gone;
      const winners = others.filter((_, index) => answers[index] === "won");
      expect(winners).toHaveLength(1);
      const [winner] = winners as [ChildProcess];
      const losers = answers.filter((answer) => answer !== "won");
      for (const answer of losers) expect(answer).toMatch(/^GOALD_ALREADY_RUNNING The agents of this home are run by /);
      expect(readHostInfo(path)?.pid).toBe(winner.pid);
      holder = winner;
      others = [...others.filter((child) => child !== winner), await start()];
    }
  });

  it("is not kept from its next holder by a process that waits for it", async () => {
    holdHostLock(path, INFO).release();
    using next = new DatabaseSync(path, { timeout: 100 });
    next.exec("BEGIN IMMEDIATE; CREATE TABLE held (at);");
    const waiting = contend(await start());
    // The process has begun to wait, and does so for 300 ms.
    await new Promise((resolve) => setTimeout(resolve, 100));
    // A commit needs the lock that no other process may share.
    next.exec("COMMIT; BEGIN EXCLUSIVE;");
    expect(await waiting).toMatch(/^GOALD_ALREADY_RUNNING/);
  });
});
