import { describe, expect, it } from "@jest/globals";
import { daemonOf, jsonOf, makeGoald } from "../helpers/goald.ts";
import { BAKE, frozen, openGolden, openTranscript } from "../helpers/golden.ts";

it("agents of the background are started, steered and ended as frozen", async () => {
  await using home = await openGolden();
  const { goald, transcript } = home;
  home.holdFrom(2);
  await transcript.ask("run -d 'Keep the ledger' --name Clerk --max-steps 9");
  await home.asked(2);
  transcript.note("It waits for the model's reply in step 2.");
  await transcript.ask(`
    ps
    ps --json
    show clerk
    say clerk 'Write neatly'
    say clerk 'And slowly' --json
    say clerk ' '
    goals clerk --add 'Close the ledger'
    goals clerk
    goals clerk --rm 1 --json
    goals clerk --rm 9
    approve clerk
    rm clerk
    rm clerk --json
    restore clerk --step 1
    restore clerk --step 1 --json
    fork clerk --step 1
    memory clerk add 'Ink is blue'
    memory clerk list
    ingest clerk missing.md
    resume clerk -d
    pause clerk
    pause clerk --json
  `);
  home.release();
  await home.logged("agent-paused", 1, "clerk");
  transcript.note("It has finished step 2.");
  await transcript.ask(`
    ps
    pause clerk
    stop clerk
    stop clerk --now
    say clerk 'Still there?'
    memory shared add 'The shop is in Geneva' --json
  `);
  await home.logged("message-received", 3, "clerk");
  await transcript.ask("restore clerk --step 1");
  home.holdFrom(home.server.chats.length + 1);
  await transcript.askWhileGoing("resume clerk -d");
  await home.logged("model-asked", 3, "clerk");
  const stopping = goald.run(["stop", "clerk"]);
  await home.delivered("pause", "clerk");
  home.release();
  transcript.add("stop clerk", await stopping);
  home.holdFrom(home.server.chats.length + 1);
  await transcript.askWhileGoing("resume clerk -d --max-steps 20 --json");
  await home.logged("model-asked", 4, "clerk");
  await transcript.ask("stop clerk --now\nstop clerk --now");
  await transcript.askWhileGoing("resume clerk -d");
  await home.logged("model-asked", 5, "clerk");
  await transcript.ask("stop clerk -t 0");
  await transcript.askWhileGoing("resume clerk -d");
  await home.logged("model-asked", 6, "clerk");
  await transcript.ask("stop --all --now --json\nstop --all\npause --all --json");
  home.release();
  await transcript.ask(`
    resume clerk
    resume clerk -d
    ps -a
    show clerk --report
    rm -f clerk --files --json
    ps
    down
  `);
  expect(transcript.text).toBe(await frozen("background", transcript.text));
});

it("commands that wait for a yes are approved and denied as frozen", async () => {
  await using home = await openGolden();
  const { goald, transcript } = home;
  await goald.write("commands/bake.ts", BAKE);
  await transcript.ask(`
    run --wait 'Bake bread' --name Miller
    ps
    ps --json
    show miller
    show miller --json
    say miller 'Use the small oven'
    approve nobody
  `);
  await home.logged("message-received", 1, "miller");
  const isFollowed = async () => jsonOf(await goald.ask(["status", "--json"])).followers === 1;
  await transcript.run("attach miller");
  await transcript.askWhileGoing("approve miller");
  const left = goald.start(["attach", "miller"]);
  await left.see("bake");
  await home.until(isFollowed, "the follower");
  left.kill("SIGINT");
  transcript.add("attach miller", await left.ended);
  const following = goald.start(["attach", "miller"]);
  await following.see("bake");
  await home.until(isFollowed, "the follower");
  await transcript.ask("ps\npause miller");
  await goald.write("workspace/miller/open.txt", "");
  await home.logged("agent-paused", 1, "miller");
  await transcript.ask("approve miller");
  await transcript.askWhileGoing("resume miller -d --json");
  await home.logged("approval-asked", 2, "miller");
  await transcript.askWhileGoing("deny miller Too hot");
  await home.logged("approval-asked", 3, "miller");
  await transcript.askWhileGoing("deny miller --json");
  await home.logged("turn-finished", 1, "miller");
  transcript.add("attach miller", await following.ended);
  await transcript.ask("approve miller\ndeny miller --json\nevents miller\nshow miller --step 1 --json");
  expect(transcript.text).toBe(await frozen("approve", transcript.text));
});

describe("with a daemon up, a terminal", () => {
  it("follows its agents as frozen", async () => {
    await using home = await openGolden();
    const { goald, transcript } = home;
    await goald.ask(["up"]);
    await transcript.run("run 'Keep the ledger' --name Clerk --continuous");
    await transcript.ask(`
      run 'Keep the ledger' --name Clerk --continuous --max-steps 1 --json
      run 'Keep the ledger' --name Clerk --approve never --max-steps 1
      resume clerk-3 --max-steps 1
      resume clerk-3 --max-steps 5 --json
      resume clerk-3
      attach clerk
      attach clerk --since 3
      attach clerk --json
      run 'Keep the ledger' --name Clerk
    `);
    expect(transcript.text).toBe(await frozen("follow", transcript.text));
  });

  it("waits for its agents as frozen", async () => {
    await using home = await openGolden();
    const { transcript } = home;
    await transcript.ask(`
      run --wait 'Keep the ledger' --name Clerk
      run --wait 'Keep the ledger' --name Clerk --json
      run --wait 'Keep the ledger' --name Clerk --max-steps 1
      run --wait Talk --name Babbler
      run --wait Talk --name Babbler --json
      run --wait 'Ask me' --name Asker
      run --wait 'Lead them' --name Lead
      ps
      show asker
      approve asker
      rm -f 'Clerk'
      goals Clerk
    `);
    await transcript.askWhileGoing("say asker Geneva");
    await home.logged("turn-finished", 1, "asker");
    await transcript.ask("show asker\nevents asker\nps\nverify");
    await transcript.askWhileGoing("say asker 'One thing more'");
    await home.logged("turn-finished", 2, "asker");
    await transcript.askWhileGoing("run -d 'Keep the ledger' --name Scribe --json");
    expect(transcript.text).toBe(await frozen("wait", transcript.text));
  });
});

describe("the daemon", () => {
  it("is started, looked at and ended as frozen", async () => {
    await using home = await openGolden();
    const { goald, transcript } = home;
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
    await using home = await openGolden();
    const { goald, transcript } = home;
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

it("a run under way in front is in nobody's way, as frozen", async () => {
  await using home = await openGolden();
  const { goald, transcript } = home;
  home.holdFrom(2);
  const call = "run 'Keep the ledger' --name Clerk --continuous --max-steps 4";
  const running = goald.start(["run", "Keep the ledger", "--name", "Clerk", "--continuous", "--max-steps", "4"]);
  await home.asked(2);
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

it("the demo plays as frozen, and is what npm start plays", async () => {
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
