import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { holdHostLock, isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
import { useFolder } from "../helpers/folder.ts";
import { INFO, useContenders } from "./contenders.ts";

describe("the host lock", () => {
  const at = useFolder();
  let path: string;
  beforeEach(() => {
    path = at(".goald", "lock.db");
  });
  const { start, contend, end } = useContenders(() => path);

  it("has one holder, which errors name, and is free after its release", () => {
    expect(isHostHeld(path)).toBe(false);
    const lock = holdHostLock(path, INFO);
    expect(isHostHeld(path)).toBe(true);
    expect(() => holdHostLock(path, INFO)).toThrow(`run by process ${process.pid} (goald 1.2.3, since 2026-11-20T`);
    expect(readHostInfo(path)).toEqual(INFO);
    const files = [path, at(".goald", "daemon.json")];
    expect(files.map((file) => (statSync(file).mode & 0o777).toString(8))).toEqual(["600", "600"]);
    lock.release();
    lock.release();
    expect(isHostHeld(path)).toBe(false);
    expect(readHostInfo(path)).toBeUndefined();
    {
      using again = holdHostLock(path, INFO);
      expect(again).toBeDefined();
    }
    expect(existsSync(files[1] ?? "")).toBe(false);
    holdHostLock(path, INFO).release();
  });

  it("is refused while its holder lives and only the lock file was removed", async () => {
    const contender = await start();
    expect(await contend(contender)).toBe("won");
    const pid = readHostInfo(path)?.pid;
    rmSync(path);
    const refusal = { code: "GOALD_ALREADY_RUNNING", message: expect.stringContaining(`Process ${pid} `) };
    expect(() => holdHostLock(path, INFO)).toThrow(expect.objectContaining(refusal));
    expect(existsSync(path)).toBe(false);
    await end(contender);
    holdHostLock(path, INFO).release();
  });

  it("leaves the next holder's info when the lock file was removed meanwhile", () => {
    const first = holdHostLock(path, INFO);
    rmSync(at(".goald"), { recursive: true });
    const next = { ...INFO, pid: process.ppid };
    using _second = holdHostLock(path, next);
    first.release();
    expect(readHostInfo(path)).toEqual(next);
  });

  it("reports a lock file that cannot be read, and that it holds no data", () => {
    holdHostLock(path, INFO).release();
    writeFileSync(path, "x".repeat(5_000));
    expect(() => holdHostLock(path, INFO)).toThrow(
      expect.objectContaining({ code: "GOALD_STORE_DAMAGED", hint: expect.stringContaining(`rm ${path}`) }),
    );
  });

  it.each<[what: string, content: string]>([
    ["nothing", ""],
    ["no JSON", "{"],
    ["no process", '{"pid":-1}'],
    ["a process that is gone", '{"pid":4194999,"version":"0","startedAt":"?"}'],
  ])("does not depend on the content of daemon.json: %s", async (_what, content) => {
    const other = await start();
    expect(await contend(other)).toBe("won");
    writeFileSync(at(".goald", "daemon.json"), content);
    const refusal = { code: "GOALD_ALREADY_RUNNING", message: expect.stringContaining("run by another process") };
    expect(() => holdHostLock(path, INFO)).toThrow(expect.objectContaining(refusal));
    expect(isHostHeld(path)).toBe(true);
    await end(other);
    const lock = holdHostLock(path, INFO);
    expect(readHostInfo(path)).toEqual(INFO);
    lock.release();
  });

  it("reports why the lock cannot be taken", () => {
    writeFileSync(at(".goald"), "a file where the folder should be");
    expect(() => holdHostLock(path, INFO)).toThrow(expect.objectContaining({ code: "GOALD_HOME_UNWRITABLE" }));
  });
});
