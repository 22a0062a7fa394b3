import { existsSync, globSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { allVerbs, buildParser, rewriteArgs } from "#cli/parser.ts";
import { loadVerbs } from "#cli/registry.ts";
import type { Verb } from "#cli/verb.ts";
import { readAgentFile } from "#config/agent-file.ts";
import { describeSettings } from "#config/make-home.ts";
import type { PauseCode } from "#core/event.ts";
import { initialState } from "#core/state.ts";
import { shownStateOf } from "#views/agent-view.ts";
import { nextStepOf } from "#views/next-step.ts";
import { renderDocs } from "../scripts/docs.ts";
import { useFolder, useShared } from "./helpers/folder.ts";
import { PAGES } from "./helpers/page-transcripts.ts";

const GENERATED = ["docs/commands.md", "docs/settings.md", "docs/verbs.md", ".env.example", "SECURITY.md"];

describe("generated files", () => {
  const docs = useShared(renderDocs);

  it.each(GENERATED)("%s is up to date (write it: npm run docs)", (path) => {
    expect(docs[path]).toBe(readFileSync(path, "utf8"));
  });

  it("are all tested", () => {
    expect(Object.keys(docs)).toEqual(GENERATED);
  });

  it.each(["README.md", "CONTRIBUTING.md", "SECURITY.md", ...globSync("docs/*.md")])(
    "%s links only to files",
    (path) => {
      const text = readFileSync(path, "utf8");
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target = ""]) => target);
      expect(links.filter((target) => !existsSync(join(dirname(path), target)))).toEqual([]);
    },
  );
});

it("transcripts are only in pages that are recorded from real runs (test/docs.long.ts compares them)", () => {
  const pages = ["README.md", ...globSync("docs/*.md")];
  const withTranscript = pages.filter((path) => readFileSync(path, "utf8").includes("```console"));
  expect(withTranscript.sort()).toEqual(PAGES.map(({ path }) => path).sort());
});

const PAGES_WITH_CALLS = ["README.md", "CONTRIBUTING.md", ...globSync("docs/*.md")];

/** Bodies of the fenced blocks in one of these languages. */
const blocksIn = (path: string, ...languages: readonly string[]): readonly string[] =>
  [...readFileSync(path, "utf8").matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].flatMap(([, language = "", body = ""]) =>
    languages.includes(language) ? [body] : [],
  );

/** The calls of goald in lines of a shell or of a crontab, each as its words: `goald ps; id=$(goald run)` has two. */
function callsIn(lines: string): readonly (readonly string[])[] {
  const calls: string[][] = [];
  for (const line of lines.replaceAll("\\\n", " ").split("\n")) {
    const inner = [...line.matchAll(/\$\(([^)]*)\)/g)].map(([, call = ""]) => call);
    for (const part of [line.replaceAll(/\$\([^)]*\)/g, "X"), ...inner]) {
      let call: string[] | undefined;
      for (const [word, double, single] of part.matchAll(/"([^"]*)"|'([^']*)'|#.*|[;|&<>]+|[^\s;|&<>"']+/g)) {
        if (/^([;|&<>]|#)/.test(word)) call = undefined;
        else if (call) call.push(double ?? single ?? word);
        else if (/^([^=]*\/)?goald$/.test(word)) {
          call = [];
          calls.push(call);
        }
      }
    }
  }
  return calls;
}

/** The complaint of the parser; undefined when it takes the call. */
async function refusalOf(words: readonly string[], verbs: readonly Verb[]): Promise<string | undefined> {
  const settings = describeSettings().flatMap(({ name, environment }) => [name, ...environment]);
  const [verb, name] = words;
  if (verb === "config" && name && !name.startsWith("-") && !settings.includes(name)) return `no setting ${name}`;
  const program = buildParser(verbs, async () => {});
  for (const each of allVerbs(program)) each.exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} });
  return program.parseAsync([...rewriteArgs(words)], { from: "user" }).then(
    () => undefined,
    (error: Error) => `${words.join(" ")}: ${error.message}`,
  );
}

describe("calls and agent files in README and docs", () => {
  const inFolder = useFolder();
  let verbs: readonly Verb[];
  beforeAll(async () => {
    verbs = await loadVerbs();
  });
  const refusalsIn = async (lines: string): Promise<readonly (string | undefined)[]> =>
    (await Promise.all(callsIn(lines).map((words) => refusalOf(words, verbs)))).filter(Boolean);

  it.each(PAGES_WITH_CALLS)("%s has only calls that goald takes", async (path) => {
    const typed = blocksIn(path, "console").map(
      (body) =>
        body
          .match(/^\$ .*$/gm)
          ?.join("\n")
          .replaceAll(/^\$ /gm, "") ?? "",
    );
    expect(await refusalsIn([...typed, ...blocksIn(path, "sh", "cron")].join("\n"))).toEqual([]);
  });

  it.each(["README.md", "docs/cookbook.md", "docs/states.md", "docs/tutorial.md"])(
    "%s has only such calls within its sentences, too",
    async (path) => {
      const sentences = readFileSync(path, "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
      const inSentences = [...sentences.matchAll(/`(goald [^`\n]+)`/g)].map(([, call = ""]) => call);
      expect(inSentences.length).toBeGreaterThan(3);
      const refusals = await refusalsIn(inSentences.join("\n"));
      // A verb alone is its name, not a call.
      expect(refusals.filter((refusal) => !/^\w+: error: missing required/.test(refusal ?? ""))).toEqual([]);
    },
  );

  it.each(PAGES_WITH_CALLS)("%s has only agent files that goald reads", async (path) => {
    for (const text of blocksIn(path, "yaml").filter((body) => body.includes("ai_"))) {
      const file = inFolder("agent.yaml");
      writeFileSync(file, text);
      expect((await readAgentFile(file)).goals?.length).toBeGreaterThan(0);
    }
  });
});

/** The texts of a type, as its file has them. */
function textsOf(type: string, file: string): readonly string[] {
  const [, union = ""] = new RegExp(`type ${type} =([^;]*);`).exec(readFileSync(file, "utf8")) ?? [];
  return [...union.matchAll(/"([\w-]+)"/g)].map(([, text = ""]) => text);
}

describe("docs/states.md", () => {
  const page = readFileSync("docs/states.md", "utf8");
  const rows = new Map([...page.matchAll(/^\| `([^`,]+)[^`]*` \|.*$/gm)].map(([row, state = ""]) => [state, row]));
  const pausedBy = (code: PauseCode) => ({ ...initialState, paused: { code, reason: "" } });
  const codes = textsOf("PauseCode", "src/core/event.ts") as readonly PauseCode[];
  const waits = textsOf("WaitFor", "src/core/call.ts").map((wait) => `waiting: ${wait}`);
  const pauses = codes.map((code) => shownStateOf(pausedBy(code), true));
  /** The other states are texts in this file. */
  const written = readFileSync("src/views/agent-view.ts", "utf8");
  const others = [...written.matchAll(/"(waiting: [\w ]+|running|interrupted|damaged|completed)"/g)].map(
    ([, state = ""]) => state,
  );
  const shown = new Set([...pauses, ...waits, ...others]);

  it("has a row for each state that `goald ps` can show, and no other row", () => {
    expect([...shown].filter((state) => !rows.has(state))).toEqual([]);
    expect([...rows.keys()].filter((state) => !shown.has(state))).toEqual([]);
    const some = ["waiting: rate limit", "waiting: recovery", "damaged", "waiting: person", "paused: crash-loop"];
    expect([...shown]).toEqual(expect.arrayContaining(some));
  });

  it.each(codes)("names at the pause %s the calls that goald show names", (code) => {
    const state = pausedBy(code);
    const standing = shownStateOf(state, true);
    const calls = nextStepOf("AGENT", state, standing).todo.map(({ command }) => command);
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.filter((call) => !rows.get(standing)?.includes(`\`${call}\``))).toEqual([]);
  });
});

describe("the README", () => {
  const readme = readFileSync("README.md", "utf8");

  it("names the main loop, and has at most 175 lines", () => {
    expect(readme).toContain("src/loop/run.ts");
    expect(readme.split("\n").length).toBeLessThanOrEqual(176);
  });

  it("links only to docs/ and to pages beside it, so that it is valid in an installed package", () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = ""]) => target);
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((target) => !/^(?:(docs\/)?[\w-]+\.md|docs\/[\w-]+\.png)$/.test(target))).toEqual([]);
  });

  it.each(GENERATED.filter((path) => path.endsWith(".md")))("links to %s", (path) => {
    expect(readme).toContain(`](${path})`);
  });
});

describe("the design page", () => {
  it("names only files and folders that exist", () => {
    const text = readFileSync("docs/design.md", "utf8");
    const paths = [...text.matchAll(/`((?:src|commands|test|bench|config|prompts|docs)\/[\w./-]*)`/g)].map(
      ([, path = ""]) => path,
    );
    expect(paths.length).toBeGreaterThan(40);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  const rooms = readdirSync("src", { withFileTypes: true }).filter((entry) => entry.isDirectory());

  it.each(rooms.map(({ name }) => name))("names the room src/%s", (room) => {
    expect(readFileSync("docs/design.md", "utf8")).toContain(`src/${room}/`);
  });
});
