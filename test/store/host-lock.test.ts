import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { holdHostLock, isHostHeld, readHostInfo } from "#store/host-lock.ts";

const PROGRAM = fileURLToPath(new URL("./lock-process.ts", import.meta.url));
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

  it("has one holder, which errors name, and is free after its release", () => {
    expect(isHostHeld(path)).toBe(false);
    const lock = holdHostLock(path, info);
    expect(isHostHeld(path)).toBe(true);
    expect(() => holdHostLock(path, info)).toThrow(`run by process ${process.pid} (goald 1.2.3, since 2026-11-20T`);
    expect(readHostInfo(path)).toEqual(info);
    const files = [path, join(folder, ".goald", "daemon.json")];
    expect(files.map((file) => (statSync(file).mode & 0o777).toString(8))).toEqual(["600", "600"]);
    lock.release();
    lock.release();
    expect(isHostHeld(path)).toBe(false);
    expect(readHostInfo(path)).toBeUndefined();
    {
      using again = holdHostLock(path, info);
      expect(again).toBeDefined();
    }
    expect(existsSync(files[1] ?? "")).toBe(false);
    holdHostLock(path, info).release();
  });

  it("is refused while its holder lives and only the lock file was removed", async () => {
    const contender = await startContender();
    expect(await contend(contender)).toBe("won");
    const pid = readHostInfo(path)?.pid;
    rmSync(path);
    const refusal = { code: "GOALD_ALREADY_RUNNING", message: expect.stringContaining(`Process ${pid} `) };
    expect(() => holdHostLock(path, info)).toThrow(expect.objectContaining(refusal));
    expect(existsSync(path)).toBe(false);
    const ended = once(contender, "close");
    children.delete(contender);
    contender.kill("SIGKILL");
    await ended;
    holdHostLock(path, info).release();
  });

  it("leaves the next holder's info when the lock file was removed meanwhile", () => {
    const first = holdHostLock(path, info);
    rmSync(join(folder, ".goald"), { recursive: true });
    const next = { ...info, pid: process.ppid };
    using _second = holdHostLock(path, next);
    first.release();
    expect(readHostInfo(path)).toEqual(next);
  });

  it("reports a lock file that cannot be read, and that it holds no data", () => {
    holdHostLock(path, info).release();
    writeFileSync(path, "x".repeat(5_000));
    expect(() => holdHostLock(path, info)).toThrow(
      expect.objectContaining({ code: "GOALD_STORE_DAMAGED", hint: expect.stringContaining(`rm ${path}`) }),
    );
  });

  it.each<[what: string, content: string]>([
    ["nothing", ""],
    ["no JSON", "{"],
    ["no process", '{"pid":-1}'],
    ["a process that is gone", '{"pid":4194999,"version":"0","startedAt":"?"}'],
  ])("does not depend on the content of daemon.json: %s", async (_what, content) => {
    const other = await startContender();
    expect(await contend(other)).toBe("won");
    writeFileSync(join(folder, ".goald", "daemon.json"), content);
    const refusal = { code: "GOALD_ALREADY_RUNNING", message: expect.stringContaining("run by another process") };
    expect(() => holdHostLock(path, info)).toThrow(expect.objectContaining(refusal));
    expect(isHostHeld(path)).toBe(true);
    other.kill("SIGKILL");
    await once(other, "close");
    children.delete(other);
    const lock = holdHostLock(path, info);
    expect(readHostInfo(path)).toEqual(info);
    lock.release();
  });

  it("reports why the lock cannot be taken", () => {
    writeFileSync(join(folder, ".goald"), "a file where the folder should be");
    expect(() => holdHostLock(path, info)).toThrow(expect.objectContaining({ code: "GOALD_HOME_UNWRITABLE" }));
  });
});
