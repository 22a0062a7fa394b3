import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Command } from "commander";
import { callsFor, ownName } from "#cli/shared/own-calls.ts";
import { addDaemonVerbs } from "../../src/cli/daemon-verbs.ts";
import { allVerbs, explainVerbs, HELP_STYLE } from "../../src/cli/help.ts";
import { addHomeVerbs } from "../../src/cli/home-verbs.ts";
import { addMemoryVerbs } from "../../src/cli/memory-verbs.ts";
import { addReadingVerbs } from "../../src/cli/reading-verbs.ts";
import { addRunVerbs } from "../../src/cli/run-verbs.ts";
import { addSteeringVerbs } from "../../src/cli/steering-verbs.ts";
import { endedWith, errorOf, type Goald, makeGoald } from "../helpers/goald.ts";

/** As cli.ts puts them together; nothing is run. */
function parserOfVerbs(): Command {
  const program = new Command("goald").configureHelp(HELP_STYLE);
  for (const add of [addRunVerbs, addSteeringVerbs, addReadingVerbs, addMemoryVerbs, addDaemonVerbs, addHomeVerbs])
    add(program, () => async () => {});
  explainVerbs(program);
  return program;
}

function helpOf(verb: Command): string {
  let text = "";
  verb.configureOutput({
    writeOut: (more) => {
      text += more;
    },
  });
  verb.outputHelp();
  return text;
}

const parser = parserOfVerbs();
const shown = parser.createHelp().visibleCommands(parser);
const named = (verbs: readonly Command[]): (readonly [string, Command])[] => verbs.map((verb) => [verb.name(), verb]);

describe("the help of a verb", () => {
  it.each(named(shown.filter((verb) => verb.name() !== "help")))("%s: begins with examples", (name, verb) => {
    expect(helpOf(verb)).toMatch(new RegExp(`^Examples:\n  goald ${name}\\b`));
  });

  it.each(named(shown))("%s: explains every flag and argument", (_name, verb) => {
    const parts = allVerbs(verb).flatMap(({ options, registeredArguments }) => [...options, ...registeredArguments]);
    expect(parts.filter(({ description }) => description === "" && verb.name() !== "help")).toEqual([]);
  });

  it("says what holds unless a flag says otherwise, and nothing that only a program reads", () => {
    const approveOf = (name: string): string | undefined =>
      parser.commands.find((verb) => verb.name() === name)?.options.find(({ long }) => long === "--approve")
        ?.description;
    expect(approveOf("run")).toMatch(/default: always here, risky in the background$/);
    expect(approveOf("resume")).toMatch(/default: as it has been so far$/);
    expect(shown.flatMap(allVerbs).map(helpOf).join("")).not.toContain("default: []");
  });

  it("is in the list of all of them in a few words, in a group, on one screen of 80 columns", () => {
    const lines = helpOf(parser).trimEnd().split("\n");
    const list = lines.slice(lines.indexOf("Set agents going:"));
    expect(list.filter((line) => line.length > 80)).toEqual([]);
    expect(list.filter((line) => line.startsWith("  "))).toHaveLength(shown.length);
    expect(lines).not.toContain("Commands:");
  });
});

const OF_AN_AGENT: readonly (readonly string[])[] = [
  ["show", "nobody"],
  ["report", "nobody"],
  ["events", "nobody"],
  ["files", "nobody"],
  ["why", "nobody/notes.md"],
  ["diff", "nobody"],
  ["restore", "nobody", "--step", "1"],
  ["logs", "nobody"],
  ["verify", "nobody"],
  ["attach", "nobody"],
  ["say", "nobody", "hello"],
  ["goals", "nobody"],
  ["pause", "nobody"],
  ["stop", "nobody"],
  ["kill", "nobody"],
  ["approve", "nobody"],
  ["deny", "nobody"],
  ["rm", "-f", "nobody"],
  ["resume", "-d", "nobody"],
  ["memory", "nobody", "list"],
  ["memory", "nobody", "search", "x"],
  ["memory", "nobody", "add", "x"],
  ["memory", "nobody", "forget", "1"],
  ["ingest", "nobody", "README.md"],
];

/** What each verb ends with where nothing is there yet: no agent, no daemon, no key. */
const OF_A_HOME: readonly (readonly [args: readonly string[], code: number])[] = [
  [["ps"], 0],
  [["logs"], 0],
  [["verify"], 0],
  [["doctor"], 1],
  [["config", "list"], 0],
  [["replay", "nothing.ndjson"], 3],
  [["stop", "--all"], 0],
  [["stop"], 2],
  [["resume"], 3],
  [["run", "-d"], 2],
  [["run", "-d", "Count to one"], 5],
  [["status"], 4],
  [["down"], 4],
  [["reload"], 4],
];

let goald: Goald;
beforeAll(async () => {
  goald = await makeGoald();
});
afterAll(async () => goald[Symbol.asyncDispose]());

describe("the exit code", () => {
  const BAD = shown.filter((verb) => verb.name() !== "help").map((verb) => verb.name());
  it.concurrent.each(BAD)("is 2 for %s with a flag that is not there, and the help is named", async (name) => {
    const { hint } = errorOf(endedWith(2, await goald.ask([name, "--zzzzzz", "--json"])));
    expect(hint).toBe(`See how it is called: goald ${name} --help`);
  });

  it.concurrent.each(["config", "memory", "new"])("is 2 for %s without a verb of its own", async (name) => {
    expect(errorOf(endedWith(2, await goald.ask([name, "--json"])))).toMatchObject({
      message: `missing verb after '${name}'`,
      hint: `See how it is called: goald ${name} --help`,
    });
  });

  it.concurrent.each(OF_AN_AGENT)("is 3 for %s %s, and no daemon is started for it", async (...args) => {
    const ended = endedWith(3, await goald.ask([...args, "--home", goald.home, "--json"]));
    expect(errorOf(ended)).toMatchObject({
      code: "GOALD_NOT_FOUND",
      hint: `There are none yet. Create one: goald run --home "${goald.home}"`,
    });
  });

  it.concurrent.each(OF_A_HOME)("of %j in a home where nothing is yet is %i", async (args, code) => {
    endedWith(code, await goald.ask(args));
  });

  it("is 1 for a recording whose run was cut off as it began, and what goes on with it is named", async () => {
    const session = { type: "session", agent: { id: "t", createdAt: "2026-01-01T00:00:00.000Z" }, name: "T" };
    const file = join(goald.cwd, "cut.ndjson");
    await writeFile(
      file,
      [{ cassette: 1, goald: "0.1.0" }, session].map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
    expect(errorOf(endedWith(1, await goald.ask(["replay", file, "--json"])))).toEqual({
      code: "GOALD_REPLAY",
      message: `Nothing is recorded in ${file}: the run was cut off as it began.`,
      hint: `Go on with its agent, into the same file: goald resume t --record "${file}"`,
    });
  });

  it("was told by calls that started nothing", async () => {
    expect(await goald.read(".goald/daemon.json")).toBeUndefined();
  });
});

describe("a word of another program", () => {
  it.concurrent.each([
    [["inspect", "foo"], "Did you mean goald show?"],
    [["help", "tell"], "Did you mean goald say?"],
    [["start", "foo"], "To go on with an agent: goald resume. To set up a new one: goald run"],
    [["memory", "foo", "lst"], "Did you mean list?"],
    [["memory", "serach", "foo"], "Did you mean search?"],
    [["memory", "foo", "zzz"], "See how it is called: goald memory --help"],
    [["config", "zzz"], "See how it is called: goald config --help"],
  ])("%j is told what it is here", async (args, advice) => {
    expect(errorOf(endedWith(2, await goald.ask([...args, "--json"]))).hint).toBe(advice);
  });
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
  ])("%s is called by the name that it was started by", (text, expected) => {
    expect(callsFor(undefined, text, ownName({ npm_command: "exec" }))).toBe(expected);
    expect(callsFor(undefined, text, ownName({ npm_command: "start" }))).toBe(expected);
    expect(callsFor(undefined, text, ownName({ npm_command: "run" }))).toBe(text);
    expect(callsFor(undefined, text, ownName({}))).toBe(text);
  });

  it("is safe to paste, whatever the folder is called", () => {
    expect(callsFor("/a b/$(x)'y", "goald ps", "goald")).toBe("goald ps --home '/a b/$(x)'\\''y'");
  });
});
