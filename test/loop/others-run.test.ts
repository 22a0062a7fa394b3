/** Files that others run or obey, by every command that can write one: asked in `risky`, refused in `never`. */
import { describe, expect, it } from "@jest/globals";
import type { AgentSettings } from "#core/agent-settings.ts";
import { type Command, defineCommand, succeed } from "#core/command.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Services } from "#core/services.ts";
import type { Answer } from "../helpers/answering-person.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";

const SCRIPTS = JSON.stringify({ scripts: { postinstall: "node steal.js" } });
const HARMLESS = JSON.stringify({ scripts: { test: "node --test" } });
const services = { downloads: { ready: true }, repositories: { ready: true } } as const;
const serving: Partial<Services> = {
  downloads: {
    get: async (url) => ({ url, contentType: "", bytes: new TextEncoder().encode(SCRIPTS) }) as never,
  },
  repositories: {
    clone: async (url) => ({ url, commit: "c", branch: null, files: 0, bytes: 0, remarks: [] }),
  },
};
/** An own command that names no argument as a path that it writes. */
const quiet = defineCommand({
  name: "quiet",
  label: "Quiet",
  summary: "writes a file of its own choice.",
  args: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  run: async ({ text }, { workspace }) => {
    const [path = "", ...rest] = text.split(" ");
    await workspace.write(path, rest.join(" "));
    return succeed("written");
  },
}) as unknown as Command;

interface Run {
  readonly loop: Loop;
  readonly events: readonly RecordedEvent[];
  /** What a person was asked, by the reasons. */
  readonly reasons: readonly string[];
  readonly results: readonly unknown[];
}
async function runCalls(
  calls: readonly (readonly [name: string, args: Readonly<Record<string, unknown>>])[],
  settings: Partial<AgentSettings> = {},
  answer: Answer = { kind: "feedback", text: "no" },
): Promise<Run> {
  const script = [...calls.map(([name, args]) => reply(name, args)), done()];
  const loop = await makeLoop({
    script,
    settings: { approve: "risky", ...settings },
    services,
    serving,
    commands: [quiet],
  });
  loop.files.set("plain", new TextEncoder().encode("x"));
  loop.files.set("a.json", new TextEncoder().encode(SCRIPTS));
  await loop.run({ ask: async () => answer });
  const events = await loop.events();
  return {
    loop,
    events,
    reasons: events.flatMap((event) => (event.type === "approval-asked" ? [event.reason] : [])),
    results: events.flatMap((event) =>
      event.type === "command-finished" ? [event.observation.code ?? event.observation.status] : [],
    ),
  };
}

const WAYS = [
  ["write_to_file", { file: ".envrc", text: "x" }],
  ["write_to_file", { file: "a/./.ENVRC", text: "x" }],
  ["append_to_file", { file: "x/.envrc", text: "x" }],
  ["edit_file", { file: ".envrc", old: "a", new: "b" }],
  ["move_file", { from: "plain", to: ".envrc" }],
  ["download_file", { url: "https://example.com/x", file: ".envrc" }],
  ["write_to_file", { file: "package.json", text: SCRIPTS }],
] as const;

describe("a file that others run", () => {
  it.each(WAYS)("is asked about before %s %j, with who runs it and when", async (name, args) => {
    const { reasons, loop } = await runCalls([[name, args]]);
    expect(reasons).toEqual([expect.stringMatching(/when somebody (?:enters|installs)/)]);
    expect([...loop.files.keys()].sort()).toEqual(["a.json", "plain"]);
  });

  it.each(WAYS)("is refused where nobody is asked, and the agent goes on: %s %j", async (name, args) => {
    const { events, loop } = await runCalls([[name, args]], { approve: "never" });
    expect(events.map(({ type }) => type)).toContain("turn-finished");
    expect(events).toContainEqual(
      expect.objectContaining({ type: "command-denied", reason: expect.stringContaining("Nobody can be asked") }),
    );
    expect([...loop.files.keys()].sort()).toEqual(["a.json", "plain"]);
  });

  it("is asked about although a person approved the next twenty commands", async () => {
    const first = ["write_to_file", { file: ".envrc", text: "x" }] as const;
    const { reasons } = await runCalls([first, first], {}, { kind: "approved", count: 20 });
    expect(reasons).toHaveLength(2);
  });

  it("is written when a person says yes", async () => {
    const { loop, results } = await runCalls(WAYS.slice(0, 1), {}, { kind: "approved", count: 1 });
    expect(results[0]).toBe("ok");
    expect(loop.text(".envrc")).toBe("x");
  });

  it("is not written by a command of one's own that says nothing about its files", async () => {
    const { results, loop } = await runCalls([
      ["quiet", { text: ".envrc x" }],
      ["quiet", { text: `package.json ${SCRIPTS}` }],
      ["quiet", { text: "notes.md x" }],
    ]);
    expect(results.slice(0, 3)).toEqual(["path-refused", "path-refused", "ok"]);
    expect([...loop.files.keys()].sort()).toEqual(["a.json", "notes.md", "plain"]);
  });

  it("is asked about when it is the place of a clone", async () => {
    const { reasons } = await runCalls([
      ["clone_repository", { repository_url: "https://e.com/a.git", clone_path: ".vscode" }],
    ]);
    expect(reasons).toEqual([expect.stringContaining("an editor obeys it")]);
  });
});

describe("a package file", () => {
  const write = ["write_to_file", { file: "package.json", text: HARMLESS }] as const;

  it("with the project's own scripts is written and edited without a question, also where nobody is asked", async () => {
    const edit = ["edit_file", { file: "package.json", old: "--test", new: "--test --watch" }] as const;
    for (const approve of ["risky", "never"] as const) {
      const { reasons, results } = await runCalls([write, edit], { approve });
      expect([reasons, results.slice(0, 2)]).toEqual([[], ["ok", "ok"]]);
    }
  });

  it.each([
    ["an edit", ["edit_file", { file: "package.json", old: "test", new: "postinstall", count: 2 }]],
    ["a move", ["move_file", { from: "a.json", to: "b/package.json" }]],
    ["a download", ["download_file", { url: "https://example.com/x", file: "c/package.json" }]],
    ["an append", ["append_to_file", { file: "package.json", text: "," }]],
  ] as const)("gets no install script by %s, which shows no person the whole", async (_title, call) => {
    const { results, loop } = await runCalls([write, call], {}, { kind: "approved", count: 1 });
    expect(results[1]).toBe("path-refused");
    expect(loop.text("package.json")).toBe(HARMLESS);
  });

  it("keeps the install scripts that it had when something else is edited", async () => {
    const had = `{"version":"1.0","scripts":{"install":"make"}}`;
    const edit = reply("edit_file", { file: "package.json", old: "1.0", new: "1.1" });
    const loop = await makeLoop({ script: [edit, done()] });
    loop.files.set("package.json", new TextEncoder().encode(had));
    await loop.run();
    expect(loop.text("package.json")).toBe(had.replace("1.0", "1.1"));
  });
});
