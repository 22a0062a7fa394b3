import { describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { daemonOf } from "../helpers/goald.ts";
import { frozen, goldenModel, openTranscript } from "../helpers/golden.ts";

const openHome = (): Promise<DaemonHome> => makeDaemonHome([], { reply: goldenModel });

describe("the daemon", () => {
  it("is started, looked at and ended as frozen", async () => {
    await using home = await openHome();
    const { goald } = home;
    const transcript = openTranscript(goald);
    await transcript.ask(`
      up
      up
      up --json
      status
      status --json
      reload
      config limits.unattendedSteps 50
      config limits.unattendedSteps 60 --json
      reload
      reload --json
      commands count_words --new
      doctor
      doctor --json
      ps
    `);
    // It writes its log when it has answered.
    const isLogged = async () => (await goald.ask(["logs", "--daemon"])).stdout.split("\n").length > 4;
    await home.until(isLogged, "the log");
    await transcript.ask(`
      logs --daemon
      logs --daemon --json
      restart
      restart --json
      run 'Keep the ledger' --record clerk.ndjson --continuous
      down
      down
      up --json
      down --json
      status
    `);
    await transcript.ask("dashboard\ndashboard --json");
    transcript.note("There is no program that opens addresses:");
    await transcript.ask("dashboard --open\ndashboard --open --json\ndown", { env: { PATH: "/nowhere" } });
    const front = goald.start(["up", "--foreground"]);
    await front.see("ready");
    front.kill("SIGTERM");
    transcript.add("up --foreground", await front.ended);
    expect(transcript.text).toBe(await frozen("daemon", transcript.text));
  });

  it("is missed and started again as frozen, when it was killed", async () => {
    await using home = await openHome();
    const { goald } = home;
    const transcript = openTranscript(goald);
    home.holdFrom(2);
    await goald.ask(["run", "-d", "Keep the ledger", "--name", "Clerk", "--max-steps", "9"]);
    await home.asked(2);
    await daemonOf(goald).kill();
    await transcript.ask(`
      status
      status --json
      doctor
      doctor --fix
      reload
      down
    `);
    transcript.note("It is not wanted any more: nothing starts it again.");
    await transcript.ask(`
      ps
      ps --json
      show clerk
      restore clerk --step 1 --dry-run
    `);
    home.release();
    await transcript.ask("up");
    await home.logged("turn-finished", 1, "clerk");
    await transcript.ask("ps\nevents clerk\nverify\ndown");
    expect(transcript.text).toBe(await frozen("killed", transcript.text));
  });
});
