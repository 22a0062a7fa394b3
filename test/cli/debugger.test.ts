import { describe, expect, it } from "@jest/globals";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith } from "../helpers/goald.ts";
import { ledger } from "../helpers/numbered-model.ts";

/** Node's own port for debuggers. */
const DEBUGGER = "http://127.0.0.1:9229/json";
const RUN = ["--name", "T", "--role", "r", "--goal", "g"];

describe("SIGUSR1", () => {
  it("opens no debugger in a run in front of a person", async () => {
    await using home = await makeDaemonHome(ledger(2));
    home.holdFrom(2);
    const running = home.goald.start(["run", ...RUN, "--continuous"]);
    await home.asked(2);
    running.kill("SIGUSR1");
    await expect(fetch(DEBUGGER)).rejects.toThrow();
    home.release();
    expect(endedWith(0, await running.ended).stderr).not.toContain("Debugger");
  });

  it("opens no debugger in the daemon", async () => {
    await using home = await makeDaemonHome(ledger(2));
    home.holdFrom(2);
    endedWith(0, await home.goald.run(["run", "-d", ...RUN]));
    await home.asked(2);
    process.kill((await home.hostPid()) ?? 0, "SIGUSR1");
    await expect(fetch(DEBUGGER)).rejects.toThrow();
    home.release();
    await home.logged("turn-finished");
  });
});
