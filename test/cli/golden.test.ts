import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { rewriteArgs, verbsIn } from "#cli/parser.ts";
import { loadVerbs } from "#cli/registry.ts";
import { COMMON_CODES } from "#cli/verb.ts";
import { SUMMARIES, VERB_NAMES } from "#cli/verb-list.ts";
import { EXIT } from "#core/errors.ts";
import { makeGoald } from "../helpers/goald.ts";
import { frozen, GOLDEN_FOLDER, openGolden, openTranscript } from "../helpers/golden.ts";
import { failure } from "../helpers/openai-server.ts";

const FRESH = {
  "help-start": "--help, help, help help, --version",
  "help-run": "help run, help resume, help replay, help test, help fork, help demo, help start",
  "help-look": "help ps, help attach, help show, help report, help logs, help events",
  "help-steer": "help say, help goals, help plan, help approve, help deny, help trust, help pause, help stop, help rm",
  "help-files": "help files, help why, help diff, help restore",
  "help-memory": `help memory, help memory list, help memory search, help memory add, help memory correct,
    help memory forget, help memory export, help memory import, help ingest`,
  "help-daemon": "help up, help down, help restart, help status, help dashboard, help reload",
  "help-home": `help init, help commands, help new, help completion, completion tcsh, completion fish,
    help config, help doctor, help verify`,
  usage: `
    nonsense
    nonsense --json
    pss
    list
    remember
    undo
    ps --nope
    ps --jsn
    ps extra
    ps extra --json
    show
    show --json
    show foo bar
    show foo --step 0
    show foo --step x --json
    events foo --after x
    diff foo --from x
    restore foo
    restore foo --step x
    logs --level loud
    logs --tail 0
    logs --since yesterday
    run --approve maybe
    run --max-steps 0
    run --max-tokens many
    run --budget 0
    run --max-time 5
    run --continuous-limit x
    run one two
    resume foo bar
    replay
    fork foo
    fork foo --step x
    stop foo -t soon
    approve foo -N 0
    approve foo -N 1001
    goals foo --rm first
    pause
    pause foo --all
    kill
    stop --json
    attach
    attach foo --since 0
    say
    deny
    rm
    why
    memory
    memory --json
    memory foo nonsense
    memory foo serch x
    memory foo search
    memory foo list --kind dream
    memory foo forget
    ingest foo
    config nonsense
    config set models.temperature 1
    config get models.smart
    commands --new
    config --unset
    new
    help nonsense
    help memory nonsense
    down -t x
    up extra
    start extra
    demo extra
    init a b
    --home
    --nope
  `,
  commands: `
    commands
    commands write_to_file
    commands google
    commands append_to_file --json
    commands googel
    commands googel --json
  `,
  init: `
    init
    init
    init --json
    init <cwd>/other --json
    commands count_words --new
    commands count_words --new
    commands roll_dice --new --json
    commands 'Count Words' --new
    commands read_file --new --json
    run --from <home>/config/example-agent.yaml --continuous
  `,
};

it.each(Object.entries(FRESH))("calls without an agent are answered as frozen: %s", async (name, calls) => {
  await using goald = await makeGoald();
  const transcript = openTranscript(goald);
  await transcript.ask(calls.replaceAll(",", "\n"));
  expect(transcript.text).toBe(await frozen(name, transcript.text));
});

const NOBODY = [
  ...["show nobody", "show nobody --step 1", "report nobody", "events nobody", "files nobody", "verify nobody"],
  ...["why nobody/a.md", "diff nobody", "restore nobody --step 1", "logs nobody", "memory nobody list"],
  ...["memory nobody add x", "ingest nobody a.md", "resume nobody", "fork nobody --step 1", "attach nobody"],
  ...["say nobody x", "goals nobody", "approve nobody", "deny nobody", "pause nobody", "stop nobody"],
  ...["kill nobody", "rm -f nobody", "replay nobody.ndjson"],
];

it("a home without agents is shown as frozen by every verb", async () => {
  await using goald = await makeGoald();
  const transcript = openTranscript(goald);
  await transcript.ask(`
    ps
    ps --json
    ps -a
    verify
    verify --json
    logs
    logs --json
    logs --daemon
    pause --all
    stop --all
    stop --all --now --json
    resume
    resume --json
    status
    status --json
    reload
    reload --json
    down
    down --json
  `);
  await transcript.ask("show nobody --json");
  expect(await goald.read(".goald")).toBeUndefined();
  await transcript.ask(NOBODY.join("\n"));
  transcript.note("No key and no model server:");
  await transcript.ask(`
    run
    run --json
    run 'Plan a week'
    run 'Plan a week' --continuous
    run 'Plan a week' --continuous --json
    run -d 'Plan a week'
    run --wait 'Plan a week'
    run --from missing.yaml --continuous
    run --continuous-limit 3 -g x
    run --continuous --approve always -g x
    run --continuous -g a -g b -g c -g d -g e -g f
    doctor
    doctor --json
    ps
  `);
  expect(transcript.text).toBe(await frozen("empty-home", transcript.text));
});

it("settings are shown and changed as frozen", async () => {
  await using goald = await makeGoald({ SMART_LLM: "gpt-from-the-shell" });
  await goald.write(".env", "OPENAI_API_KEY=sk-planted-7Qw2nB5vKd9\nGOALD_RECALL_COUNT=7\n");
  const transcript = openTranscript(goald);
  await transcript.ask(`
    config models.smart
    config SMART_LLM --json
    config models.smart --show-origin
    config openai.apiKey
    config openai.apiKey --json
    config recall.count --show-origin
    config models.smrt
    config models.smrt --json
    config limits.unattendedSteps 50
    config limits.unattendedSteps many
    config SMART_LLM gpt-4.1-mini
    config models.temperature none
    config openai.apiKey sk-planted-7Qw2nB5vKd9
    config nothing 1
    config nothing 1 --json
    config limits.unattendedSteps --show-origin
    config limits.unattendedSteps --unset
    config limits.unattendedSteps --unset
    config models.temperature --unset --json
  `);
  expect(transcript.text).toBe(await frozen("config", transcript.text));
  const list = openTranscript(goald);
  await list.ask("config\nconfig --all\nconfig --all --show-origin\nconfig --all --json");
  expect(list.text).toBe(await frozen("config-list", list.text));
});

describe("a run without a terminal", () => {
  it("shows as frozen what its agent does, and why it ends", async () => {
    await using home = await openGolden();
    const { goald, transcript } = home;
    await writeFile(
      join(goald.cwd, "clerk.yaml"),
      "ai_name: Clerk\nai_role: an assistant that keeps a ledger\nai_goals:\n  - Keep the ledger\n  - Close the ledger\nspare: 1\n",
    );
    await transcript.run("run --name Baker --role 'an assistant that bakes' -g 'Write down the hours' --continuous");
    await transcript.ask(`
      run --from clerk.yaml --continuous
      run --from clerk.yaml --continuous -g 'Only this' --name Scribe
      run 'Do nothing' --name Stuck --continuous --continuous-limit 2
      run 'Do nothing' --name Stuck --continuous --max-tokens 100
      run 'Do nothing' --name Stuck --continuous --budget 0.001
      run 'Do nothing' --name Stuck --approve risky
      run 'Do nothing' --name Stuck --approve never --max-steps 1 --model gpt-4.1-mini
      run 'Talk' --name Babbler --continuous
      run 'Ask me' --name Asker --continuous
      run 'Lead the others' --name Lead --continuous
    `);
    expect(transcript.text).toBe(await frozen("run", transcript.text));
  });

  it("gives programs the events and a result, as frozen", async () => {
    await using home = await openGolden();
    const { transcript } = home;
    await transcript.run("run --name Clerk --role r -g 'Keep the ledger' --continuous --json");
    await transcript.ask(`
      run --name Stuck --role r -g 'Do nothing' --continuous --continuous-limit 1 --json
      run --name Babbler --role r -g Talk --continuous --json
    `);
    expect(transcript.text).toBe(await frozen("run-json", transcript.text));
  });

  it("ends as frozen when the model server takes no key", async () => {
    await using home = await openGolden({ reply: () => failure(401, "Incorrect API key provided: no.") });
    const { transcript } = home;
    await transcript.ask(`
      run --name Clerk --role r -g g --continuous
      run --name Clerk --role r -g g --continuous --json
      show clerk
      resume clerk
      doctor --online
      models
      models --json
      logs clerk
    `);
    expect(transcript.text).toBe(await frozen("refused", transcript.text));
  });
});

it("an agent of a terminal that stands is gone on with, followed and steered as frozen", async () => {
  await using home = await openGolden();
  const { goald, transcript } = home;
  await goald.ask(["run", "Keep the ledger", "--name", "Clerk", "--continuous", "--max-steps", "1"]);
  await transcript.ask(`
    attach clerk
    attach clerk --since 1
    attach clerk --since 9
    attach clerk --json
    goals clerk
    goals clerk --json
    goals clerk --set a --add b
    goals clerk --rm 2
    goals clerk --rm 1
    goals clerk --set ' '
    pause clerk
    pause clerk --json
    stop clerk
    stop clerk --now
    approve clerk
    approve clerk --json
    deny clerk no --reason no
    deny clerk
    resume --max-steps 1
    resume clerk --max-steps 1 --json
    resume clerk --max-steps none --model gpt-4.1-mini
    resume clerk
    resume clerk --json
    attach clerk
    pause clerk
    approve clerk
  `);
  expect(transcript.text).toBe(await frozen("resume", transcript.text));
});

it("a recording is made, gone on with and played again as frozen", async () => {
  await using home = await openGolden();
  const { goald, transcript } = home;
  await transcript.ask(`
    run 'Keep the ledger' --name Clerk --continuous --max-steps 2 --record clerk.ndjson
    run 'Keep the ledger' --name Clerk --continuous --record clerk.ndjson
    resume clerk --max-steps none --record clerk.ndjson
    resume clerk --record clerk.ndjson
  `);
  // Replays make temporary homes.
  const env = { TMPDIR: goald.cwd };
  await transcript.ask(
    `
      replay clerk.ndjson
      replay clerk.ndjson --home <cwd>/played --json
      ps --home <cwd>/played
      replay clerk.ndjson --home <cwd>/played
    `,
    { env },
  );
  const file = join(goald.cwd, "clerk.ndjson");
  await writeFile(join(goald.cwd, "changed.ndjson"), (await readFile(file, "utf8")).replaceAll("grips", "grubs"));
  await writeFile(join(goald.cwd, "broken.ndjson"), "{}\n");
  await transcript.ask("replay changed.ndjson\nreplay broken.ndjson\nreplay missing.ndjson --json", { env });
  expect(transcript.text).toBe(await frozen("replay", transcript.text));
});

it("a test of an agent file prints checks with their proofs as frozen, also from a recording", async () => {
  await using home = await openGolden();
  const { goald, transcript } = home;
  const agent =
    "ai_name: Clerk\nai_role: r\nai_goals: [Keep the ledger]\nai_checks:\n  - {file: ledger.txt, contains: three";
  await writeFile(join(goald.cwd, "clerk.yaml"), `${agent}}\n`);
  await writeFile(join(goald.cwd, "long.yaml"), `${agent}, min_chars: 99}\n`);
  const calls = `
    test clerk.yaml --record clerk.ndjson
    test clerk.yaml --replay clerk.ndjson --json
    test long.yaml --replay clerk.ndjson
    test long.yaml clerk.yaml --json
  `;
  await transcript.ask(calls, { env: { TMPDIR: goald.cwd } });
  expect(transcript.text).toBe(await frozen("test", transcript.text));
});

describe("the transcripts", () => {
  /** The calls that were typed, and their exit codes, of all transcripts. */
  async function callsIn(): Promise<readonly (readonly [call: string, code: string])[]> {
    const names = await readdir(GOLDEN_FOLDER);
    const files = await Promise.all(names.map((name) => readFile(join(GOLDEN_FOLDER, name), "utf8")));
    const calls = files.join("\n").matchAll(/^\$ goald (.*)\n[\s\S]*?^\[exit (\d+)\]$/gm);
    return Array.from(calls, ([, call = "", code = ""]) => [call, code]);
  }

  it("have a call of every verb in them, beside its help", async () => {
    const calls = (await callsIn()).map(([call]) => call);
    const isCalled = (name: string): boolean => {
      const call = new RegExp(`^${name.replace("memory ", "memory \\S+ ")}( |$)(?!--help)`);
      return calls.some((each) => call.test(each));
    };
    const shown = VERB_NAMES.filter((name) => SUMMARIES[name].group !== undefined || name.includes(" "));
    expect(shown.filter((name) => !isCalled(name))).toEqual([]);
  });

  it("end with exit codes that the called verbs declare", async () => {
    const verbs = await loadVerbs();
    const isDeclared = (call: string, code: string): boolean => {
      const called = verbsIn(rewriteArgs(call.split(" "))).at(-1);
      const declared = { ...COMMON_CODES, ...verbs.find(({ name }) => name === called)?.exitCodes };
      return Object.keys(declared).some((name) => `${EXIT[name as keyof typeof EXIT]}` === code);
    };
    const calls = await callsIn();
    expect(calls.length).toBeGreaterThan(500);
    expect(calls.filter(([call, code]) => !isDeclared(call, code))).toEqual([]);
  });
});
