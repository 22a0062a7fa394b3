/** contenders.ts -- processes that try to take the host lock when a test says so. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect } from "@jest/globals";

const PROGRAM = fileURLToPath(new URL("./lock-process.ts", import.meta.url));
export const INFO = {
  pid: process.pid,
  version: "1.2.3",
  startedAt: "2026-11-20T10:00:00.000Z",
  socket: "daemon.sock",
};

/** Starts processes for the lock at `path()`. Those that still run are killed after the test. */
export function useContenders(path: () => string) {
  const children = new Set<ChildProcess>();
  async function end(child: ChildProcess): Promise<void> {
    const closed = once(child, "close");
    children.delete(child);
    child.kill("SIGKILL");
    await closed;
  }
  afterEach(() => Promise.all([...children].map(end)));

  async function nextLine(child: ChildProcess): Promise<string> {
    const [chunk] = await once(child.stdout as NodeJS.ReadableStream, "data");
    return String(chunk).trim();
  }
  async function start(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [PROGRAM, path()], { stdio: ["pipe", "pipe", "inherit"] });
    children.add(child);
    expect(await nextLine(child)).toBe("ready");
    return child;
  }
  /** Returns `won`, or the error. */
  function contend(child: ChildProcess): Promise<string> {
    const answer = nextLine(child);
    child.stdin?.write("go\n");
    return answer;
  }
  return { start, contend, end };
}
