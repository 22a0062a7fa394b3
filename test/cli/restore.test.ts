import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, type Goald, jsonOf } from "../helpers/goald.ts";
import { append, write } from "../helpers/numbered-model.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

let home: DaemonHome;
let goald: Goald;
beforeAll(async () => {
  home = await makeDaemonHome([
    write("notes/a.md", "one\ntwo\n"),
    { name: "read_file", args: { file: "notes/a.md" } },
    append("b\n", "b.txt"),
    append("2\n", "notes/a.md"),
  ]);
  goald = home.goald;
  endedWith(0, await goald.ask(["run", "--name", "Foo Bar", "--role", "r", "-g", "Work", "--continuous"]));
  endedWith(0, await goald.ask(["down"]));
});
afterAll(async () => home[Symbol.asyncDispose]());

describe("goald restore", () => {
  const text = (path: string) => goald.read(join("workspace/foo-bar", path));

  it("lists with --dry-run what it would do, changes nothing, and starts no daemon", async () => {
    const planned = jsonOf(await goald.ask(["restore", "foo-bar", "--step", "1", "--dry-run", "--json"]));
    expect(problemsOfView("restore", planned)).toBe("");
    expect(planned).toMatchObject({
      ...{ dryRun: true, lastStep: 5, clones: [] },
      files: [
        { path: "b.txt", action: "remove", bytesNow: 2, bytes: null },
        { path: "notes/a.md", action: "write", bytesNow: 10, bytes: 8 },
      ],
    });
    expect(await text("b.txt")).toBe("b\n");
    endedWith(4, await goald.ask(["status"]));
  });

  it("restores the files by the daemon, keeps a person's edit, informs the agent, and the last step takes it back", async () => {
    await appendFile(join(goald.home, "workspace/foo-bar/b.txt"), "mine\n");
    await appendFile(join(goald.home, "workspace/foo-bar/own.txt"), "untouched\n");
    const { stdout, stderr } = endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "1"]));
    expect(stdout).toContain("removed  b.txt  7 bytes to no file\nwritten  notes/a.md  10 bytes to 8 bytes\n");
    expect(stdout).toContain("To take it back: goald restore foo-bar --step 5\n");
    expect(stderr).toMatch(/^Started the daemon/);
    const files = ["b.txt", "notes/a.md", "own.txt"];
    expect(await Promise.all(files.map(text))).toEqual([undefined, "one\ntwo\n", "untouched\n"]);
    const { stdout: events } = endedWith(0, await goald.ask(["events", "foo-bar"]));
    expect(events.trimEnd().split("\n").at(-1)).toContain("files-restored");
    expect(endedWith(0, await goald.ask(["verify"])).stdout).toMatch(/: sound\.\n$/);
    // A finished agent stays finished.
    expect(jsonOf<{ agents: { state: string }[] }>(await goald.ask(["ps", "--json"])).agents[0]?.state).toBe(
      "completed",
    );

    endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "5"]));
    expect(await Promise.all(files.map(text))).toEqual(["b\nmine\n", "one\ntwo\n2\n", "untouched\n"]);
    expect(endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "5"])).stdout).toBe(
      "The files of foo-bar are as they were after step 5.\n",
    );
  });

  it("reports no edit for a file that only the agent appended to", async () => {
    const { versions } = jsonOf<{ versions: { path: string; operation: string }[] }>(
      await goald.ask(["show", "foo-bar", "--files", "--json"]),
    );
    expect(versions.filter(({ operation }) => operation === "found").map(({ path }) => path)).toEqual(["b.txt"]);
  });

  it("leaves other files alone if one is named, also in the call that takes it back", async () => {
    const { stdout } = endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "2", "notes"]));
    expect(stdout).toContain("To take it back: goald restore foo-bar --step 5 notes\n");
    expect([await text("b.txt"), await text("notes/a.md")]).toEqual(["b\nmine\n", "one\ntwo\n"]);
  });

  it("refuses a step that was not taken, an unknown file, and a call without a step", async () => {
    endedWith(3, await goald.ask(["restore", "foo-bar", "--step", "99"]));
    endedWith(3, await goald.ask(["restore", "foo-bar", "--step", "1", "own.txt"]));
    endedWith(2, await goald.ask(["restore", "foo-bar"]));
    endedWith(2, await goald.ask(["restore", "foo-bar", "--undo"]));
  });
});
