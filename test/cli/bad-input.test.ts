import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import {
  AGENT,
  type Ended,
  endedWith,
  errorOf,
  type Goald,
  makeGoald,
  notRefused,
  type RefusedCall,
} from "../helpers/goald.ts";
import { ledger, ledgerText } from "../helpers/models.ts";

const RUN = ["run", ...AGENT, "--continuous"];
const PLANNED = ["--plan", "required", "--commands", "files"];

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

/** Returns the message for a person. Expects this exit code, no stack, no error class, nothing on standard output. */
function wordsOf(ended: Ended, code: number): string {
  const { stdout, stderr } = endedWith(code, ended);
  expect(stdout).toBe("");
  expect(stderr).not.toMatch(/^\s+at |node:internal|Error:|undefined|\[object/m);
  return stderr;
}

const INVALID_CALLS: readonly RefusedCall[] = [
  ["run -c --name T", 2, /at least one goal, got none/, /^$/],
  [["run", "-c", "-g", " "], 2, /Goal 1 must not be empty/, /^$/],
  [`run -c -g ${"x".repeat(2_001)}`, 2, /up to 2,000 characters, got 2,001/, /^$/],
  ["run -c -g g --name \x1b[2JFoo", 2, /name must be one line/, /^$/],
  ["resume --continuous-limit 5", 2, /goes with --continuous/, /Add --continuous/],
  ["run --from . -c", 2, /\. cannot be read: it is a folder/, /^$/],
  ["run -g g -d -c -l 5 --max-steps 6", 2, /--continuous-limit 5 and --max-steps 6 say different things/],
  ["run -g g --max-time 9999d", 2, /up to 3650d/],
  ["run -c --check a.md", 2, /^--check proves a goal, and no goal was given\.$/],
  [["run", "-c", "-g", "g", "--check", "2: a.md"], 2, /It is for goal 2, and the goals are only goal 1\.$/],
  ["--home  ps", 2, /Expected --home to name a folder, got ""/, /^$/],
  [[...RUN, "--model", "two words"], 2, /models\.smart|--model/],
  [
    [...RUN, "--commands", "files,shell"],
    2,
    /^There is no command and no group shell\.$/,
    /^Groups: .* Commands: google, /,
  ],
  [[...RUN, "--commands", "Files"], 2, /^There is no command and no group Files\.$/, /^Groups: files, web, /],
  [[...RUN, "--commands", ""], 2, /^No commands are named\.$/, /^Groups: files, web, /],
  [[...RUN, ...PLANNED], 2, /needs add_task and modify_task, and --commands files leaves them out/, /files,plan$/],
];

describe("an invalid call", () => {
  it(`is rejected with the reason and what to do, for each of ${INVALID_CALLS.length} mistakes`, async () => {
    expect(await notRefused(goald, INVALID_CALLS)).toEqual([]);
    // Control: a call that is accepted is listed.
    expect(await notRefused(goald, [["ps", 0, /^/]])).toMatchObject([{ args: ["ps", "--json"] }]);
  });

  it("leaves the finished agent unchanged", async () => {
    const [listed, verified] = await Promise.all([goald.ask("ps --json"), goald.ask("verify --json")]);
    const { agents } = JSON.parse(listed.stdout) as { agents: { id: string; state: string }[] };
    expect(agents).toEqual([expect.objectContaining({ id: "earlier", state: "completed" })]);
    expect(JSON.parse(verified.stdout)).toMatchObject({ agents: 1, problems: [] });
    expect(await goald.read("workspace/earlier/ledger.txt")).toBe(ledgerText(1));
  });

  it("sends no request to the model", () => expect(home.server.chats).toHaveLength(2));
});

it("an agent file is rejected with its place, and is not shown, because it may be a key by mistake", async () => {
  await writeFile(join(goald.cwd, "agent.yaml"), "sk-planted-9Kd8sJ2lQq\n");
  const words = wordsOf(await goald.ask("run --from agent.yaml --continuous"), 2);
  expect(words).toMatch(/agent\.yaml, line 1: expected ai_name, ai_role, ai_goals, got one text/);
  expect(words).not.toContain("sk-planted");
});

describe("the environment of a call", () => {
  it("is rejected when the current folder was deleted", async () => {
    const ended = await goald.run("ps", {
      shell: 'folder=$(mktemp -d) && cd "$folder" && rmdir "$folder"; exec "$@"',
    });
    expect(wordsOf(ended, 2)).toContain("is not there any more.\n  Go to another one");
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
  it("is rejected by every verb if it is a file", async () => {
    const file = join(goald.cwd, "a-file");
    await writeFile(file, "not a folder");
    await chmod(file, 0o666);
    for (const call of [RUN, ["ps"], ["verify"], ["demo"]])
      expect(wordsOf(await goald.ask(["--home", file, ...call]), 1)).toMatch(/a-file[\s\S]*--home FOLDER/);
    expect(await goald.ask(["--home", file, ...RUN, "--json"]).then(errorOf)).toMatchObject({
      code: "GOALD_HOME_UNWRITABLE",
    });
    expect(wordsOf(await goald.ask("demo", { env: { TMPDIR: file } }), 1)).toContain("Set TMPDIR");
  });

  it("is rejected if it is not writable", async () => {
    const folder = join(goald.cwd, "read-only");
    await mkdir(join(folder, ".goald"), { recursive: true });
    // The daemon is expected, so that goald down has a file to remove.
    await writeFile(join(folder, ".goald/wanted"), "");
    for (const path of [".goald", "."]) await chmod(join(folder, path), 0o555);
    for (const call of [["down"], RUN, ["commands", "count_words", "--new"]]) {
      const ended = await goald.run(["--home", folder, ...call], { shell: WITHOUT_PRIVILEGES });
      expect(wordsOf(ended, 1)).toMatch(/cannot be used: you have no permission/);
    }
  });
});

/** Root may write anywhere; without its capabilities it is like any other user. */
const WITHOUT_PRIVILEGES =
  process.getuid?.() === 0 ? 'exec setpriv --bounding-set=-all --inh-caps=-all "$@"' : 'exec "$@"';
