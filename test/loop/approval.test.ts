import { describe, expect, it } from "@jest/globals";
import { describeCode } from "#cli/terminal/describe-call.ts";
import type { ApprovalMode } from "#core/agent-settings.ts";
import type { CommandCall } from "#core/call.ts";
import { succeed } from "#core/command.ts";
import type { Services } from "#core/services.ts";
import { activeFrame } from "#core/state.ts";
import { loadWaiting } from "#views/waiting.ts";
import { bytesOf } from "../helpers/events.ts";
import { createFakeSandbox } from "../helpers/fake-sandbox.ts";
import {
  afterRun,
  done,
  type LoopOptions,
  makeLoop,
  type PersonAnswer,
  reply,
  resultOf,
  testCommand,
  textArgs,
  WRITES,
} from "../helpers/loop.ts";

const always = { approve: "always" } as const;
const yes = (count = 1): PersonAnswer => ({ kind: "approved", count });
const NO: PersonAnswer = { kind: "feedback", text: "no" };
const write = (name: string) => reply("write_to_file", { file: name, text: name });

/** A person who gives these answers in this order, and then leaves. */
function person(...answers: readonly PersonAnswer[]) {
  const asked: string[] = [];
  const ask = async ({ name, args }: CommandCall): Promise<PersonAnswer> => {
    asked.push(`${name}${args.permanently ? " permanently" : ""}`);
    return answers[asked.length - 1] ?? { kind: "leave" };
  };
  return { asked, ask };
}

describe("approval by a person", () => {
  it("covers N commands after y -N, the present one included", async () => {
    const loop = await makeLoop({ script: [..."abcd"].map(write).concat(done()), settings: always });
    const { ask, asked } = person(yes(3), yes(2));
    expect(activeFrame(await loop.run({ ask })).phase.kind).toBe("resting");
    expect(asked).toHaveLength(2);
    const approvals = (await loop.of("command-approved")).map(({ by }) => by);
    expect(approvals).toEqual(["person", "earlier-approval", "earlier-approval", "person", "earlier-approval"]);
  });

  it("stays open when the person leaves: a resume asks about the same command, which has not run", async () => {
    const loop = await makeLoop({ script: [write("a"), done()], settings: always });
    expect((await loop.run({ ask: person().ask })).paused).toMatchObject({ code: "person" });
    expect(loop.files.size).toBe(0);
    await loop.tell({ type: "resume" });
    const second = person(yes(), yes());
    await loop.run({ ask: second.ask });
    expect(second.asked).toEqual(["write_to_file", "task_complete"]);
    expect(loop.model.requests).toHaveLength(2);
    expect(loop.text("a")).toBe("a");
  });
});

const FILE = "count.py";
const runFile = reply("execute_python_file", { file: FILE });
const LONG = Array.from({ length: 4_000 }, (_, at) => `x${at} = ${at}  # line ${at + 1}`).join("\n");
const shows = (text: string) => () => ({ value: { text } });
/** An agent with the file `count.py` that holds `text`. */
async function makeRunner(
  script: LoopOptions["script"],
  text: string | null,
  settings: LoopOptions["settings"] = always,
) {
  const sandbox = createFakeSandbox({ "print(1)": shows("one"), "print(2)": shows("two"), [LONG]: shows("long") });
  const loop = await makeLoop({ script, sandbox, settings });
  const put = (content: string): void => void loop.files.set(FILE, bytesOf(content));
  if (text !== null) put(text);
  const waiting = async () => loadWaiting((await loop.store.agent(loop.row.id)) ?? loop.row, loop.store);
  return { loop, put, waiting };
}

describe("a person who is asked about the code of a file", () => {
  it("sees the whole file as it was at the question, and an unchanged file runs", async () => {
    const { loop, waiting } = await afterRun(makeRunner([runFile, done()], LONG));
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect((await waiting())?.code).toMatchObject({ file: FILE, text: LONG, sha256 });
    await loop.run({ ask: async () => yes() });
    expect((await loop.results())[0]).toMatchObject({ status: "ok", text: "long" });
  });

  it("is asked again when the file has changed since: the new content does not run unseen", async () => {
    const { loop, put, waiting } = await makeRunner([runFile, runFile, done()], "print(1)");
    const seen: unknown[] = [];
    await loop.run({
      ask: async ({ name }) => {
        if (name === "execute_python_file") seen.push((await waiting())?.code?.text);
        if (seen.length === 1) put("print(2)");
        return yes();
      },
    });
    expect(seen).toEqual(["print(1)", "print(2)"]);
    const [refused, ran] = await loop.results();
    expect(refused).toMatchObject({ status: "failed", code: "file-changed" });
    expect(refused?.text).toContain("it has changed since a person was asked about its code");
    expect(ran).toMatchObject({ status: "ok", text: "two" });
  });

  it("is told that a missing file will not run, and a file that appears then does not run", async () => {
    const { loop, put, waiting } = await afterRun(makeRunner([runFile, done()], null));
    expect((await waiting())?.code).toEqual({ file: FILE, sha256: null, text: "" });
    put("print(3)");
    await loop.run({ ask: async () => yes() });
    expect((await loop.results())[0]).toMatchObject({ status: "failed", code: "file-changed" });
  });

  it("sees the code of run_code, also when it is too long for an event", async () => {
    const code = `${"y = 1\n".repeat(10_000)}print(y)`;
    const { waiting } = await afterRun(makeRunner([reply("run_code", { code }), done()], null));
    expect((await waiting())?.code).toEqual({ file: null, sha256: null, text: code });
  });

  it("is nobody in an agent whose commands need no person: a file that changed since the reply runs", async () => {
    const { loop } = await afterRun(makeRunner([runFile, done()], "print(1)", { approve: "never" }));
    expect((await loop.results())[0]).toMatchObject({ status: "ok", text: "one" });
    expect(await loop.of("approval-asked")).toEqual([]);
  });
});

describe("the code of a question", () => {
  const code = (text: string, more: object = {}) => ({ file: null, sha256: null, text, ...more });

  it("has numbered lines, and its control and unseen characters are written out", () => {
    const text = "a = 1\n\u001b[2Kb = 2 # \u202e\u200b\nif a:\r\tprint(a)\n";
    expect(describeCode(code(text))).toEqual([
      "The code that would run (Python, 3 lines):",
      "  1 | a = 1",
      "  2 | \\u{1b}[2Kb = 2 # \\u{202e}\\u{200b}",
      "  3 | if a:\\u{d}\tprint(a)",
    ]);
  });

  it("is whole unless a limit is given, which counts the lines that are left out", () => {
    const text = Array.from({ length: 1_200 }, (_, at) => `line ${at + 1}`).join("\n");
    expect(describeCode(code(text))).toHaveLength(1_201);
    const cut = describeCode(code(text, { file: "a.py", sha256: "ab".repeat(32) }), 500);
    expect(cut[0]).toBe('The code that would run of "a.py" (Python, 1200 lines, sha256 abababababab):');
    expect(cut.slice(-2)).toEqual(["   500 | line 500", "  … 700 more lines"]);
  });
});

/** Files that others run or obey, by every command that can write one: asked in `risky`, refused in `never`. */
const SCRIPTS = JSON.stringify({ scripts: { postinstall: "node steal.js" } });
const HARMLESS = JSON.stringify({ scripts: { test: "node --test" } });
const services = { downloads: { ready: true }, repositories: { ready: true } } as const;
const serving: Partial<Services> = {
  downloads: { get: async (url) => ({ url, contentType: "", bytes: bytesOf(SCRIPTS) }) as never },
  repositories: { clone: async (url) => ({ url, commit: "c", branch: null, files: 0, bytes: 0, remarks: [] }) },
};
/** An own command that names no argument as a path that it writes. */
const quiet = testCommand<{ text: string }>(
  "quiet",
  async ({ text }, { workspace }) => {
    const [path = "", ...rest] = text.split(" ");
    await workspace.write(path, rest.join(" "));
    return succeed("written");
  },
  { args: textArgs("text"), annotations: WRITES },
);

type Call = readonly [name: string, args: Readonly<Record<string, unknown>>];
async function runCalls(calls: readonly Call[], approve: ApprovalMode = "risky", answer = NO) {
  const script = [...calls.map(([name, args]) => reply(name, args)), done()];
  const loop = await makeLoop({ script, settings: { approve }, services, serving, commands: [quiet] });
  loop.files.set("plain", bytesOf("x"));
  loop.files.set("a.json", bytesOf(SCRIPTS));
  await loop.run({ ask: async () => answer });
  const reasons = (await loop.of("approval-asked")).map(({ reason }) => reason);
  const results = (await loop.results()).map(({ code, status }) => code ?? status);
  return { loop, reasons, results, files: [...loop.files.keys()].sort() };
}

const WAYS: readonly Call[] = [
  ["write_to_file", { file: ".envrc", text: "x" }],
  ["write_to_file", { file: "a/./.ENVRC", text: "x" }],
  ["append_to_file", { file: "x/.envrc", text: "x" }],
  ["edit_file", { file: ".envrc", old: "a", new: "b" }],
  ["move_file", { from: "plain", to: ".envrc" }],
  ["download_file", { url: "https://example.com/x", file: ".envrc" }],
  ["write_to_file", { file: "package.json", text: SCRIPTS }],
];

describe("a file that others run", () => {
  const envrc = WAYS[0] as Call;

  it.each(WAYS)("is asked about before %s %j, and refused where nobody is asked", async (...call) => {
    const { reasons, files } = await runCalls([call]);
    expect(reasons).toEqual([expect.stringMatching(/when somebody (?:enters|installs)/)]);
    expect(files).toEqual(["a.json", "plain"]);
    const never = await runCalls([call], "never");
    expect(await never.loop.of("turn-finished")).toHaveLength(1);
    const refusal = { reason: expect.stringContaining("Nobody can be asked") };
    expect(await never.loop.of("command-denied")).toMatchObject([refusal]);
    expect(never.files).toEqual(["a.json", "plain"]);
  });

  it("is asked about although a person approved the next twenty commands", async () => {
    expect((await runCalls([envrc, envrc], "risky", yes(20))).reasons).toHaveLength(2);
  });

  it("is written when a person says yes", async () => {
    const { loop, results } = await runCalls([envrc], "risky", yes());
    expect([results[0], loop.text(".envrc")]).toEqual(["ok", "x"]);
  });

  it("is not written by a command of one's own that says nothing about its files", async () => {
    const texts = [".envrc x", `package.json ${SCRIPTS}`, "notes.md x"];
    const { results, files } = await runCalls(texts.map((text) => ["quiet", { text }]));
    expect(results.slice(0, 3)).toEqual(["path-refused", "path-refused", "ok"]);
    expect(files).toEqual(["a.json", "notes.md", "plain"]);
  });

  it("is asked about when it is the place of a clone", async () => {
    const args = { repository_url: "https://e.com/a.git", clone_path: ".vscode" };
    const { reasons } = await runCalls([["clone_repository", args]]);
    expect(reasons).toEqual([expect.stringContaining("an editor obeys it")]);
  });
});

describe("a package file", () => {
  const harmless: Call = ["write_to_file", { file: "package.json", text: HARMLESS }];

  it("with the project's own scripts is written and edited without a question, also where nobody is asked", async () => {
    const edit: Call = ["edit_file", { file: "package.json", old: "--test", new: "--test --watch" }];
    for (const approve of ["risky", "never"] as const) {
      const { reasons, results } = await runCalls([harmless, edit], approve);
      expect([reasons, results.slice(0, 2)]).toEqual([[], ["ok", "ok"]]);
    }
  });

  it.each<Call>([
    ["edit_file", { file: "package.json", old: "test", new: "postinstall", count: 2 }],
    ["move_file", { from: "a.json", to: "b/package.json" }],
    ["download_file", { url: "https://example.com/x", file: "c/package.json" }],
    ["append_to_file", { file: "package.json", text: "," }],
  ])("gets no install script by %s, which shows no person the whole", async (...call) => {
    const { results, loop } = await runCalls([harmless, call], "risky", yes());
    expect([results[1], loop.text("package.json")]).toEqual(["path-refused", HARMLESS]);
  });

  it("keeps the install scripts that it had when something else is edited", async () => {
    const had = `{"version":"1.0","scripts":{"install":"make"}}`;
    const edit = reply("edit_file", { file: "package.json", old: "1.0", new: "1.1" });
    const loop = await makeLoop({ script: [edit, done()] });
    loop.files.set("package.json", bytesOf(had));
    await loop.run();
    expect(loop.text("package.json")).toBe(had.replace("1.0", "1.1"));
  });
});

/** Files that the history cannot keep, and folders: a person is asked before they are lost. */
const BIG = new Uint8Array(64 * 1024 * 1024 + 1);
async function runOnce([name, args]: Call, approve: ApprovalMode, answer = yes()) {
  const loop = await makeLoop({ script: [reply(name, args), done()], settings: { approve }, services, serving });
  loop.files.set("big.bin", BIG);
  for (const path of ["clone/.git/config", "clone/a"]) loop.files.set(path, new Uint8Array(1));
  const { ask, asked } = person(answer, answer);
  await loop.run({ ask });
  const { status } = (await resultOf(loop)).observation;
  const left = loop.files.get("big.bin") === BIG ? "big" : loop.text("big.bin");
  return { asked, status, has: (path: string) => loop.files.has(path), left };
}

describe("a file over 64 MB", () => {
  const LOSES = "delete_file permanently";
  const overwrite: Call = ["write_to_file", { file: "big.bin", text: SCRIPTS }];
  const download: Call = ["download_file", { file: "big.bin", url: "https://example.com/" }];
  const deletion: Call = ["delete_file", { file: "big.bin" }];
  it.each<[call: Call, approve: ApprovalMode, answer: PersonAnswer, asked: string[], status: string, left?: string]>([
    [deletion, "risky", yes(), [LOSES], "ok"],
    [deletion, "never", yes(), [], "ok"],
    [deletion, "risky", NO, [LOSES], "denied", "big"],
    [overwrite, "risky", NO, [LOSES], "denied", "big"],
    [overwrite, "risky", yes(), [LOSES], "ok", SCRIPTS],
    [download, "risky", yes(), ["download_file", LOSES], "ok", SCRIPTS],
  ])("is lost by %j in %s only after the answer %j to the questions %j", async (call, approve, answer, ...expected) => {
    const { asked, status, left } = await runOnce(call, approve, answer);
    expect([asked, status, left]).toEqual([...expected, undefined].slice(0, 3));
  });
});

describe("a folder", () => {
  it("is deleted permanently after a question, with what version control keeps in it", async () => {
    const run = await runOnce(["delete_file", { file: "clone", permanently: true }], "risky");
    expect([run.asked, run.status]).toEqual([["delete_file permanently"], "ok"]);
    expect([run.has("clone/a"), run.has("clone/.git/config"), run.has("big.bin")]).toEqual([false, false, true]);
  });

  it("is not deleted without that word", async () => {
    const run = await runOnce(["delete_file", { file: "clone" }], "risky");
    expect([run.asked, run.status, run.has("clone/a")]).toEqual([[], "failed", true]);
  });
});
