import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import { validateAgent } from "#config/agent-spec.ts";
import { checkProfile, offersCommand } from "#core/agent-settings.ts";
import { stricterEffect } from "#core/call.ts";
import { defineCommand, fail, succeed, wait } from "#core/command.ts";
import { EXIT, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { findAskedRow, findInstallScripts, isOfVersionControl, listAsked } from "#core/guarded-files.ts";
import {
  compareWords,
  formatFact,
  identifyFact,
  isAboutResult,
  isSameValue,
  parseFact,
  sourcesOfRecall,
  statementOf,
} from "#core/memory.ts";
import { isRisky, judge } from "#core/policy.ts";
import {
  addReceived,
  addSources,
  MAX_SOURCES,
  MORE_SOURCES,
  type OutsideSource,
  parseSources,
  sourcesOf,
} from "#core/provenance.ts";
import { initialState, isTainted } from "#core/state.ts";
import { checkStoredEvent } from "#core/stored-event.ts";
import { clip, findUnseenMark, headOf, isBlobRef, oneLine, wellFormed } from "#core/text.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { created, FACTS, finished, observed, requested, stamped, stateOf } from "../helpers/events.ts";
import { useFolder } from "../helpers/folder.ts";

const WRITE = { name: "write_to_file", group: "files" } as const;
const GOOGLE = { name: "google", group: "web" } as const;
const MINE = { name: "bake", group: "own" } as const;
const DONE = { name: "task_complete", group: "loop", closesTurn: true } as const;
const CHECK = { name: "check_goals", group: "loop", isInternal: true } as const;
const ALL = [WRITE, GOOGLE, MINE, DONE];
const offered = (profile: string | null) =>
  ALL.filter((command) => offersCommand(profile, command)).map(({ name }) => name);

describe("a profile of commands", () => {
  it.each<[profile: string | null, names: readonly string[]]>([
    [null, ["write_to_file", "google", "bake", "task_complete"]],
    ["files", ["write_to_file", "task_complete"]],
    ["google", ["google", "task_complete"]],
    ["files,google", ["write_to_file", "google", "task_complete"]],
    ["own", ["bake", "task_complete"]],
    ["gone", ["task_complete"]],
  ])("%j offers %j: groups, names, and always the end and its checks", (profile, names) => {
    expect(offered(profile)).toEqual(names);
    expect(offersCommand(profile, CHECK)).toBe(true);
  });

  it("has one form, whatever the order and blanks", () => {
    expect(checkProfile(" web, files,,web ", ALL)).toBe("files,web");
    expect(checkProfile("bake", ALL)).toBe("bake");
    expect(checkProfile("files,all", ALL)).toBeNull();
    expect(checkProfile(null, ALL)).toBeNull();
  });

  it("refuses unknown names with the list of known ones", () => {
    const message = "There is no command and no group shell.";
    const hint =
      "Groups: files, web, agents, code, media, people, plan, memory, loop, own, or all. Commands: write_to_file, google, bake, task_complete.";
    const error = expect.objectContaining({ code: "GOALD_USAGE", message, hint });
    expect(() => checkProfile("files,shell,web", ALL)).toThrow(error);
    expect(() => checkProfile(" , ", ALL)).toThrow("No commands are named.");
  });
});

const about = (subject: string, attribute: string) => identifyFact({ subject, attribute });

describe("a fact", () => {
  it.each([
    ["depot", "opening hour", "7"],
    [" Depot\nof the north: ", "opening hour:", "7: sharp, at 8: not"],
    ["a: b", "c: d: e", " from now on\t7 "],
    ["http://a.example:80/x", "state", "up"],
    ["x".repeat(500), "y", "z".repeat(5_000)],
  ])("of %j and %j is one line that is read back whole", (subject, attribute, value) => {
    const text = formatFact({ subject, attribute, value });
    const read = parseFact(text);
    expect(text).not.toContain("\n");
    expect(read && formatFact(read)).toBe(text);
    expect(read && isSameValue(read.value, value)).toBe(true);
    expect(read && identifyFact(read)).toBe(about(subject, attribute));
  });

  it("is about the same thing in other case, accents, white space, hyphens and with an article", () => {
    const same = about("the Dépôt of  the north", "Opening-Hour:");
    expect(same).toBe(about("depot OF THE north", "opening hour"));
    expect(same).toBe(about("A depot of the north ", "opening_hour"));
    expect(same).not.toBe("");
  });

  it.each([
    ["depot", "manager", "depot", "managers"],
    ["version 1.2", "state", "version 12", "state"],
    ["room 2026-1-11", "state", "room 2026-11-1", "state"],
    ["C#", "author", "C", "author"],
    ["a b", "c", "a", "b c"],
    ["The", "singer", "A", "singer"],
  ])("of %j, %j is not one of %j, %j", (subject, attribute, otherSubject, otherAttribute) => {
    expect(about(subject, attribute)).not.toBe(about(otherSubject, otherAttribute));
  });

  it("has the same value in other case and white space only", () => {
    expect(isSameValue(" Frieda  Nowak", "frieda nowak")).toBe(true);
    expect(isSameValue("-5", "5")).toBe(false);
  });

  it("is about nothing without a letter or digit, and is read from no other text", () => {
    expect([about(" :", "hour"), about("depot", "?!")]).toEqual(["", ""]);
    for (const text of ["The depot opens at 7.", "Thought: go", ""]) expect(parseFact(text)).toBeUndefined();
  });
});

const step = (thought: string, file: string, result: string): string =>
  `Thought: ${thought}\nCommand: read_file {"file":"${file}"}\nResult (ok): ${result}`;
const GATE = step("I look at the gate.", "gate.md", "The code of the gate is 7731.");
const isSame = (one: string, other: string): boolean => {
  const [a, b] = [statementOf(one), statementOf(other)];
  return a.whole === b.whole || (a.act !== null && a.act === b.act);
};

describe("two rows say the same", () => {
  it.each([
    ["case", "THE code of the gate is 7731", "The code of the gate is 7731"],
    ["white space", "The code  of the\ngate is 7731 ", "The code of the gate is 7731"],
    ["the end of a sentence", "The code of the gate is 7731.", "The code of the gate is 7731"],
    ["the form of a character", "The ﬁle of the gate", "The file of the gate"],
    ["the words of a step's thought", GATE, step("Which code was it?", "gate.md", "The code of the gate is 7731.")],
    ["the count of a step", GATE, step("Step 31: the gate again", "gate.md", "The code of the gate is 7731.")],
  ])("when they differ in %s", (_what, one, other) => {
    expect(isSame(one, other)).toBe(true);
  });

  it.each([
    ["a number", "The code of the gate is 7731", "The code of the gate is 7732"],
    ["the point of a number", "The gate is 1.5 m wide", "The gate is 15 m wide"],
    ["a sign", "It is -5 degrees", "It is 5 degrees"],
    ["one word of many", `${"word ".repeat(50)} yes`, `${"word ".repeat(50)} no`],
    ["the order of the words", "Ada pays Ben", "Ben pays Ada"],
    ["a question", "The shop opens at nine?", "The shop opens at nine."],
    ["the file of a step", GATE, step("I look at the gate.", "door.md", "The code of the gate is 7731.")],
    ["the result of a step", GATE, step("I look at the gate.", "gate.md", "The code of the gate is 5005.")],
    ["a number in a step's thought", GATE, step("The alarm is 1234.", "gate.md", "The code of the gate is 7731.")],
    ["a negation in a step's thought", GATE, step("That is not right.", "gate.md", "The code of the gate is 7731.")],
    ["all that a thought has", "Thought: Ada is the boss.", "Thought: Ben is the boss."],
    ["words beyond 8,000 characters", `${"a ".repeat(5_000)}yes`, `${"a ".repeat(5_000)}no`],
  ])("not when they differ in %s", (_what, one, other) => {
    expect(isSame(one, other)).toBe(false);
  });
});

it.each([
  ["when it shares more words with it", "The code of the gate is 5005.", GATE, true],
  ["not when it is about the thought", "Carla leads it", step("Ada leads the project", "a.md", "Nothing"), false],
  ["not when it is about neither", "Something else", GATE, false],
  ["not when the row has no result", "The code of the gate is 5005.", "The code of the gate is 7731.", false],
])("a correction is about the result of a step %s", (_when, correction, text, expected) => {
  expect(isAboutResult(correction, text)).toBe(expected);
});

it("compares words only of rows with the same numbers", () => {
  const compare = compareWords("The code of the gate is 7731");
  expect(compare("The code of that gate is 7731")).toBeGreaterThan(0.7);
  expect(compare("The code of the gate is 7732")).toBe(0);
  expect(compare("Bread 7731")).toBeLessThan(0.7);
});

describe("a mark in a name that nobody sees", () => {
  const folder = useFolder();

  it.each([
    ...["a\u200bb U+200B", "a\u00adb U+00AD", "ab\ufeff! U+FEFF", "a\u2060b U+2060", "a\u202eb U+202E"],
    ...["a\u200eb U+200E", "a\u061cb U+061C", "a\u034fb U+034F", "a\u3164b U+3164", "a\u{e0041}b U+E0041"],
    ...["a\u{e0100}b U+E0100", "a\ufff9b U+FFF9", "a\ufe0fb U+FE0F", "a\u200db U+200D", "\u0646\u200c U+200C"],
    ...["1\ufe0f U+FE0F", "\u{1f3f4}\u{e0067}x U+E0067"],
  ])("is found in the name before its code point: %j", (row) => {
    const [name = "", mark] = row.split(" ");
    expect(findUnseenMark(name)).toBe(mark);
  });

  it.each([
    "Foo",
    "Zoë, 東京, Привет",
    "نامه\u200cای",
    "क\u094d\u200dष",
    "\u{1f469}\u{1f3fd}\u200d\u{1f4bb} and \u2764\ufe0f\u200d\u{1f525}",
    "1\ufe0f\u20e3",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
  ])("is not seen in %j", (name) => {
    expect(findUnseenMark(name)).toBeUndefined();
  });

  it("is refused in the name of an agent, with its code point", () => {
    expect(() => validateAgent({ name: "a\u200bb", role: "r", goals: ["g"] })).toThrow(
      "The name holds a mark that nobody sees (U+200B). Write it without the mark.",
    );
  });

  it("is refused in the path of a new file; an existing file can be read and deleted", async () => {
    const workspace = openLocalWorkspace(folder());
    await expect(workspace.write("notes\u200b/plan.md", "x")).rejects.toMatchObject({
      code: "GOALD_PATH_REFUSED",
      message: 'The path "notes\\u{200b}/plan.md" holds a mark that nobody sees (U+200B).',
    });
    await expect(workspace.write("نامه\u200cای.md", "x")).resolves.not.toThrow();
    await writeFile(folder("a\u00ad.md"), "old");
    expect(Buffer.from(await workspace.read("a\u00ad.md")).toString()).toBe("old");
    await workspace.remove("a\u00ad.md");
    await expect(readFile(folder("a\u00ad.md"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});

const web = (name: string): OutsideSource => ({ from: "web", name });
const AT = { at: "2026-01-01T00:00:00.000Z" };

describe("outside sources", () => {
  it("are listed once, oldest first, and the last entry of a full list stands for all others", () => {
    const many = Array.from({ length: 40 }, (_, index) => web(`${index}.example`));
    const list = addSources(addSources([], [web("a"), web("a"), { from: "agent", name: "a" }]), many);
    expect(list).toHaveLength(MAX_SOURCES);
    expect(list.slice(0, 3)).toEqual([web("a"), { from: "agent", name: "a" }, web("0.example")]);
    expect(list.at(-1)).toEqual(web(MORE_SOURCES));
    expect(addSources(list, many)).toBe(list);
  });

  it("of an observation that only says web or agent have an unknown name", () => {
    expect(sourcesOf({ source: "web" })).toEqual([web("")]);
    expect(sourcesOf({ source: "agent" })).toEqual([{ from: "agent", name: "" }]);
    expect(sourcesOf({ source: "workspace", outside: [web("a")] })).toEqual([web("a")]);
    expect(sourcesOf({ source: "goald" })).toEqual([]);
  });

  it("taint the agent that receives them, with the step and time of the first time", () => {
    const once = addReceived({ ...initialState, step: 3 }, [web("a")], AT);
    expect(once.received).toEqual([{ ...web("a"), step: 3, at: AT.at }]);
    expect(addReceived({ ...once, step: 4 }, [web("a")], { at: "later" })).toEqual({ ...once, step: 4 });
    expect([isTainted(initialState), isTainted(once)]).toEqual([false, true]);
    expect(addReceived(initialState, [], AT)).toBe(initialState);
  });

  it("are gone when a person trusts all words, and earlier memories of the agent are clean then", () => {
    const tainted = addReceived(initialState, [web("a")], AT);
    const trusted = replay(stamped(7, { type: "words-trusted", what: "all" }), tainted);
    expect(trusted).toEqual({ ...initialState, trustedSeq: 7 });
    expect(replay(stamped(7, { type: "words-trusted", what: "file", path: "a" }), tainted)).toEqual(tainted);
    const recall = { id: "foo/7", trust: "agent", seq: 7, outside: [web("a")] } as const;
    expect(sourcesOfRecall(recall, "foo")).toEqual([web("a")]);
    expect(sourcesOfRecall(recall, "foo", 8)).toEqual([]);
    // A row that a person adds after the trust has the number of the last event.
    expect(sourcesOfRecall({ ...recall, id: "foo/+1", seq: 8 }, "foo", 8)).toEqual([web("a")]);
    // The mark of an agent says nothing about the memory of another one.
    expect(sourcesOfRecall(recall, "bar", 9)).toEqual([{ from: "agent", name: "foo" }, web("a")]);
    expect(sourcesOfRecall({ id: "foo/8", trust: "web" }, "foo")).toEqual([web("")]);
  });

  it("that somebody else wrote are read only in their form", () => {
    expect(parseSources([{ ...web("a"), more: 1 }])).toEqual([web("a")]);
    for (const wrong of [null, {}, [1], [{ from: "person", name: "a" }], [{ from: "web" }], Array(17).fill(web("a"))])
      expect(parseSources(wrong)).toBeUndefined();
  });
});

describe("policy", () => {
  it.each([
    ["a read of the workspace", { ...FACTS, readOnly: true }, false],
    ["a read of the web", { ...FACTS, readOnly: true, openWorld: true }, false],
    ["a write", FACTS, false],
    ["an overwrite that the history can restore", { ...FACTS, destructive: true, restorable: true }, false],
    ["an overwrite that cannot be restored", { ...FACTS, destructive: true }, true],
    ["an act outside the workspace", { ...FACTS, openWorld: true }, true],
  ])("judges %s (%j) as risky: %s", (_title, facts, risky) => {
    expect(isRisky(facts)).toBe(risky);
  });

  it("names text from outside as a reason to ask", () => {
    const clean = [created({ approve: "risky" }), requested()];
    const tweet = { name: "send_tweet", args: {} };
    const judged = (annotations: object, ...events: NewEvent[]) =>
      judge(tweet, { annotations: { ...FACTS, ...annotations } }, stateOf(...clean, ...events));
    expect(judged({ openWorld: true }, finished(1, observed("x", { source: "web" })))).toMatchObject({
      reason: expect.stringContaining("text from outside"),
    });
    expect(judged({ destructive: true })).toMatchObject({
      kind: "ask",
      reason: "It destroys what cannot be restored.",
    });
  });
});

describe("text", () => {
  it("clip keeps both ends, counts the characters left out, and never exceeds its limit", () => {
    const clipped = clip(`start${"x".repeat(500)}end`, 200);
    const shown = clipped.match(/x/g)?.length ?? 0;
    expect(clipped).toMatch(new RegExp(`^start[\\s\\S]*${500 - shown} characters left out[\\s\\S]*end$`));
    for (const limit of [0, 5, 30, 60, 100, 999])
      expect(clip("x".repeat(1000), limit).length).toBeLessThanOrEqual(limit);
    expect(clip("x".repeat(200), 200)).toBe("x".repeat(200));
  });
  it("clip never leaves half a surrogate pair, nor does oneLine, which folds white space into one line", () => {
    for (let limit = 40; limit < 80; limit++) expect(clip("😀".repeat(60), limit).isWellFormed()).toBe(true);
    expect(oneLine("😀".repeat(60), 11).isWellFormed()).toBe(true);
    expect(oneLine(" a\n\n b\tc ", 20)).toBe("a b c");
    expect(oneLine("abcdefghij", 5)).toBe("abcd…");
    // Text behind many blanks is not searched for, but marked as left out.
    expect(oneLine(`a${" ".repeat(18)}😀 b`, 5)).toBe("a \ufffd…");
    expect(oneLine(`a${" ".repeat(50)}b`, 5)).toBe("a…");
    expect(oneLine(`a${" ".repeat(50)}`, 5)).toBe("a");
    expect(oneLine(`${" ".repeat(5000)}the answer is 42`, 40)).toBe("the answer is 42");
  });
  it("wellFormed replaces NUL and lone surrogates, and nothing else", () => {
    expect(wellFormed("a\u0000b\uD800c é 漢 😀")).toBe("a\uFFFDb\uFFFDc é 漢 😀");
  });
  it("headOf returns the head of a stored text, which isBlobRef tells from what resembles a reference", () => {
    const ref = { blob: "ab".repeat(32), bytes: 9, head: "begin" };
    expect([headOf(ref), headOf("whole"), isBlobRef(ref)]).toEqual(["begin", "whole", true]);
    const { bytes: _bytes, ...unsized } = ref;
    const { head: _head, ...headless } = ref;
    for (const other of [{ ...ref, blob: "../x" }, unsized, headless, "x", null]) expect(isBlobRef(other)).toBe(false);
  });
});

describe("a stored event", () => {
  it.each([
    ["an event of a newer version", { v: 99 }, "GOALD_STORE_TOO_NEW"],
    ["an event without a version", { type: "agent-created" }, "GOALD_STORE_DAMAGED"],
    ["an event of version zero", { v: 0 }, "GOALD_STORE_DAMAGED"],
    ["an event without a type", { v: 1 }, "GOALD_STORE_DAMAGED"],
    ["a type that every object inherits", { v: 1, type: "toString" }, "GOALD_STORE_TOO_NEW"],
  ])("rejects %s", (_title, stored, code) => {
    expect(() => checkStoredEvent(stored)).toThrow(expect.objectContaining({ code }));
  });
  it("names the type that a newer goald writes, its event and what to do", () => {
    expect(() => checkStoredEvent({ v: 1, type: "agent-promoted", seq: 7 })).toThrow(
      expect.objectContaining({
        code: "GOALD_STORE_TOO_NEW",
        message: expect.stringMatching(/"agent-promoted" \(event 7\)/),
        hint: expect.stringContaining("a newer one"),
      }),
    );
  });
});

describe("errors", () => {
  it("have a code, a hint and an exit code", () => {
    const error = new GoaldError("GOALD_USAGE", "Got six goals.", { hint: "Leave one out.", cause: 1 });
    expect(error).toMatchObject({ exitCode: EXIT.usage, hint: "Leave one out.", cause: 1 });
    expect([isGoaldError(error), isGoaldError(error, "GOALD_CONFIG")]).toEqual([true, false]);
  });
  it("are made from any thrown value", () => {
    expect(["x", { a: 1 }, undefined].map((thrown) => toError(thrown).message)).toEqual(["x", '{"a":1}', "undefined"]);
    const error = new Error("kept");
    expect(toError(error)).toBe(error);
  });
});

describe("a command", () => {
  it("derives its argument types from the schema", () => {
    const command = defineCommand({
      name: "greet",
      label: "Greet",
      summary: "Greets.",
      args: {
        type: "object",
        properties: {
          who: { type: "string", description: "" },
          tags: { type: "array", description: "", items: { type: "string" } },
        },
        required: ["who"],
      },
      annotations: FACTS,
      run: async ({ who, tags }) => {
        const list: readonly string[] | undefined = tags;
        return succeed(who + (list ?? []).join());
      },
    });
    // @ts-expect-error who is required
    void (() => command.run({ tags: [] }, null as never, null));
    // @ts-expect-error who is a string
    void (() => command.run({ who: 1 }, null as never, null));
    expect(command.name).toBe("greet");
  });
  it("returns ok, failed or waiting", () => {
    expect(succeed("a", { artifacts: ["b"] })).toEqual({ status: "ok", text: "a", source: "goald", artifacts: ["b"] });
    expect(fail("no", "a")).toMatchObject({ status: "failed", code: "no" });
    expect(wait("time", null)).toEqual({ status: "waiting", waitFor: "time", until: null });
  });
  it("takes the stricter of two effects", () => {
    expect(stricterEffect("pure", "at-most-once")).toBe("at-most-once");
    expect(stricterEffect("reconcilable", "idempotent")).toBe("reconcilable");
  });
});

/** By the program that runs or obeys them. */
const ROWS = {
  "package manager runs these scripts": "package.json a/package.json PACKAGE.JSON package.json5 composer.json",
  "package manager or a build":
    ".npmrc .yarnrc .yarnrc.yml .yarn/plugins/a.cjs .pnpmfile.cjs .cargo/config.toml build.rs binding.gyp pnpm-workspace.yaml rust-toolchain.toml tools/bazel .jvmopts",
  "load it as installed code":
    "node_modules/a/index.js .venv/bin/activate lib/python3/site-packages/a.pth sitecustomize.py",
  "enters the folder": ".envrc a/b/.envrc ./.envrc x/../.envrc .Envrc .env\u200brc mise.toml .mise.local.toml",
  "a shell, a login":
    ".bashrc .profile .zshrc .zshenv .bash_aliases .config/fish/config.fish .ssh/authorized_keys .\u00dfh/config .xinitrc .aws/config .forward",
  "a common tool":
    ".gitconfig .gdbinit .pdbrc .Rprofile .psqlrc .curlrc .netrc _netrc .tmux.conf .ipython/x ansible.cfg",
  "an editor":
    ".vscode/tasks.json x/.vscode/settings.json .idea/workspace.xml .devcontainer/devcontainer.json .vimrc .exrc .dir-locals.el a.code-workspace .ycm_extra_conf.py .lvimrc .gitpod.yml",
  "a linter or a formatter":
    ".eslintrc .eslintrc.json a/.eslintrc.cjs eslint.config.mjs .prettierrc prettier.config.js .stylelintrc.yml .pylintrc pylintrc .flake8 mypy.ini .rubocop.yml .php-cs-fixer.dist.php .formatter.exs",
  "a test runner": "conftest.py a/conftest.py jest.config.ts vitest.config.mts .mocharc.cjs playwright.config.ts",
  "git runs it": ".husky/pre-commit .pre-commit-config.yaml .githooks/pre-push lefthook.yml .lintstagedrc.js",
  "a build server":
    ".github .github/workflows/ci.yml .github/x/../workflows/ci.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile .travis.yml netlify.toml vercel.json buildspec.yml .readthedocs.yaml",
  "another agent":
    "AGENTS.md a/CLAUDE.md .claude/settings.json .cursor/rules/a.mdc .mcp.json .cursorrules .github/copilot-instructions.md .github/agents/a.md QWEN.md a/WARP.md .agents/skills/a .junie/guidelines.md .crush.json .goosehints .kilocode/rules/a.md",
  "a file manager": "autorun.inf desktop.ini a.desktop b.lnk c/d.url",
};
const HARMLESS =
  "README.md notes/plan.md src/index.js package-lock.json Makefile test.py my_conftest.py .eslintignore vite.config.ts pyproject.toml .gitignore .gitattributes .editorconfig " +
  ".env .nvmrc config HEAD refs/x .github/ISSUE_TEMPLATE.md docker-compose.yml agent.md agents/1/a.md factory/a.md warp.txt my_mypy.ini .rubocop_todo.yml model.pth tsconfig.json a.git/x tools/x gradle.properties aws/config netlify.md";

describe("the table of files that others run or obey", () => {
  it.each(Object.entries(ROWS))("says who: %s", (says, paths) => {
    for (const path of paths.split(" "))
      expect([path, findAskedRow(path)?.says]).toEqual([path, expect.stringContaining(says)]);
  });

  it("leaves out what a person's call is about, and values", () => {
    for (const path of HARMLESS.split(" "))
      expect([path, findAskedRow(path), isOfVersionControl(path)]).toEqual([path, undefined, false]);
  });

  it.each([
    ...[".git", ".git/config", "a/.GIT/x", "git~1/x", ".git::$INDEX_ALLOCATION/x", ".git. /x", ".g\u200cit/x"],
    ...[".hg/hgrc", ".jj/x", ".g\u0131t/x", ".fslckout"],
  ])("closes what version control keeps: %j", (path) => expect(isOfVersionControl(path)).toBe(true));
});

describe("a package file", () => {
  const scripts = (own: object, more: object = {}): string => JSON.stringify({ name: "a", scripts: own, ...more });

  const COUNTED = "preinstall install postinstall prepare prepublishOnly postpack dependencies post-autoload-dump";
  it.each(COUNTED.split(" "))("counts with the script %s", (name) =>
    expect(findInstallScripts(scripts({ test: "jest", [name]: "node x" }))).toContain(name),
  );

  it.each([
    ["the own scripts", scripts({ test: "jest", build: "tsc", start: "node .", pretest: "tsc", lint: "biome" })],
    ["no scripts", "{}"],
    ["scripts of a strange type", '{"scripts":"postinstall"}'],
    ["an empty file", " "],
  ])("does not count with %s", (_title, text) => expect(findInstallScripts(text)).toBe(""));

  it("counts with settings of a tool, when it installs hooks, is written in another notation, or hides a name", () => {
    for (const tool of ["eslintConfig", "prettier", "stylelint", "jest", "lint-staged"])
      expect(findInstallScripts(scripts({ test: "jest" }, { [tool]: { plugins: ["./a.js"] } }))).toContain(tool);
    const hooks = scripts({}, { "simple-git-hooks": { "pre-commit": "x" } });
    const hidden = ['{"scripts":{"post\\u0069nstall":"x"}}', '\ufeff{"scripts":{"install":"x"}}'];
    for (const text of [hooks, "scripts:\n  postinstall: x", ...hidden]) expect(findInstallScripts(text)).not.toBe("");
  });

  it("is asked about when the call shows such scripts, or is too large to look at", () => {
    const paths = (text: unknown) =>
      listAsked({ file: "package.json", text }, { file: "text" }).map(({ path }) => path);
    expect(paths(scripts({ test: "jest" }))).toEqual([]);
    expect(paths(scripts({ install: "x" }))).toEqual(["package.json"]);
    expect(paths({ blob: "a".repeat(64), bytes: 40_000, head: "{" })).toEqual(["package.json"]);
    expect(listAsked({ file: "package.json", old: "a", new: "b" }, { file: null })).toEqual([]);
    expect(listAsked({ file: "package.json" })).toEqual([]);
  });
});
