import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { type Ended, makeGoald } from "../helpers/goald.ts";
import { describeCall, GOLDEN_FOLDER } from "../helpers/golden.ts";

describe("a transcript", () => {
  const folders = { home: "/h", userHome: "/u", cwd: "/c" };
  const PRINTED = {
    stdout: 'Foo is paused (pid 12), at step 3.\n{"state":"paused","pid":12,"step":3,"reason":null}\n',
    stderr: "Started.\n",
    code: 6,
    signal: null,
  };
  const shown = (printed: Partial<Ended>): string => describeCall("ps", { ...PRINTED, ...printed }, folders);
  const out = (from: string, to: string): Partial<Ended> => ({ stdout: PRINTED.stdout.replace(from, to) });

  it.each<[what: string, printed: Partial<Ended>]>([
    ["a word", out("Foo is", "Foo was")],
    ["a capital letter", out("Foo", "foo")],
    ["a blank", out("is paused", "is  paused")],
    ["a number", out("at step 3", "at step 4")],
    ["a key", out('"state"', '"standing"')],
    ["a key more", out('"reason":null', '"reason":null,"turn":1')],
    ["a key less", out(',"reason":null', "")],
    ["a value in JSON", out('"step":3', '"step":4')],
    ["a value's type", out('"pid":12', '"pid":"12"')],
    ["a line less", out("Foo is paused (pid 12), at step 3.\n", "")],
    ["a line more", { stdout: `${PRINTED.stdout}\n` }],
    ["the last line break", { stdout: PRINTED.stdout.trimEnd() }],
    ["the other stream", { stdout: PRINTED.stdout + PRINTED.stderr, stderr: "" }],
    ["a word of the other stream", { stderr: "Ended.\n" }],
    ["the exit code", { code: 0 }],
    ["a signal", { code: null, signal: "SIGKILL" }],
  ])("differs when %s does", (_what, printed) => {
    expect(shown(printed)).not.toBe(shown({}));
  });

  it("is the same for another process at another time in another place", () => {
    const at = (time: string, pid: number, home: string): string =>
      describeCall(
        "ps",
        {
          ...PRINTED,
          stdout: `${time} pid ${pid} in ${home}/workspace\n`,
          stderr: `{"pid":${pid},"durationMs":${pid}}\n`,
        },
        { ...folders, home },
      );
    expect(at("2026-01-02T03:04:05.678Z", 12, "/h")).toBe(at("2027-11-12T13:14:15.000Z", 54_321, "/tmp/other"));
  });
});

describe("the transcripts", () => {
  it("have a call of every verb in them, beside its help", async () => {
    await using goald = await makeGoald();
    const namesIn = async (...args: readonly string[]): Promise<readonly string[]> => {
      const { stdout } = await goald.ask(args);
      const list = stdout.slice(stdout.search(/^(?:Set agents going|Commands):$/m));
      return [...list.matchAll(/^ {2}([a-z][a-z-]*) /gm)]
        .map(([, name = ""]) => name)
        .filter((name) => name !== "help");
    };
    const files = await Promise.all(
      (await readdir(GOLDEN_FOLDER)).map((file) => readFile(join(GOLDEN_FOLDER, file), "utf8")),
    );
    const calls = files.join("\n").match(/^\$ goald .*$/gm) ?? [];
    const missing = (names: readonly string[], before: string): readonly string[] =>
      names.filter(
        (name) => !calls.some((call) => new RegExp(`^\\$ goald ${before}${name}( |$)(?!--help)`).test(call)),
      );
    const verbNames = await namesIn("--help", "--all");
    expect(verbNames.length).toBeGreaterThan(30);
    expect(missing([...verbNames], "")).toEqual([]);
    expect(missing(await namesIn("help", "memory"), "memory \\S+ ")).toEqual([]);
  });
});
