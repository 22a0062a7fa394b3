import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endedWith, type Goald, jsonOf } from "../helpers/goald.ts";
import { append, write } from "../helpers/numbered-model.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";
import { makeWorkedHome, type WorkedHome } from "../helpers/worked-home.ts";

let home: WorkedHome;
let goald: Goald;
beforeAll(async () => {
  const calls = [
    write("notes/a.md", "one\ntwo\n"),
    { name: "read_file", args: { file: "notes/a.md" } },
    append("b\n", "b.txt"),
    append("2\n", "notes/a.md"),
  ];
  home = await makeWorkedHome("Foo Bar", calls);
  goald = home.goald;
});
afterAll(async () => home[Symbol.asyncDispose]());

describe("goald restore", () => {
  const text = (path: string) => goald.read(join("workspace/foo-bar", path));

  it("lists with --dry-run what it would do, and changes nothing", async () => {
    const planned = jsonOf(await goald.ask(["restore", "foo-bar", "--step", "1", "--dry-run", "--json"]));
    expect(problemsOfView("restore", planned)).toBe("");
    expect(planned).toMatchObject({
      dryRun: true,
      ...{ folders: [], changedSince: [], discarded: [] },
      files: [
        { path: "b.txt", action: "remove", bytesNow: 2, bytes: null },
        { path: "notes/a.md", action: "write", bytesNow: 10, bytes: 8 },
      ],
    });
    expect(await text("b.txt")).toBe("b\n");
  });

  it("restores the files, keeps a person's edit, informs the agent, and can be undone", async () => {
    await appendFile(join(goald.home, "workspace/foo-bar/b.txt"), "mine\n");
    await appendFile(join(goald.home, "workspace/foo-bar/own.txt"), "untouched\n");
    const done = endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "1"])).stdout;
    expect(done).toContain("removed  b.txt  7 bytes to no file\nwritten  notes/a.md  10 bytes to 8 bytes\n");
    expect(done).toContain("To take it back: goald restore foo-bar --undo\n");
    expect([await text("b.txt"), await text("notes/a.md"), await text("own.txt")]).toEqual([
      undefined,
      "one\ntwo\n",
      "untouched\n",
    ]);
    const events = endedWith(0, await goald.ask(["events", "foo-bar"]))
      .stdout.trimEnd()
      .split("\n");
    expect(events.at(-1)).toContain("files-restored");
    expect(endedWith(0, await goald.ask(["verify"])).stdout).toMatch(/: sound\.\n$/);
    // A finished agent stays finished.
    expect(jsonOf<{ agents: { state: string }[] }>(await goald.ask(["ps", "--json"])).agents[0]?.state).toBe(
      "completed",
    );

    endedWith(0, await goald.ask(["restore", "foo-bar", "--undo"]));
    expect([await text("b.txt"), await text("notes/a.md")]).toEqual(["b\nmine\n", "one\ntwo\n2\n"]);
    expect(endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "5"])).stdout).toBe(
      "The files of foo-bar are as they were after step 5.\n",
    );
  });

  it("reports no edit for a file that only the agent appended to", async () => {
    const { versions } = jsonOf<{ versions: { path: string; operation: string }[] }>(
      await goald.ask(["files", "foo-bar", "--json"]),
    );
    expect(versions.filter(({ operation }) => operation === "found").map(({ path }) => path)).toEqual(["b.txt"]);
  });

  it("leaves other files alone if one is named", async () => {
    endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "2", "notes"]));
    expect([await text("b.txt"), await text("notes/a.md")]).toEqual(["b\nmine\n", "one\ntwo\n"]);
  });

  it("refuses a step that was not taken, an unknown file, and a call without a step", async () => {
    endedWith(3, await goald.ask(["restore", "foo-bar", "--step", "99"]));
    endedWith(3, await goald.ask(["restore", "foo-bar", "--step", "1", "own.txt"]));
    endedWith(2, await goald.ask(["restore", "foo-bar"]));
    for (const wrong of [
      ["--step", "1", "--undo"],
      ["--undo", "b.txt"],
      ["--step", "1", "--force"],
    ])
      endedWith(2, await goald.ask(["restore", "foo-bar", ...wrong]));
  });
});
