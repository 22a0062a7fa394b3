import { appendFile, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { endedWith, errorOf, type Goald, linesOf, makeGoald } from "../helpers/goald.ts";

let goald: Goald;
let folder: string;
beforeAll(async () => {
  goald = await makeGoald();
  folder = join(goald.home, ".goald", "log");
});
afterAll(async () => {
  await goald[Symbol.asyncDispose]();
});

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 20, 10, minute)).toISOString();
const line = (minute: number, fields: object): string =>
  `${JSON.stringify({ level: 30, time: at(minute), pid: 1, ...fields })}\n`;
const stdoutOf = async (...args: readonly string[]): Promise<string> =>
  endedWith(0, await goald.ask(["logs", ...args])).stdout;
const wordsOf = (stdout: string): readonly string[] =>
  [...stdout.matchAll(/word=(\w+)/g)].map(([, word]) => word ?? "");

describe("the output of goald logs", () => {
  beforeEach(async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "goald.log.2"), line(0, { agent: "a", word: "oldest" }));
    await writeFile(
      join(folder, "goald.log.1"),
      line(1, { agent: "a", step: 1, word: "old" }) + line(2, { word: "daemon" }),
    );
    await writeFile(
      join(folder, "goald.log"),
      line(3, { agent: "a", step: 2, word: "new" }) +
        line(4, { level: 40, agent: "b", step: 2, word: "warning" }) +
        "a torn \u001b[31mline\n" +
        line(5, { agent: "a", word: "last" }),
    );
    await writeFile(join(folder, "daemon.out"), "Segmentation fault\n");
  });

  it.each<[readonly string[], readonly string[]]>([
    [[], ["oldest", "old", "daemon", "new", "warning", "last"]],
    [["--tail", "2"], ["last"]],
    [
      ["--step", "2"],
      ["new", "warning"],
    ],
    [["--level", "warn"], ["warning"]],
    [
      ["--since", "2026-11-20T10:03:00Z"],
      ["new", "warning", "last"],
    ],
    [["--since", "1s"], []],
    [
      ["--since", "2026-11-20T10:01:00Z", "--tail", "3", "--level", "info"],
      ["new", "warning", "last"],
    ],
    [["--daemon"], ["daemon"]],
  ])("goald logs %j: starts with the oldest file", async (args, words) => {
    expect(wordsOf(await stdoutOf(...args))).toEqual(words);
  });

  it("keeps lines that are not log lines, escapes control characters, and ends with the daemon's own output", async () => {
    const shown = await stdoutOf("--daemon");
    expect(shown).toContain("\na torn line\n");
    expect(shown.endsWith("Segmentation fault\n")).toBe(true);
    expect(await stdoutOf()).not.toContain("Segmentation");
  });

  it("with --json, is the lines of the file without those that are not JSON", async () => {
    const lines = linesOf({ stdout: await stdoutOf("--json") });
    expect(lines).toHaveLength(6);
    expect(lines[0]).toEqual({ level: 30, time: at(0), pid: 1, agent: "a", word: "oldest" });
  });

  it("contains a last line without a line end", async () => {
    await appendFile(join(folder, "goald.log"), line(6, { agent: "a", word: "cut" }).trimEnd());
    expect(wordsOf(await stdoutOf("--tail", "1"))).toEqual(["cut"]);
  });

  it.each([
    ["--since", "yesterday"],
    ["--tail", "0"],
    ["--level", "loud"],
    ["--step", "0"],
  ])("refuses %s %s", async (...args) => {
    expect(errorOf(endedWith(2, await goald.ask(["logs", ...args, "--json"]))).code).toBe("GOALD_USAGE");
  });

  it("is empty in a home without a log", async () => {
    await using empty = await makeGoald();
    expect(endedWith(0, await empty.ask(["logs"])).stdout).toBe("");
  });

  it("follows line by line through rotation and truncation until Ctrl-C", async () => {
    const log = join(folder, "goald.log");
    const following = goald.start(["logs", "-f", "--tail", "1"]);
    await following.see("word=last");
    const whole = line(10, { word: "joined" });
    await appendFile(log, whole.slice(0, 20));
    await appendFile(log, whole.slice(20));
    await following.see("word=joined");
    await appendFile(log, line(11, { word: "before" }));
    await rename(log, `${log}.1`);
    await writeFile(log, line(12, { word: "between" }));
    await rename(`${log}.1`, `${log}.2`);
    await rename(log, `${log}.1`);
    await writeFile(log, line(13, { word: "behind" }));
    await following.see("word=behind");
    await writeFile(log, "");
    await appendFile(log, line(14, { word: "anew" }));
    await following.see("word=anew");
    following.kill("SIGINT");
    expect(wordsOf(endedWith(0, await following.ended).stdout)).toEqual([
      ...["last", "joined", "before", "between", "behind", "anew"],
    ]);
  });

  it("starts when the log does", async () => {
    await using fresh = await makeGoald();
    const following = fresh.start(["logs", "-f", "--json"]);
    await fresh.write(".goald/log/goald.log", line(0, { word: "first" }));
    await following.see("first");
    following.kill("SIGTERM");
    expect(linesOf(endedWith(0, await following.ended))).toHaveLength(1);
  });
});
