import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endedWith, errorOf, type Goald, jsonOf } from "../helpers/goald.ts";
import { append, write } from "../helpers/numbered-model.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";
import { makeWorkedHome, type WorkedHome } from "../helpers/worked-home.ts";

interface Why {
  readonly agent: string;
  readonly path: string;
  readonly versions: readonly {
    readonly step: number;
    readonly by: string;
    readonly sources: readonly { what: string }[];
  }[];
}

let home: WorkedHome;
let goald: Goald;
beforeAll(async () => {
  const calls = [
    write("notes/a.md", "one\ntwo\n"),
    { name: "read_file", args: { file: "notes/a.md" } },
    append("b\n", "b.txt"),
    write("notes/a.md", "one\n2\n"),
  ];
  home = await makeWorkedHome("Foo Bar", calls);
  goald = home.goald;
});
afterAll(async () => home[Symbol.asyncDispose]());

describe("goald why", () => {
  it.each<[string, (home: string) => readonly string[]]>([
    ["agent/path", () => ["foo-bar/notes/a.md"]],
    ["agent and path", () => ["foo-bar", "notes/a.md"]],
    ["name and path", () => ["foo bar", "./notes/a.md"]],
    ["an absolute path", (home) => [join(home, "workspace/foo-bar/notes/a.md")]],
    ["an agent and an absolute path", (home) => ["foo-bar", join(home, "workspace/foo-bar/notes/a.md")]],
  ])("takes %s for a file", async (_title, args) => {
    const why = jsonOf<Why>(await goald.ask(["why", ...args(goald.home), "--json"]));
    expect(why).toMatchObject({ agent: "foo-bar", path: "notes/a.md" });
  });

  it("resolves a path against the current folder", async () => {
    const inside = await goald.ask(["why", "a.md", "--json"], { cwd: join(goald.home, "workspace/foo-bar/notes") });
    expect(jsonOf<Why>(inside)).toMatchObject({ agent: "foo-bar", path: "notes/a.md" });
  });

  it("shows for a file the goals, step, thoughts, and what was read before it", async () => {
    const why = jsonOf<Why>(await goald.ask(["why", "foo-bar", "notes/a.md", "--json"]));
    expect(problemsOfView("why", why)).toBe("");
    expect(why.versions.map(({ step, by }) => [step, by])).toEqual([
      [1, "agent"],
      [4, "agent"],
    ]);
    expect(why.versions[1]).toMatchObject({
      goals: ["Work"],
      command: { name: "write_to_file" },
      thought: "Now: write_to_file.",
      thoughts: { text: expect.stringContaining("Task 4 of 4") },
      sources: [{ what: "notes/a.md", command: "read_file", step: 2 }],
    });
    const text = endedWith(0, await goald.ask(["why", "foo-bar/notes/a.md"])).stdout;
    expect(text).toMatch(/^notes\/a\.md \(6 bytes\), of Foo Bar \(foo-bar\), in \/.*\n\nGoals\n {2}1\. Work\n/);
    expect(text).toMatch(/Version 2 of 2: step 4, \S+Z, write by write_to_file\n/);
    expect(text).toMatch(/ {2}Sources, read since version 1\n {4}step 2, \S+Z, read_file notes\/a.md \(workspace\)\n/);
    expect(text).toContain("Before that\n  Version 1 of 2: step 1");
  });

  it.each<[readonly string[], number, string]>([
    [["foo-bar/gone.md"], 3, 'Expected a file that foo-bar wrote, got "gone.md".'],
    [["nobody/a.md"], 3, 'found none called "nobody"'],
    [["foo-bar"], 2, 'Expected an agent and a file of it, got "foo-bar".'],
    [["foo-bar", "../../etc/passwd"], 3, "Expected a file that foo-bar wrote"],
  ])("rejects %j with the reason", async (args, code, message) => {
    expect(errorOf(endedWith(code, await goald.ask(["why", ...args, "--json"]))).message).toContain(message);
  });
});

describe("goald diff", () => {
  it("shows the changes of the last step that changed files", async () => {
    expect(endedWith(0, await goald.ask(["diff", "foo-bar"])).stdout).toBe(
      "--- a/notes/a.md\tstep 3\n+++ b/notes/a.md\tstep 4\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    );
  });

  it("shows any range of steps, one file or folder, or only the counts", async () => {
    const third = jsonOf(await goald.ask(["diff", "foo-bar", "--to", "3", "--json"]));
    expect(problemsOfView("diff", third)).toBe("");
    expect(third).toMatchObject({ from: 2, to: 3, files: [{ path: "b.txt", change: "added", added: 1 }] });
    const since = jsonOf(await goald.ask(["diff", "foo-bar", "--from", "0", "--json"]));
    expect(since).toMatchObject({ from: 0, to: null, files: [{ path: "b.txt" }, { path: "notes/a.md" }] });
    const folder = jsonOf(await goald.ask(["diff", "foo-bar", "notes", "--from", "0", "--json"]));
    expect(folder).toMatchObject({ files: [{ path: "notes/a.md" }] });
    expect(endedWith(0, await goald.ask(["diff", "foo-bar", "--from", "0", "--stat"])).stdout).toBe(
      "added    b.txt  +1 -0\nadded    notes/a.md  +2 -0\n2 files, +3 -0 lines, since step 0\n",
    );
    expect(endedWith(0, await goald.ask(["diff", "foo-bar", "--to", "2"])).stdout).toBe(
      "No file differs between the ends of step 1 and step 2.\n",
    );
  });

  it.each<[readonly string[], number]>([
    [["--from", "3", "--to", "1"], 2],
    [["--to", "77"], 3],
    [["nothing.md"], 3],
    [["--to", "x"], 2],
  ])("refuses %j", async (args, code) => {
    endedWith(code, await goald.ask(["diff", "foo-bar", ...args]));
  });
});
