import { readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { CliContext } from "#cli/context.ts";
import { holdsOlderFiles } from "#cli/run-agent.ts";
import { resumedSettings } from "#cli/run-options.ts";
import type { CommandCall } from "#core/call.ts";
import { findProgram } from "#util/find-program.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import * as given from "../helpers/events.ts";
import {
  AGENT,
  type Ended,
  endedWith,
  errorOf,
  type Goald,
  jsonOf,
  linesOf,
  lookInto,
  notRefused,
  type RefusedCall,
  RUN,
} from "../helpers/goald.ts";
import { ask } from "../helpers/local-server.ts";
import { append, ledger, ledgerText, onceATurn, write } from "../helpers/models.ts";
import type { ChatRequest, OpenAIServer } from "../helpers/openai-server.ts";
import { screenOf } from "../helpers/screen.ts";
import { report, startedAgent } from "../helpers/subagent-events.ts";
import { problemsOfResult } from "../helpers/view-schemas.ts";
import { describeKills } from "./kill-points.ts";

describe.each([
  ["with the server's embeddings", () => undefined],
  ["on a server without embeddings", null],
] as const)("a run of 25 steps %s", (_title, embeddings) => {
  const STEPS = 25;
  const calls = Array.from({ length: STEPS - 1 }, (_, at) =>
    at % 3 === 0
      ? write(`notes-${at}.md`, `Finding ${at * 71} about clay, grass and rain ${at}.\n`)
      : append(`line ${at}\n`),
  );
  let goald: Goald;
  let server: OpenAIServer;
  let ended: Ended;
  beforeAll(async () => {
    const env = { OPENAI_API_KEY: "x", GOALD_MEMORY_EMBEDDER: undefined };
    ({ goald, server } = await makeDaemonHome(calls, { embeddings, env }));
    ended = await goald.run(RUN);
  });

  it("sends what a strict server accepts, and reports where it works and where memory works", async () => {
    endedWith(0, ended);
    expect(server.chats).toHaveLength(STEPS);
    expect(server.violations).toEqual([]);
    expect(ended.stderr).toBe(`T (t) works in ${goald.home}/workspace/t\n`);
    const { problems } = await goald.json<{ problems: readonly string[] }>("status");
    expect(problems).toEqual(embeddings === null ? [expect.stringMatching(/^Memory works offline: .+ offline$/)] : []);
  });

  it("prints valid JSON events and the result, one per line; goald events prints them again", async () => {
    const lines = linesOf(ended);
    expect(problemsOfResult(lines.at(-1))).toBe("");
    const numbers = lines.slice(0, -1).map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.map((_, at) => at + 1));
    expect(lines.filter(({ type }) => type === "command-finished")).toHaveLength(STEPS);
    expect(linesOf(await goald.ask("events t --json"))).toEqual(lines.slice(0, -1));
  });

  it("sends the same system message in every request", () => {
    const system = server.chats.map(({ messages }) => messages[0]);
    expect(new Set(system.map((message) => JSON.stringify(message))).size).toBe(1);
    expect(system[0]?.role).toBe("system");
  });

  it("sends the last nine messages at least, oldest first, cut back to nine beyond 19, and then one request", () => {
    let count = 0;
    for (const [index, { messages }] of server.chats.entries()) {
      expect(messages.map(({ role }) => role).filter((role) => role === "system")).toHaveLength(1);
      expect(messages.at(-1)?.role).toBe("user");
      expect(messages.at(-1)?.content).toMatch(/^It is now \d{4}-/);
      // Each step adds a reply and a result.
      for (let added = 0; index > 0 && added < 2; added++) count = count === 19 ? 9 : count + 1;
      expect(messages.length - 2).toBe(count);
      const steps = stepsIn(messages);
      expect(steps).toEqual([...steps].sort((a, b) => a - b));
      if (index > 0) expect(steps.at(-1)).toBe(index);
    }
  });

  it("recalls up to ten events, without duplicates or steps that the prompt shows, and records them", () => {
    const recorded = linesOf(ended).flatMap(({ recallIds }) => (recallIds ? [recallIds as readonly string[]] : []));
    for (const [index, { messages }] of server.chats.entries()) {
      const rows = recallsIn(messages.at(-1)?.content ?? "");
      const shown = new Set(stepsIn(messages));
      expect(rows.filter(({ step }) => shown.has(step))).toEqual([]);
      const ids = rows.map(({ id }) => id);
      expect(new Set(ids).size).toBe(rows.length);
      expect(rows).toHaveLength(Math.min(10, index - shown.size));
      // Recalls that share a passage are in the order of the memory.
      expect(recorded[index]?.toSorted()).toEqual(ids.toSorted());
    }
    expect(recallsIn(server.chats.at(-1)?.messages.at(-1)?.content ?? "")).toHaveLength(10);
  });
});

const recallsIn = (content: string) =>
  [...content.matchAll(/^\[([^,\]]+), step (\d+)[,\]]/gm)].map(([, id = "", step]) => ({ id, step: Number(step) }));
/** The steps of the messages between the first and the last. */
const stepsIn = (messages: ChatRequest["messages"]): readonly number[] =>
  messages
    .slice(1, -1)
    .map(({ content }) => Number(/Task (\d+) of|\(step (\d+)\)/.exec(content)?.slice(1).find(Boolean)));

const NOW = new Date("2026-11-20T10:00:00Z");
const context = {
  home: { root: "/home/goald", chosenBy: "default" },
  settings: { limits: { unattendedSteps: 100 } },
} as CliContext;
/** The agent took 60 of its 100 steps; its sub-agent took the other 40. */
const together = given.stateOf(
  given.created({ stepLimit: 100, approve: "always" }),
  startedAgent("t-ann"),
  report({ agent: "t-ann", spent: { steps: 40, tokens: 0, usd: 0 } }),
  given.asked(60),
  given.paused("step-limit"),
);
const NO_TOKENS = given.stateOf(given.created({ tokenLimit: 10 }), given.asked(), given.modelFailed());
const resumed = (options: Parameters<typeof resumedSettings>[3]) =>
  resumedSettings(together, ["resume", "t"], context, options, NOW);

it.each<[options: Parameters<typeof resumed>[0], settings: ReturnType<typeof resumed>]>([
  // The shared limit rises like the limit of one agent.
  [{}, { stepLimit: 200 }],
  [{ plan: "required" }, { stepLimit: 200, plan: "required" }],
  // A given number of steps is added to those that they took together.
  [{ maxSteps: 5 }, { stepLimit: 105 }],
  [
    { continuous: true, continuousLimit: 7 },
    { approve: "never", stepLimit: 107 },
  ],
])("resuming an agent whose sub-agents took steps too %j changes its settings to %j", (options, settings) => {
  expect(resumed(options)).toEqual(settings);
});

it("resuming an agent that may spend no more is refused with calls to copy and paste", () => {
  const refused = () => resumedSettings(NO_TOKENS, ["resume", "t"], context, {}, NOW);
  expect(refused).toThrow("Allow more and go on: goald resume t --max-tokens 1000000");
  const next = ["run", "--continue", "t", "-g", '"…"'];
  expect(() => resumedSettings(NO_TOKENS, next, context, {}, NOW)).toThrow(
    'Allow more and go on: goald run --continue t -g "…" --max-tokens 1000000',
  );
});

const again = (...more: readonly string[]): readonly string[] => ["run", "--continue", "t", ...more];
const NO_TURN: readonly RefusedCall[] = [
  ["run --continue t", 2, /new goals, and none was given/, /--continue t -g "…"[\s\S]*say t "…"[\s\S]*goald resume t$/],
  ["run --continue t -g x --role r", 2, /keeps the agent's name and role/, /leave --continue out for a new agent/],
  ["run --continue t -g \u0007", 2, /must be text without control characters/, /^$/],
  ["run --continue t -g a -g b -g c -g d -g e -g f", 2, /up to 5 goals, got 6/, /^$/],
  ["run --continue nobody -g x", 3, /found none called "nobody"/, /There are: t\./],
  ["run --continue t -g x --approve always", 2, /There is no terminal to ask on/, /--continuous/],
];

describe("goald run --continue", () => {
  let home: DaemonHome;
  beforeAll(async () => {
    home = await makeDaemonHome([], { reply: onceATurn(ledger(1)) });
    const first = ["run", "--name", "T", "-g", "Find strings", "--continuous", "--max-steps", "2"];
    endedWith(0, await home.goald.ask(first));
  });

  it(`rejects ${NO_TURN.length} invalid calls, and the agent stays as it is`, async () => {
    expect(await notRefused(home.goald, NO_TURN)).toEqual([]);
    expect((await lookInto(home.goald)).log.at(-1)).toMatchObject({ type: "turn-finished" });
  });

  it("follows the next turn to its end, with the settings of the agent and more steps than its limit had left", async () => {
    const { goald, server } = home;
    const before = server.chats.length;
    const lines = linesOf(endedWith(0, await goald.ask(again("Write it down", "--json"))));
    expect(lines.at(-1)).toMatchObject({ type: "result", agent: "t", outcome: "completed", exitCode: 0 });
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    expect(log.filter(({ type }) => type === "turn-started")).toMatchObject([{ turn: 2 }]);
    expect(log.findLast(({ type }) => type === "goals-changed")).toMatchObject({ goals: ["Write it down"] });
    expect(server.chats[before]?.messages[0]?.content).toContain("1. Write it down\n");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1) + ledgerText(1));
    // The agent stays in front.
    expect(await goald.json("show t")).toMatchObject({ background: false });
  });

  it("refuses another turn while one is not finished, and says what to do", async () => {
    endedWith(6, await home.goald.ask(again("-g", "Print it", "--max-steps", "1")));
    const refused = errorOf(endedWith(7, await home.goald.ask(again("-g", "More", "--json"))));
    expect(refused).toMatchObject({
      code: "GOALD_CONFLICT",
      message: "t has not finished turn 3, so its next turn cannot begin.",
      hint: expect.stringMatching(/goald resume t\n.*goald goals t --set "…".*goald say t "…"$/),
    });
    endedWith(0, await home.goald.ask("resume t --json"));
  });
});

const ASK: CommandCall = { name: "ask_user", args: { question: "Red or blue?" } };

describe("a question to the person", () => {
  it("is asked and answered on the terminal, and shows no key, even if control characters split it", async () => {
    const question = "Red or ghp_planted\x1b[0mPLANTED1234567890abcdefghijk?";
    await using home = await makeDaemonHome([{ ...ASK, args: { question } }]);
    const goal = "Log in with ghp_plantedPLANTED1234567890abcdefghijk";
    const terminal = home.goald.openTerminal(["run", "--name", "T", "--goal", goal, "--continuous"]);
    await terminal.see("It asks: Red or [redacted]?");
    await terminal.answer("Your answer: ", "Blue, please.");
    const { stdout } = endedWith(0, await terminal.ended);
    expect(stdout).not.toContain("ghp_plantedPLANTED");
    expect(screenOf(stdout)).toContain("Result (ok): Blue, please.");
    for (const call of ["events t", "events t --json", "attach t --since 1 --json"])
      expect(await home.goald.print(call)).not.toContain("ghp_plantedPLANTED");
    const lines = await home.goald.print("events t --json");
    expect(lines).toContain('"goals":["Log in with [redacted]"]');
    expect(lines).toContain('"source":"person"');
  });

  it("about a command shows it as it would run, without known keys, and no other view does", async () => {
    const known = "planted-key-8Hq2vX5tLm9";
    const likeKeys = ["get('http://a.example/?token=abcdef123456')", `login({"password": "x or run()"})`];
    const call = write("a.py", [...likeKeys, known].join("\n"));
    await using home = await makeDaemonHome([call], { env: { OPENAI_API_KEY: known } });
    const { goald } = home;
    const front = goald.openTerminal(["run", ...AGENT, "--approve", "always"]);
    await front.see("Run it? ");
    const approve = goald.openTerminal(["approve", "t"]);
    await approve.answer("Approve it? [y/N] ", "n");
    const lookAt = async (given: string) =>
      given.startsWith("/")
        ? (await ask(join(goald.home, ".goald/daemon.sock"), "GET", given)).text
        : goald.print(given);
    const holds = (text: string) => [...likeKeys, known].map((words) => text.replaceAll("\\", "").includes(words));
    for (const shown of [front.shown, (await approve.ended).stdout]) expect(holds(shown)).toEqual([true, true, false]);
    expect(holds(front.shown.split("Every command needs")[0] ?? "")).toEqual([false, false, false]);
    for (const given of ["show t", "show t --json", "/v1/waiting", "/v1/agents/t/details"])
      expect([given, ...holds(await lookAt(given))]).toEqual([given, true, true, false]);
    for (const given of ["show t --step 1", "events t --json", "/v1/agents/t/events", "/v1/agents/t/state"])
      expect([given, ...holds(await lookAt(given))]).toEqual([given, false, false, false]);
  });

  it("keeps a known key out of the name of an agent, and so out of its id and its recording", async () => {
    const key = "planted-key-8Hq2vX5tLm9";
    await using home = await makeDaemonHome([], { env: { OPENAI_API_KEY: key } });
    const run = ["run", "--name", `Key ${key}`, "-g", "g", "--continuous", "--record", "t.ndjson"];
    endedWith(0, await home.goald.ask(run));
    endedWith(0, await home.goald.ask(["fork", "key-redacted", "--step", "1", "--name", key]));
    expect(await readFile(join(home.goald.cwd, "t.ndjson"), "utf8")).not.toContain(key);
    expect(await home.goald.print("ps --json")).toMatch(/"key-redacted".*"redacted"|"redacted".*"key-redacted"/s);
  });

  it("says that the folder of a new agent has files from before", async () => {
    await using home = await makeDaemonHome([]);
    const run = ["run", "-d", ...AGENT, "--approve", "never"];
    expect(endedWith(0, await home.goald.ask(run)).stderr).not.toContain("from before");
    await home.logged("turn-finished");
    await home.goald.write("workspace/t/old.md", "old");
    endedWith(0, await home.goald.ask("rm -f t"));
    expect(endedWith(0, await home.goald.ask(run)).stderr).toContain("Its folder has files from before: ");
    // Those that the agent wrote before the terminal looked are its own.
    const workspace = join(home.goald.home, "workspace/t");
    expect(holdsOlderFiles({ workspace, createdAt: "2020-01-01T00:00:00.000Z" })).toBe(false);
  });

  it("ends an unwatched run with the exit code for a person, and an answer resumes it", async () => {
    await using home = await makeDaemonHome([ASK]);
    const { goald } = home;
    endedWith(11, await goald.ask(["run", ...AGENT, "--continuous"]));
    for (const verb of ["resume", "attach"])
      expect(endedWith(11, await goald.ask([verb, "t"])).stdout).toMatch(/Answer with: .*say t "…"/);
    endedWith(0, await goald.ask("pause t"));
    expect(endedWith(11, await goald.ask("resume t")).stdout).toMatch(/Answer with: .*say t "…"/);
    endedWith(0, await goald.ask("say t Blue."));
    endedWith(0, await goald.ask("resume t"));
    const { log } = await lookInto(goald);
    expect(log.filter(({ type }) => type === "command-finished")).toMatchObject([
      { observation: { source: "person", text: "Blue." } },
      { closesTurn: true },
    ]);
  });
});

it("checks that do not pass are named once with their proof by goald show, the report and ps", async () => {
  await using home = await makeDaemonHome([write("plan.md", "Soup.")]);
  const { goald } = home;
  const checks = ["--check", "plan.md min 400", "--check", 'plan.md contains "Fish"'];
  endedWith(10, await goald.ask(["run", ...AGENT, "--continuous", ...checks]));
  for (const call of ["show t", "show t --report"]) {
    const [standing = ""] = (await goald.print(call)).split("## Failures");
    for (const proof of ["plan.md has 5 characters", "does not contain that text"])
      expect(standing.split(proof)).toHaveLength(2);
    expect(standing).toContain("3 times in a row, and it is not.");
  }
  const [proof, cause] = ["plan.md has 5 characters", "3 times in a row, and it is not."].map(expect.stringContaining);
  const { agents } = await goald.json<{ agents: object[] }>("ps -a");
  expect(agents).toMatchObject([{ reason: proof }]);
  expect(await goald.json("show t")).toMatchObject({ checks: [{ proof }, {}], reason: cause });
});

const LONG_CODE = `assert open('a.md').read() == 'A' # ${"x".repeat(300)}`;

const checked = (...checks: readonly string[]): string =>
  `ai_name: T\nai_role: r\nai_goals: [Write a.md]\nai_checks:\n${checks.map((check) => `  - ${check}\n`).join("")}`;
const TWO = '{python: "\\nopen(\\"a.md\\")\\nimport os"}';
const CHECKED_AGENT = checked("{file: a.md, contains: A}", TWO, `{python: ${JSON.stringify(LONG_CODE)}}`);
const OTHER = checked('{python: "import os\\u001b[2J\\nos.system(\\"id\\")"}', '{python: "import os"}');
const FROM = ["run", "--from", "agent.yaml"];

describe("an agent file of a stranger whose checks are programs, on a machine without bubblewrap", () => {
  let home: DaemonHome;
  let env: { readonly PATH: string };
  const ask = (...args: readonly string[]) => home.goald.run(args, { env });
  beforeAll(async () => {
    home = await makeDaemonHome([write("a.md", "A")]);
    const { cwd } = home.goald;
    env = { PATH: join(cwd, "bin") };
    await mkdir(env.PATH);
    for (const name of ["prlimit", "setpriv", "sh", "script"])
      await symlink(findProgram(name, process.env.PATH ?? "") ?? "", join(env.PATH, name));
    await writeFile(join(cwd, "agent.yaml"), CHECKED_AGENT);
    await writeFile(join(cwd, "other.yaml"), OTHER);
  });

  it("asks once before they run, shows all of their code, and ends after the yes", async () => {
    const { stderr } = endedWith(11, await ask(...FROM, "--wait", "--approve", "risky"));
    expect(stderr).toContain('agent.yaml: check of goal 1: a.md contains "A"\n');
    expect(stderr).toContain('agent.yaml: check of goal 1: python: open("a.md") import os\n');
    expect(stderr).toContain(`agent.yaml: check of goal 1: python: ${LONG_CODE.slice(0, 100)}`);
    expect(stderr).not.toContain(LONG_CODE);
    const shown = endedWith(0, await ask("show", "t")).stdout;
    expect(shown).toContain('Wants:      check_goals {"goals":[0]}\n');
    expect(shown).toContain("The code that would run (Python, 5 lines):");
    for (const line of ['open("a.md")', "import os", LONG_CODE]) expect(shown).toContain(line);
    expect(shown).toContain(
      "It runs code that only goald's own checks hold. bubblewrap is not installed. It is the code of checks from an agent file.",
    );
    expect(jsonOf(await ask("show", "t", "--json"))).toMatchObject({
      checks: [{ isPassed: null }, { isPassed: null }, { isPassed: null }],
      waiting: { code: { file: null, text: expect.stringContaining(LONG_CODE) } },
    });
    endedWith(0, await ask("approve", "t", "--yes"));
    await home.logged("turn-finished");
    expect(jsonOf(await ask("show", "t", "--json"))).toMatchObject({
      checks: [{ isPassed: true }, { isPassed: true }, { isPassed: true }],
    });
  });

  it("runs them without a question where nothing asks, as run_code does, and replays that", async () => {
    const args = [...FROM, "--name", "N", "--continuous", "--record", "n.ndjson", "--json"];
    const ended = endedWith(0, await ask(...args));
    expect(linesOf(ended).at(-1)).toMatchObject({ outcome: "completed", checks: { passed: 3, failed: 0, notRun: 0 } });
    const played = endedWith(0, await ask("replay", "n.ndjson", "--json"));
    expect(linesOf(played).at(-1)).toMatchObject({ same: true, problems: [] });
  });

  it("shows them before the question at the terminal, and a no leaves them unrun", async () => {
    const run = ["run", "--from", "other.yaml", "--name", "P", "--approve", "risky"];
    const terminal = home.goald.openTerminal(run, { env });
    await terminal.see("other.yaml: check of goal 1: python: import os");
    await terminal.see("It is the code of checks from an agent file.");
    await terminal.see("The code that would run (Python, ");
    await terminal.see('os.system("id")');
    await terminal.answer("Run it?", "n");
    const { stdout } = await terminal.ended;
    expect(stdout).toContain("Checks: 2 not run.");
    expect(stdout).not.toContain("\u001b[2J");
  });
});

interface Coverage {
  readonly result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[];
}

/** The files with a named function that ran, as V8 tells when the daemon ends. */
function ranIn({ cwd }: Pick<Goald, "cwd">): readonly string[] {
  const folder = join(cwd, "coverage");
  return readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(folder, name), "utf8")) as Coverage;
    const ran = result.filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0),
    );
    return ran.map(({ url }) => url);
  });
}

it("the replies of a run go through the files that the design page lists", async () => {
  await using home = await makeDaemonHome(ledger(7));
  const { goald } = home;
  const daemon = goald.start("up --foreground", { env: { NODE_V8_COVERAGE: join(goald.cwd, "coverage") } });
  await daemon.see("is ready");
  endedWith(0, await goald.run(["run", ...AGENT, "--continuous"]));
  daemon.kill("SIGTERM");
  endedWith(0, await daemon.ended);
  const page = readFileSync("docs/design.md", "utf8");
  const [, tour = ""] = /### One reply, file by file\n([\s\S]*?)\n### /.exec(page) ?? [];
  const listed = [...tour.matchAll(/^\| `((?:src|commands)\/\S+)` \|/gm)].map(([, path = ""]) => path);
  expect(listed.length).toBeGreaterThan(10);
  const ran = ranIn(goald);
  expect(listed.filter((path) => !ran.some((url) => url.endsWith(`/${path}`)))).toEqual([]);
});

/** Prints the addresses of all modules that were loaded at the first request, or at the end of a process without one. */
const HOOK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  import { subscribe } from "node:diagnostics_channel";
  const loaded = [];
  let isPrinted = false;
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
  const print = () => {
    if (!isPrinted) process.stderr.write("LOADED " + JSON.stringify(loaded) + "\\n");
    isPrinted = true;
  };
  subscribe("undici:request:create", print);
  process.on("exit", print);
`)}`;

const loadedBy = ({ stderr }: Ended): readonly string[] => JSON.parse(/^LOADED (.*)$/m.exec(stderr)?.[1] ?? "[]");

it("a run asks the model before the daemon loads what only replies need, and loads no host itself", async () => {
  await using home = await makeDaemonHome(ledger(1));
  const up = home.goald.start("up --foreground", { imports: [HOOK] });
  await up.see("is ready");
  const call = loadedBy(endedWith(0, await home.goald.run(["run", ...AGENT, "--continuous"], { imports: [HOOK] })));
  up.kill("SIGTERM");
  // Modules of the daemon at its first request.
  const daemon = loadedBy(await up.ended);
  const isLater = /src\/(?:api\/door|app\/memory|loop\/run-command|services\/page\/[^/]+)\.ts/;
  expect(daemon.filter((url) => isLater.test(url))).toEqual([]);
  // The hook sees goald's own modules.
  expect(daemon.filter((url) => url.includes("/src/loop/run.ts"))).toHaveLength(1);
  const packages = call.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  const ofAjv = ["ajv", "fast-deep-equal", "fast-uri", "json-schema-traverse"];
  // The thoughts that it shows are read as the daemon reads them.
  expect([...new Set(packages)].sort()).toEqual([...ofAjv, "commander", "eventsource-parser", "jsonrepair"].sort());
  expect(call.filter((url) => /src\/(?:app\/host|loop\/run|api\/server)\.ts/.test(url))).toEqual([]);
});

it.each([
  ["--help", 12],
  ["ps", 110],
])("a verb that only looks loads few files: goald %s at most %i", async (verb, most) => {
  await using home = await makeDaemonHome([]);
  const loaded = loadedBy(endedWith(0, await home.goald.run([verb], { imports: [HOOK] })));
  const own = loaded.filter((url) => /\/(?:src|commands)\//.test(url) && !url.includes("/node_modules/"));
  expect(own.length).toBeGreaterThan(5);
  expect(own.length).toBeLessThanOrEqual(most);
});

// One point before a commit and one after; kill.long.ts takes all, and chains of kills.
describeKills((index) => index === 4 || index === 31);
