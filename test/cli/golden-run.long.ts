import { describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { makeGoald } from "../helpers/goald.ts";
import { frozen, goldenModel, openTranscript } from "../helpers/golden.ts";

const openHome = (): Promise<DaemonHome> => makeDaemonHome([], { reply: goldenModel });

describe("a run under way in front", () => {
  it("is in nobody's way, as frozen", async () => {
    await using home = await openHome();
    const { goald } = home;
    home.holdFrom(2);
    const call = "run 'Keep the ledger' --name Clerk --continuous --max-steps 4";
    const running = goald.start(["run", "Keep the ledger", "--name", "Clerk", "--continuous", "--max-steps", "4"]);
    await home.asked(2);
    const transcript = openTranscript(goald);
    await transcript.ask(`
      ps
      show clerk
      status
      status --json
      up
      up --json
      doctor
      rm clerk
      rm clerk --json
      restore clerk --step 1
      fork clerk --step 9
      say clerk 'Write neatly'
      goals clerk --add 'Close the ledger'
      goals clerk
      memory clerk add 'Ink is blue'
      pause clerk
      pause clerk --json
    `);
    home.release();
    transcript.add(call, await running.ended);
    await transcript.ask("ps\nshow clerk\nevents clerk --after 8");
    expect(transcript.text).toBe(await frozen("run-under-way", transcript.text));
  });
});

describe("the demo", () => {
  it("plays as frozen, and is what npm start plays", async () => {
    await using goald = await makeGoald();
    const transcript = openTranscript(goald);
    await transcript.run("demo");
    const text = transcript.text.slice("$ goald demo".length);
    // Of each event its type: the screen above has the rest.
    const ended = await goald.ask(["demo", "--json", "--home", "demo"]);
    const stdout = ended.stdout.replaceAll(/^\{(?!"type":"result").*"type":"([\w-]+)".*$/gm, "$1");
    transcript.add("demo --json --home demo", { ...ended, stdout });
    await transcript.ask("show foo --home demo\nverify --home demo");
    expect(transcript.text).toBe(await frozen("demo", transcript.text));
    await using another = await makeGoald();
    const started = openTranscript(another);
    started.add("", await another.ask([]));
    expect(started.text).toBe(`$ goald ${text}`);
  });
});
