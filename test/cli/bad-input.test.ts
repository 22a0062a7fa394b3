import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import {
  AGENT,
  type Ended,
  endedWith,
  errorOf,
  type Goald,
  linesOf,
  makeGoald,
  notRefused,
  type RefusedCall,
} from "../helpers/goald.ts";
import { ledger, ledgerText } from "../helpers/models.ts";

const RUN = ["run", ...AGENT, "--continuous"];

/** A home with a finished agent, which must stay unchanged through all errors. */
let home: DaemonHome;
let goald: Goald;
beforeAll(async () => {
  home = await makeDaemonHome(ledger(1));
  ({ goald } = home);
  endedWith(0, await goald.ask("run --name Earlier --goal g --continuous"));
});
/** Another home, with the same server. */
const makeOther = (): Promise<Goald> => makeGoald({ OPENAI_BASE_URL: home.server.baseUrl });

/** Expects a message for a person: no stack, no error class, nothing on standard output. */
function expectWords({ stdout, stderr }: Ended): void {
  expect(stdout).toBe("");
  expect(stderr).not.toMatch(/^\s+at |node:internal|Error:|undefined|\[object/m);
}
/** Expects it and the exit code, and returns what it says. */
function wordsOf(ended: Ended, code: number): string {
  expectWords(endedWith(code, ended));
  return ended.stderr;
}

async function expectNothingLost(): Promise<void> {
  const [listed, verified] = await Promise.all([goald.ask("ps --json"), goald.ask("verify --json")]);
  const { agents } = JSON.parse(listed.stdout) as { agents: { id: string; state: string }[] };
  expect(agents).toEqual([expect.objectContaining({ id: "earlier", state: "completed" })]);
  expect(JSON.parse(verified.stdout)).toMatchObject({ agents: 1, problems: [] });
  expect(await goald.read("workspace/earlier/ledger.txt")).toBe(ledgerText(1));
}

const NOBODY = /found none called "nobody"/;
const INVALID_CALLS: readonly RefusedCall[] = [
  ["run --nam x", 2, /unknown option '--nam'/, /Did you mean --name\?/],
  ["ps --zzzzzz", 2, /unknown option '--zzzzzz'/, /goald ps --help/],
  ["rnu", 2, /unknown command 'rnu'/, /Did you mean run\?/],
  ["show", 2, /missing required argument 'agent'/, /goald show --help/],
  ["ps foo", 2, /too many arguments/, /goald ps --help/],
  ["run -c -g a -g b -g c -g d -g e -g f", 2, /up to 5 goals, got 6/, /^$/],
  ["run -c --name T", 2, /at least one goal, got none/, /^$/],
  [["run", "-c", "-g", " "], 2, /Goal 1 must not be empty/, /^$/],
  [`run -c -g ${"x".repeat(2_001)}`, 2, /up to 2,000 characters, got 2,001/, /^$/],
  ["run -c -g g --name \x1b[2JFoo", 2, /name must be one line/, /^$/],
  ["run -c -g g -l many", 2, /'many' is invalid. Expected a whole number from 1/, /goald run --help/],
  ["run -c -g g -l 0", 2, /Expected a whole number from 1/, /goald run --help/],
  ["run -g g -l 5", 2, /--continuous-limit goes with --continuous/, /Add --continuous/],
  ["run -g g", 2, /no terminal to ask on before each command/, /Add --continuous/],
  ["run -c", 2, /no goal was given, and there is no terminal/, /--goal/],
  ["resume --continuous-limit 5", 2, /goes with --continuous/, /Add --continuous/],
  ["show nobody", 3, NOBODY, /There are: earlier\./],
  ["resume nobody -c", 3, NOBODY, /There are: earlier\./],
  ["run --from nowhere.yaml -c", 3, /There is no file nowhere\.yaml/, /ai_name: Chef/],
  ["run --from . -c", 2, /\. cannot be read: it is a folder/, /^$/],
  ["--home  ps", 2, /Expected --home to name a folder, got ""/, /^$/],
  [[...RUN, "--model", "two words"], 2, /models\.smart|--model/],
];

describe("an invalid call", () => {
  it(`is rejected with the reason and what to do, for each of ${INVALID_CALLS.length} mistakes`, async () => {
    expect(await notRefused(goald, INVALID_CALLS)).toEqual([]);
    // Control: a call that is accepted is listed.
    expect(await notRefused(goald, [["ps", 0, /^/]])).toMatchObject([{ args: ["ps", "--json"] }]);
  });

  it.each([
    ["ps", ["ps", "--zzzzzz"], "goald: unknown option '--zzzzzz'\n  See how it is called: goald ps --help\n"],
    [
      "run",
      ["run", "--goal", "g", "-l", "5"],
      "goald: --continuous-limit goes with --continuous.\n  Add --continuous, or leave the limit out: you are asked about each command.\n",
    ],
    [
      "show",
      ["show", "nobody"],
      'goald: Expected the id or name of an agent, found none called "nobody".\n  There are: earlier.\n',
    ],
  ])("prints for %s one line with the error and one with what to do", async (_verb, args, words) => {
    expect(await goald.run(args)).toMatchObject({ stdout: "", stderr: words });
  });

  it("leaves the finished agent unchanged", expectNothingLost);

  it("sends no request to the model", () => expect(home.server.chats).toHaveLength(2));
});

const YAML = "ai_name: Foo\nai_role: r\n";
const AGENT_FILES: readonly (readonly [yaml: string, says: RegExp])[] = [
  ["ai_name: [Foo\nai_role: x", /agent\.yaml, line \d+: this is not the YAML of an agent/],
  ["- a\n- b\n", /expected ai_name, ai_role, ai_goals, got a list/],
  ["", /expected ai_name, ai_role, ai_goals, got nothing/],
  [YAML, /ai_goals is missing/],
  ["ai_nam: Foo\nai_role: r\nai_goals: [g]\n", /ai_name is missing \(there is "ai_nam"\)/],
  [`${YAML}ai_goals: g\n`, /line 3: ai_goals must be a list/],
  [`${YAML}ai_goals: [7]\n`, /goal 1 must be a text, got the number 7/],
  [`${YAML}ai_goals: [a, b, c, d, e, f]\n`, /holds 6 goals; an agent has up to 5/],
  ["ai_name: &a Foo\nai_role: *a\nai_goals: [g]\n", /aliases .* are not allowed/],
  ['ai_name: "\\e[31mFoo"\nai_role: r\nai_goals: [g]\n', /name must be one line without control/],
  // A key by mistake.
  ["sk-planted-9Kd8sJ2lQq\n", /expected ai_name, ai_role, ai_goals/],
];

describe("an agent file", () => {
  it(`is rejected with the place and the reason, for each of ${AGENT_FILES.length} mistakes`, async () => {
    for (const [yaml, says] of AGENT_FILES) {
      await writeFile(join(goald.cwd, "agent.yaml"), yaml);
      const words = wordsOf(await goald.ask("run --from agent.yaml --continuous"), 2);
      expect({ yaml, words }).toEqual({ yaml, words: expect.stringMatching(says) });
      expect(words).not.toContain("sk-planted");
    }
  });

  it("leaves the finished agent unchanged", expectNothingLost);

  it("that is valid runs, and fields without effect are reported", async () => {
    await using other = await makeOther();
    await writeFile(
      join(other.cwd, "agent.yaml"),
      "ai_name: Foo\nai_role: r\nai_goals:\n- g\napi_budget: 1.5\nai_color: red\n",
    );
    const ended = await other.ask("run --from agent.yaml --continuous --json");
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stderr).toContain("agent.yaml: api_budget is ignored");
    expect(ended.stderr).toContain('agent.yaml: "ai_color" is not part of an agent');
    expect(linesOf(ended).at(-1)).toMatchObject({ type: "result", agent: "foo", exitCode: 0 });
  });
});

describe("invalid settings", () => {
  it("are rejected by name", async () => {
    for (const [name, value, says] of [
      ["GOALD_LIMITS_UNATTENDED_STEPS", "lots", /whole number from 1 to 1,000,000.*lots/],
      ["OPENAI_BASE_URL", "models.example:11434", /http or https address/],
      ["OPENAI_BASE_URL", "http://me:hunter2hunter2@127.0.0.1/v1", /^/],
      ["GOALD_AGENTS_APPROVE", "sometimes", /always, risky, never/],
    ] as const) {
      const words = wordsOf(await goald.ask(RUN, { env: { [name]: value } }), 2);
      expect(words).toMatch(new RegExp(`${name}.*${says.source.replace("^", "")}`));
    }
  });

  it("in goald.json are rejected with the file", async () => {
    await using other = await makeOther();
    // Broken JSON, an unknown setting, and a value of another kind.
    for (const text of ['{ "recall": ', '{ "recal": { "count": 3 } }', '{ "recall": { "count": "three" } }']) {
      await other.write("config/goald.json", text);
      expect(wordsOf(await other.ask(RUN), 2)).toContain(join(other.home, "config", "goald.json"));
    }
  });

  it("print what to write where, and the demo, without a key or server (exit 5)", async () => {
    await using other = await makeGoald();
    const words = wordsOf(await other.ask(RUN), 5);
    for (const part of ["no key and no model server", `OPENAI_API_KEY=… into ${other.home}/.env`, "goald demo"])
      expect(words).toContain(part);
  });

  it("leave the finished agent unchanged", expectNothingLost);
});

describe("the environment of a call", () => {
  it("is rejected when the current folder was deleted", async () => {
    const ended = await goald.run("ps", {
      shell: 'folder=$(mktemp -d) && cd "$folder" && rmdir "$folder"; exec "$@"',
    });
    expectWords(endedWith(2, ended));
    expect(ended.stderr).toContain("is not there any more.\n  Go to another one");
  });

  it("fails if the output goes to a full disk", async () => {
    for (const args of [
      ["ps", "--json"],
      ["events", "earlier"],
      ["show", "earlier"],
    ]) {
      const ended = endedWith(1, await goald.run(args, { shell: 'exec "$@" > /dev/full' }));
      expect(ended.stderr).toMatch(/^goald: Standard output could not be written: ENOSPC/);
      expect(ended.stderr).not.toMatch(/^\s+at /m);
    }
  });

  it("may lack any of the three streams", async () => {
    const ended = endedWith(0, await goald.run("ps", { shell: 'exec "$@" <&- 2>&-' }));
    expect(ended.stdout).toContain("earlier");
    endedWith(0, await goald.run("ps", { shell: 'exec "$@" >&-' }));
  });
});

describe("a command or prompt template of a home", () => {
  it.each([
    ["is not a module", "commands/broken.ts", "export default {", /broken\.ts/],
    ["has no schema", "commands/empty.ts", "export default { name: 'empty' };", /empty/],
    ["throws when it is loaded", "commands/thrower.ts", "throw new Error('boom');", /thrower\.ts.*boom/s],
    ["is not a prompt file", "prompts/code/system.md", "x", /code is not a prompt file\. Known files: system\.md/],
    [
      "has an unknown variable",
      "prompts/messages.md",
      "## result\n{{nonsense}}",
      /messages\.md, section result, has \{\{nonsense\}\}/,
    ],
  ])("is rejected with its file when it %s", async (_title, path, text, message) => {
    await using other = await makeOther();
    await other.write(path, text);
    const { stderr } = endedWith(2, await other.ask([...RUN, "--json"]));
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(stderr).toMatch(message);
    // The error came before anything was created.
    expect(await other.json("ps")).toEqual({ agents: [] });
  });

  it("is rejected with its file when an await at its top level has no end", async () => {
    await using other = await makeOther();
    await other.write("commands/waits.ts", "await new Promise(() => {}); export default {};");
    // A process of its own: nothing but the await keeps it alive.
    const { stderr } = endedWith(2, await other.run("commands"));
    expect(stderr).toContain("commands/waits.ts could not be loaded: it did not finish loading within 5 s. Move its");
  });
});

describe("a home that cannot be used", () => {
  it("is rejected if it is a file", async () => {
    const file = join(goald.cwd, "a-file");
    await writeFile(file, "not a folder");
    const words = wordsOf(await goald.ask(["--home", file, ...RUN]), 1);
    expect(words).toContain(file);
    expect(words).toContain("--home FOLDER");
    expect(await goald.ask(["--home", file, ...RUN, "--json"]).then(errorOf)).toMatchObject({
      code: "GOALD_HOME_UNWRITABLE",
    });
  });

  it("is rejected if it is not writable", async () => {
    const folder = join(goald.cwd, "read-only");
    await mkdir(folder, { mode: 0o555 });
    for (const call of [RUN, ["commands", "count_words", "--new"]]) {
      const ended = await goald.run(["--home", folder, ...call], { shell: WITHOUT_PRIVILEGES });
      expect(wordsOf(ended, 1)).toMatch(/cannot be used: you have no permission/);
    }
  });

  it("is rejected if it cannot be created there", async () => {
    const ended = await goald.ask(["--home", "/proc/nowhere/home", ...RUN]);
    expect(wordsOf(ended, 1)).toMatch(/cannot be used: folders cannot be made there/);
  });

  it("is rejected by other verbs too", async () => {
    for (const verb of ["ps", "verify", "demo"]) {
      const ended = endedWith(1, await goald.ask(["--home", join(goald.cwd, "a-file"), verb]));
      expect(ended.stderr).not.toMatch(/^\s+at |node:internal/m);
    }
  });
});

/** Root may write anywhere; without its capabilities it is like any other user. */
const WITHOUT_PRIVILEGES =
  process.getuid?.() === 0 ? 'exec setpriv --bounding-set=-all --inh-caps=-all "$@"' : 'exec "$@"';
