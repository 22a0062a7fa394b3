import { describe, expect, it } from "@jest/globals";
import { makeGoald } from "../helpers/goald.ts";
import { frozen, openTranscript } from "../helpers/golden.ts";

const HELP = {
  "help-start": ["--help", "help", "help help", "--version"],
  "help-run": ["help run", "help resume", "help replay", "help test", "help fork", "help demo", "help start"],
  "help-look": ["help ps", "help attach", "help show", "help report", "help logs", "help events"],
  "help-steer": ["say", "goals", "plan", "approve", "deny", "trust", "pause", "stop", "rm"].map(
    (verb) => `help ${verb}`,
  ),
  "help-files": ["help files", "help why", "help diff", "help restore"],
  "help-memory": [
    "help memory",
    ..."list search add correct forget export import".split(" ").map((verb) => `help memory ${verb}`),
    "help ingest",
  ],
  "help-daemon": ["up", "down", "restart", "status", "dashboard", "reload"].map((verb) => `help ${verb}`),
  "help-home": [
    ...["help init", "help commands", "help new", "help completion", "completion tcsh", "completion fish"],
    ...["help config", "help doctor", "help verify"],
  ],
} as const;

describe("help", () => {
  it.each(Object.entries(HELP))("reads as frozen: %s", async (name, calls) => {
    await using goald = await makeGoald();
    const transcript = openTranscript(goald);
    await transcript.ask(calls.join("\n"));
    expect(transcript.text).toBe(await frozen(name, transcript.text));
  });
});

const USAGE = `
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
  kill
  help nonsense
  help memory nonsense
  down -t x
  up extra
  start extra
  demo extra
  init a b
  --home
  --nope
`;

describe("a call that is not understood", () => {
  it("is answered as frozen", async () => {
    await using goald = await makeGoald();
    const transcript = openTranscript(goald);
    await transcript.ask(USAGE);
    expect(transcript.text).toBe(await frozen("usage", transcript.text));
  });
});

describe("a home without agents", () => {
  it("is shown as frozen by every verb", async () => {
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

  const NOBODY = [
    ...["show nobody", "show nobody --step 1", "report nobody", "events nobody", "files nobody", "verify nobody"],
    ...["why nobody/a.md", "diff nobody", "restore nobody --step 1", "logs nobody", "memory nobody list"],
    ...["memory nobody add x", "ingest nobody a.md", "resume nobody", "fork nobody --step 1", "attach nobody"],
    ...["say nobody x", "goals nobody", "approve nobody", "deny nobody", "pause nobody", "stop nobody"],
    ...["kill nobody", "rm -f nobody", "replay nobody.ndjson"],
  ];

  it("is made and set as frozen", async () => {
    await using goald = await makeGoald();
    const transcript = openTranscript(goald);
    await transcript.ask(`
      init
      init
      init --json
      init <cwd>/other --json
      commands count_words --new
      commands count_words --new
      commands roll_dice --new --json
      commands 'Count Words' --new
      commands read_file --new --json
    `);
    transcript.note("The example agent:");
    await transcript.ask("run --from <home>/config/example-agent.yaml --continuous");
    expect(transcript.text).toBe(await frozen("init", transcript.text));
  });
});

describe("what agents can do", () => {
  it("is listed as frozen", async () => {
    await using goald = await makeGoald();
    const transcript = openTranscript(goald);
    await transcript.ask(`
      commands
      commands write_to_file
      commands google
      commands append_to_file --json
      commands googel
      commands googel --json
    `);
    expect(transcript.text).toBe(await frozen("commands", transcript.text));
  });
});

describe("settings", () => {
  it("are shown and changed as frozen", async () => {
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
});
