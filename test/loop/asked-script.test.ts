import { describe, expect, it } from "@jest/globals";
import { describeCode, type ShownCode } from "#cli/terminal/describe-call.ts";
import { loadWaiting } from "#views/waiting.ts";
import type { Answer } from "../helpers/answering-person.ts";
import { createFakeSandbox } from "../helpers/fake-sandbox.ts";
import { done, type Loop, type LoopOptions, makeLoop, reply } from "../helpers/loop.ts";

const FILE = "count.py";
const runFile = reply("execute_python_file", { file: FILE });
const LONG = Array.from({ length: 4_000 }, (_, at) => `x${at} = ${at}  # line ${at + 1}`).join("\n");
const shows = (text: string) => () => ({ value: { text } });
const start = (script: LoopOptions["script"], options: Partial<LoopOptions> = {}): Promise<Loop> =>
  makeLoop({
    script,
    sandbox: createFakeSandbox({ "print(1)": shows("one"), "print(2)": shows("two"), [LONG]: shows("long") }),
    settings: { approve: "always" },
    ...options,
  });
const put = ({ files }: Loop, text: string): void => void files.set(FILE, new TextEncoder().encode(text));
const yes: Answer = { kind: "approved", count: 1 };
const results = async (loop: Loop) =>
  (await loop.events()).flatMap((event) => (event.type === "command-finished" ? [event.observation] : []));
const waitingIn = async ({ row, store }: Loop) => loadWaiting((await store.agent(row.id)) ?? row, store);

describe("a person who is asked about the code of a file", () => {
  it("sees the whole file as it was at the question, and an unchanged file runs", async () => {
    const loop = await start([runFile, done()]);
    put(loop, LONG);
    await loop.run();
    const waiting = await waitingIn(loop);
    expect(waiting?.code).toMatchObject({ file: FILE, text: LONG });
    expect(waiting?.code?.sha256).toMatch(/^[0-9a-f]{64}$/);
    await loop.run({ ask: async () => yes });
    expect((await results(loop))[0]).toMatchObject({ status: "ok", text: "long" });
  });

  it("is asked again when the file has changed since: the new content does not run unseen", async () => {
    const loop = await start([runFile, runFile, done()]);
    put(loop, "print(1)");
    const seen: unknown[] = [];
    await loop.run({
      ask: async ({ name }) => {
        if (name === "execute_python_file") seen.push((await waitingIn(loop))?.code?.text);
        if (seen.length === 1) put(loop, "print(2)");
        return yes;
      },
    });
    expect(seen).toEqual(["print(1)", "print(2)"]);
    const [refused, ran] = await results(loop);
    expect(refused).toMatchObject({ status: "failed", code: "file-changed" });
    expect(refused?.text).toContain("it has changed since a person was asked about its code");
    expect(ran).toMatchObject({ status: "ok", text: "two" });
  });

  it("is told that a missing file will not run, and a file that appears then does not run", async () => {
    const loop = await start([runFile, done()]);
    await loop.run();
    expect((await waitingIn(loop))?.code).toEqual({ file: FILE, sha256: null, text: "" });
    put(loop, "print(3)");
    await loop.run({ ask: async () => yes });
    expect((await results(loop))[0]).toMatchObject({ status: "failed", code: "file-changed" });
  });

  it("sees the code of run_code, also when it is too long for an event", async () => {
    const code = `${"y = 1\n".repeat(10_000)}print(y)`;
    const loop = await start([reply("run_code", { code }), done()]);
    await loop.run();
    expect((await waitingIn(loop))?.code).toEqual({ file: null, sha256: null, text: code });
  });
});

describe("an agent whose commands need no person", () => {
  it("runs a file that changed since the reply, because nobody was shown its content", async () => {
    const loop = await start([runFile, done()], { settings: { approve: "never" } });
    put(loop, "print(1)");
    await loop.run();
    expect((await results(loop))[0]).toMatchObject({ status: "ok", text: "one" });
    expect((await loop.events()).some(({ type }) => type === "approval-asked")).toBe(false);
  });
});

describe("the code of a question", () => {
  const code = (text: string, more: Partial<ShownCode> = {}): ShownCode => ({
    ...{ file: null, sha256: null, text },
    ...more,
  });

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
