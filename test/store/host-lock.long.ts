import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { holdHostLock, isHostHeld, readHostInfo } from "#store/host-lock.ts";
import { rounds } from "../helpers/rounds.ts";

const PROGRAM = fileURLToPath(new URL("./lock-process.ts", import.meta.url));
const CONTENDERS = 6;
const info = { pid: process.pid, version: "1.2.3", startedAt: "2026-11-20T10:00:00.000Z", socket: "daemon.sock" };

describe("the host lock", () => {
  let folder: string;
  let path: string;
  const children = new Set<ChildProcess>();
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "goald-lock-"));
    path = join(folder, ".goald", "lock.db");
  });
  afterEach(async () => {
    const ended = [...children].map((child) => once(child, "close"));
    for (const child of children) child.kill("SIGKILL");
    children.clear();
    await Promise.all(ended);
    rmSync(folder, { recursive: true, force: true });
  });

  async function nextLine(child: ChildProcess): Promise<string> {
    const [chunk] = await once(child.stdout as NodeJS.ReadableStream, "data");
    return String(chunk).trim();
  }
  async function startContender(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [PROGRAM, path], { stdio: ["pipe", "pipe", "inherit"] });
    children.add(child);
    expect(await nextLine(child)).toBe("ready");
    return child;
  }
  function contend(child: ChildProcess): Promise<string> {
    const answer = nextLine(child);
    child.stdin?.write("go\n");
    return answer;
  }

  it("goes to exactly one of six racing processes when its holder is killed, in every round", async () => {
    let holder = await startContender();
    expect(await contend(holder)).toBe("won");
    let others = await Promise.all(Array.from({ length: CONTENDERS }, startContender));
    for (let round = 0; round < rounds(3); round++) {
      const gone = once(holder, "close");
      children.delete(holder);
      holder.kill("SIGKILL");
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
      others = [...others.filter((child) => child !== winner), await startContender()];
    }
  });

  it("is not kept from its next holder by a process that waits for it", async () => {
    holdHostLock(path, info).release();
    using next = new DatabaseSync(path, { timeout: 100 });
    next.exec("BEGIN IMMEDIATE; CREATE TABLE held (at);");
    const waiting = contend(await startContender());
    // The process has begun to wait, and does so for 300 ms.
    await new Promise((resolve) => setTimeout(resolve, 100));
    // A commit needs the lock that no other process may share.
    next.exec("COMMIT; BEGIN EXCLUSIVE;");
    expect(await waiting).toMatch(/^GOALD_ALREADY_RUNNING/);
  });
});
