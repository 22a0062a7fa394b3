import { globSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type Command, Option } from "commander";
import { callsFor, ownName, SUMMARIES, shellWord, VERB_NAMES } from "#cli/verb-list.ts";
import { EXIT } from "#core/errors.ts";
import { allVerbs, buildParser, FIRST_VERBS } from "../../src/cli/parser.ts";
import { loadVerbs } from "../../src/cli/registry.ts";
import { COMMON_CODES, type Verb } from "../../src/cli/verb.ts";
import { useShared } from "../helpers/folder.ts";
import { endedWith, errorOf, makeGoald } from "../helpers/goald.ts";
import { EMPTY_RECORDING } from "./empty-recording.ts";

function helpOf(verb: Command): string {
  let text = "";
  const writeOut = (more: string): void => {
    text += more;
  };
  verb.configureOutput({ writeOut });
  verb.outputHelp();
  return text;
}

let parser: Command;
let verbs: readonly Verb[];
const goald = useShared(() => makeGoald());
beforeAll(async () => {
  verbs = await loadVerbs();
  parser = buildParser(verbs, async () => {});
});

/** The verbs in `goald --help`, except `help` itself. */
const SHOWN = VERB_NAMES.filter((name) => SUMMARIES[name].group !== undefined);
const ALL = VERB_NAMES.filter((name) => name.includes(" ") || SHOWN.includes(name));

function commandOf(name: string): Command {
  const words = name.split(" ");
  return words.reduce((above, word) => above.commands.find((each) => each.name() === word) as Command, parser);
}

describe("the help of a verb", () => {
  it.each(ALL)("%s: starts with examples, and explains every option and argument", (name) => {
    const call = name.replace(/^memory /, "memory \\S+ ");
    const command = commandOf(name);
    expect(helpOf(command)).toMatch(new RegExp(`^Examples:\n  goald ${call}\\b`));
    const parts = [...command.options, ...command.registeredArguments];
    expect(parts.filter(({ description }) => description === "")).toEqual([]);
  });

  it("names defaults that depend on the call, and omits those that only a program reads", () => {
    const approveOf = (name: string): string | undefined =>
      commandOf(name).options.find(({ long }) => long === "--approve")?.description;
    expect(approveOf("run")).toMatch(/default: always here, risky in the background\)$/);
    expect(approveOf("resume")).toMatch(/default: unchanged\)$/);
    expect(allVerbs(parser).map(helpOf).join("")).not.toContain("default: []");
  });

  it("appears in the list of all verbs, in a group, on one screen of 80 columns", () => {
    const lines = helpOf(parser).trimEnd().split("\n");
    const list = lines.slice(lines.indexOf("Set agents going:"));
    expect(list.filter((line) => line.length > 80)).toEqual([]);
    expect(list.filter((line) => line.startsWith("  "))).toHaveLength(SHOWN.length + 1);
    expect(lines).not.toContain("Commands:");
  });

  it("is the short list of a newcomer without --all, with what to call for the rest", async () => {
    const listed = (text: string): readonly string[] =>
      [...text.slice(text.indexOf("Set agents going:")).matchAll(/^ {2}(\S+) /gm)].map(([, name = ""]) => name);
    for (const args of [["--help"], ["help"]]) {
      const first = endedWith(0, await goald.ask(args)).stdout;
      expect(listed(first).toSorted()).toEqual([...FIRST_VERBS, "help"].toSorted());
      expect(first).toMatch(/\nAll verbs: goald --help --all\n$/);
      expect(listed(endedWith(0, await goald.ask([...args, "--all"])).stdout)).toHaveLength(SHOWN.length + 1);
    }
    expect(errorOf(await goald.ask(["pla", "--json"])).hint).toBe("Did you mean plan?");
  });
});

describe("the declaration of a verb", () => {
  it("is in a file of verbs, and each of these files has one", () => {
    expect(verbs.map(({ name }) => name)).toEqual(VERB_NAMES);
    const registry = readFileSync("src/cli/registry.ts", "utf8");
    const files = globSync("src/cli/verbs/*.ts").map((file) => `./verbs/${basename(file)}`);
    expect(files.filter((file) => !registry.includes(`"${file}"`))).toEqual([]);
  });

  it("names each option by its long flag in camel case", () => {
    const misnamed = verbs.flatMap(({ name, options = {} }) =>
      Object.entries(options)
        .filter(([key, { flags }]) => new Option(flags).attributeName() !== key)
        .map(([key]) => `${name}: ${key}`),
    );
    expect(misnamed).toEqual([]);
  });

  it("starts texts with lower case and ends them without a full stop", () => {
    const texts = verbs.flatMap((verb) => [
      verb.summary,
      verb.description ?? "",
      ...(verb.arguments ?? []).map(({ about }) => about),
      ...Object.values(verb.options ?? {}).map(({ about }) => about),
      ...Object.values(verb.exitCodes ?? {}),
    ]);
    expect(texts.filter((text) => /^[A-Z][a-z]|\.$/.test(text))).toEqual([]);
  });

  it("names only exit codes that some verb ends with", () => {
    const named = new Set([COMMON_CODES, ...verbs.map(({ exitCodes = {} }) => exitCodes)].flatMap(Object.keys));
    expect([...named].sort()).toEqual(Object.keys(EXIT).sort());
  });
});

describe("the exit code", () => {
  it.concurrent.each(SHOWN)("is 2 for %s with an unknown flag, and the error names the help", async (name) => {
    const { hint } = errorOf(endedWith(2, await goald.ask([name, "--zzzzzz", "--json"])));
    expect(hint).toBe(`See how it is called: goald ${name} --help`);
  });

  it("is 1 for a recording of a run that was cut off at its start, and the error names the next call", async () => {
    const file = join(goald.cwd, "cut.ndjson");
    const [head, session] = EMPTY_RECORDING.map((line) => `${JSON.stringify(line)}\n`);
    await writeFile(file, `${head}${session}`);
    expect(errorOf(endedWith(1, await goald.ask(["replay", file, "--json"])))).toEqual({
      code: "GOALD_REPLAY",
      message: `Nothing is recorded in ${file}: the run was cut off as it began.`,
      hint: `Go on with its agent, into the same file: goald resume t --record "${file}"`,
    });
  });

  it("came from calls that started no process", async () => {
    expect(await goald.read(".goald/daemon.json")).toBeUndefined();
  });
});

it.concurrent.each([
  [["inspect", "foo"], "Did you mean goald show?"],
  [["help", "tell"], "Did you mean goald say?"],
  [["start", "foo"], "Did you mean goald run?"],
  [["kill", "foo"], "Did you mean goald stop --now?"],
  [["cost"], "Did you mean goald show ID?"],
  [["prune"], "Did you mean goald rm --ended?"],
  [["login"], "Did you mean goald doctor?"],
  [["sohw"], "Did you mean show?"],
  [["shw"], "Did you mean show?"],
  [["auth"], "See what there is: goald --help"],
  [["cron"], "See what there is: goald --help"],
  [["memory", "serach", "foo"], "Did you mean search?"],
])("a verb or word of another program %j is answered with the word of goald", async (args, advice) => {
  expect(errorOf(endedWith(2, await goald.ask([...args, "--json"]))).hint).toBe(advice);
});

describe("a call of goald in a message", () => {
  it.each([
    ["See them all: goald ps", 'See them all: goald ps --home "/h"'],
    [
      "When it hangs: goald down --kill, then goald up",
      'When it hangs: goald down --kill --home "/h", then goald up --home "/h"',
    ],
    [
      'Pause it: goald pause foo. Or: goald say foo "…"',
      'Pause it: goald pause foo --home "/h". Or: goald say foo "…" --home "/h"',
    ],
    ["Run `goald verify` to see (goald ps).", 'Run `goald verify --home "/h"` to see (goald ps --home "/h").'],
    ["Go on from there: goald fork foo --step 3", `Go on from there: goald fork foo --step 3 --home "/h"`],
    ["Is another version of goald installed? goald demo", "Is another version of goald installed? goald demo"],
    ["Name another home with --home FOLDER: goald ps", "Name another home with --home FOLDER: goald ps"],
  ])("%s works in the home that was named", (text, expected) => {
    expect(callsFor("/h", text, "goald")).toBe(expected);
    expect(callsFor(undefined, text, "goald")).toBe(text);
  });

  it.each([
    ["Start it: goald up", "Start it: npx goald up"],
    ["Stop them: goald rm a && goald rm b", "Stop them: npx goald rm a && npx goald rm b"],
    ["goald down --kill, then goald up", "npx goald down --kill, then npx goald up"],
    ["See: goald help run", "See: npx goald help run"],
    ["This is npx goald run of another goald here", "This is npx goald run of another goald here"],
  ])("%s uses the name that goald was started with", (text, expected) => {
    expect(callsFor(undefined, text, ownName({ npm_command: "exec" }))).toBe(expected);
    expect(callsFor(undefined, text, ownName({ npm_command: "start" }))).toBe(expected);
    expect(callsFor(undefined, text, ownName({ npm_command: "run" }))).toBe(text);
    expect(callsFor(undefined, text, ownName({}))).toBe(text);
  });

  it("is safe to paste, whatever the folder is called", () => {
    expect(callsFor("/a b/$(x)'y", "goald ps", "goald")).toBe("goald ps --home '/a b/$(x)'\\''y'");
    expect(["--home", "-rf $x", "a-b.md", "a b"].map(shellWord)).toEqual([
      `"./--home"`,
      `'./-rf $x'`,
      "a-b.md",
      `"a b"`,
    ]);
  });
});
