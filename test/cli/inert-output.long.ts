import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endedWith, type Goald, jsonOf, linesOf } from "../helpers/goald.ts";
import { highestTask, replyWith, write } from "../helpers/numbered-model.ts";
import { type RecordedRun, recordRun } from "../helpers/recorded-run.ts";

/** C0, DEL, C1, direction marks, marks without width, tags. Tab, newline, joiners and selectors are text. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u;
/** A terminal writes these itself: returns, and styles. */
const OF_TERMINAL = /\r|\u001b\[[0-9;?]*[A-Za-z]/g;
const HOSTILE =
  "\u001b[2J\u001b]0;pwn\u0007\u001bP q\u001b\\\u009b31m\u009d0;t\u009c\u007f\u202egpj\u2066x\u200b\u00ad\ufeff\u2060\u{e0041}\b\r end";

let run: RecordedRun;
let goald: Goald;
beforeAll(async () => {
  run = await recordRun((request) => {
    const next = highestTask(request) + 1;
    const words = `Task ${next} of 2 ${HOSTILE}`;
    if (next === 1) return replyWith(write("a.txt", `${HOSTILE}\n`), words);
    if (next === 2) return replyWith({ name: `odd${HOSTILE}`, args: { [HOSTILE]: HOSTILE } }, words);
    return replyWith({ name: "task_complete", args: { reason: words } }, words);
  });
  goald = run.goald;
  shown.push(run.ended.stdout, run.ended.stderr);
  await goald.write("workspace/t/person.txt", HOSTILE);
});
afterAll(() => run.close());
const shown: string[] = [];

const CALLS: readonly (readonly string[])[] = [
  ["ps", "-a"],
  ["show", "t"],
  ["show", "t", "--step", "1"],
  ["show", "t", "--step", "2"],
  ["show", "t", "--report"],
  ["events", "t"],
  ["logs"],
  ["goals", "t"],
  ["show", "t", "--files"],
  ["why", "t", "a.txt"],
  ["diff", "t"],
  ["restore", "t", "--step", "1", "--dry-run"],
  ["memory", "t", "list"],
  ["memory", "t", "search", HOSTILE],
  ["memory", "t", "export"],
  ["memory", "t", "add", HOSTILE],
  ["commands"],
  ["config"],
  ["status"],
  ["verify"],
  ["doctor"],
  ["replay", "t.ndjson"],
  // Wrong calls quote what they were given.
  ["show", `t${HOSTILE}`],
  ["why", "t", HOSTILE],
  ["config", HOSTILE, HOSTILE],
  ["replay", HOSTILE],
  [HOSTILE],
];

describe("no control character and no mark without width", () => {
  it("is in the output of any verb, as text or as JSON", async () => {
    expect(UNSEEN.test(shown.join())).toBe(false);
    expect(shown.join()).toContain("end");
    for (const args of CALLS)
      for (const more of [[], ["--json"]]) {
        const { stdout, stderr } = await goald.ask([...args, ...more]);
        const found = UNSEEN.exec(stdout + stderr);
        expect({ args, more, found }).toEqual({ args, more, found: null });
        expect(stdout + stderr).not.toBe("");
      }
  });

  it("is lost from an exported memory: each line is JSON that holds the same text", async () => {
    const exported = endedWith(0, await goald.ask(["memory", "t", "export"]));
    const texts = linesOf(exported).map(({ text }) => String(text));
    expect(texts.some((text) => text.includes("\u009b31m"))).toBe(true);
    const file = join(goald.cwd, "t.jsonl");
    endedWith(0, await goald.ask(["memory", "t", "export", file]));
    expect(await readFile(file, "utf8")).toBe(exported.stdout);
    const imported = jsonOf(await goald.ask(["memory", "t", "import", file, "--json"]));
    expect(imported).toMatchObject({ added: 0, known: texts.length });
  });

  it.each(
    [
      ["memory", "t", "export"],
      ["events", "t"],
      ["show", "t", "--step", "1"],
      ["why", "t", "a.txt"],
    ].map((args) => [args]),
  )("reaches a terminal: goald %j", async (args) => {
    const terminal = goald.openTerminal(args);
    const { stdout } = await terminal.ended;
    expect(UNSEEN.exec(stdout.replace(OF_TERMINAL, ""))).toBeNull();
    expect(stdout).toContain("end");
  });
});
