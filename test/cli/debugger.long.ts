import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith } from "../helpers/goald.ts";
import { ledger } from "../helpers/numbered-model.ts";
import { waitUntil } from "../helpers/wait-until.ts";

/** Node's own port for debuggers. */
const DEBUGGER = "http://127.0.0.1:9229/json";
const RUN = ["--name", "T", "--role", "r", "--goal", "g"];
const BINARY = fileURLToPath(new URL("../../src/goald.js", import.meta.url));

const isClosed = (): Promise<boolean> =>
  fetch(DEBUGGER).then(
    () => false,
    () => true,
  );
/** Whether a process catches SIGUSR1, the tenth signal. Elsewhere than on Linux this cannot be read. */
async function catchesSignal(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => undefined);
  if (status === undefined) return process.platform !== "linux";
  return (Number.parseInt(/^SigCgt:\s*\w*(\w{8})$/m.exec(status)?.[1] ?? "0", 16) & 0x200) !== 0;
}

describe("SIGUSR1", () => {
  it("opens no debugger in a run in front of a person", async () => {
    await using home = await makeDaemonHome(ledger(2));
    home.holdFrom(2);
    const running = home.goald.start(["run", ...RUN, "--continuous"]);
    await home.asked(2);
    running.kill("SIGUSR1");
    expect(await isClosed()).toBe(true);
    home.release();
    expect(endedWith(0, await running.ended).stderr).not.toContain("Debugger");
  });

  it("opens none that stays when it comes while Node starts, before goald listens", async () => {
    await using home = await makeDaemonHome([]);
    const env = { PATH: process.env.PATH, HOME: home.goald.userHome, GOALD_HOME: home.goald.home };
    const child = spawn(process.execPath, [BINARY, "ps", "--watch"], { env, stdio: ["ignore", "pipe", "pipe"] });
    let shown = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (more: string) => {
        shown += more;
      });
    // A signal before Node's own listener would end the process.
    while (!(await catchesSignal(child.pid ?? 0))) await new Promise((resolve) => setImmediate(resolve));
    child.kill("SIGUSR1");
    await waitUntil("output", () => shown.includes("No agents"));
    await waitUntil("a closed debugger", isClosed);
    child.kill("SIGINT");
    await once(child, "close");
  });

  it("opens no debugger in the daemon", async () => {
    await using home = await makeDaemonHome(ledger(2));
    home.holdFrom(2);
    endedWith(0, await home.goald.run(["run", "-d", ...RUN]));
    await home.asked(2);
    process.kill((await home.hostPid()) ?? 0, "SIGUSR1");
    expect(await isClosed()).toBe(true);
    home.release();
    await home.logged("turn-finished");
  });
});
