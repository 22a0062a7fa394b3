import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, jest } from "@jest/globals";
import type { CommandContext } from "#core/command.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import appendToFile from "../../commands/append_to_file.ts";
import deleteFile from "../../commands/delete_file.ts";
import editFile from "../../commands/edit_file.ts";
import moveFile from "../../commands/move_file.ts";
import readFileCommand from "../../commands/read_file.ts";
import searchFiles from "../../commands/search_files.ts";
import writeToFile from "../../commands/write_to_file.ts";
import { call, REFUSED_PATHS } from "./context.ts";
import { useDesk } from "./use-desk.ts";

const desk = useDesk();
const textIn = (path: string): Promise<string> => readFile(join(desk.folder, path), "utf8");
const changedContents = (): readonly string[] =>
  desk.changes.map(({ operation, content }) => `${operation}: ${Buffer.from(content ?? "")}`);
const changedPaths = (): readonly string[] => desk.changes.map(({ operation, path }) => `${operation} ${path}`);

describe("write_to_file", () => {
  it("creates a file with its folders, and reports the size", async () => {
    const result = await call(writeToFile, { file: "./notes/day 1.md", text: "one\ntwo" }, desk.context);
    const text = "Wrote notes/day 1.md (2 lines, 7 bytes); the file is new.";
    expect(result).toMatchObject({ status: "ok", text, source: "goald", artifacts: ["notes/day 1.md"] });
    expect(await textIn("notes/day 1.md")).toBe("one\ntwo");
  });

  it("replaces the whole file after the history has the old content", async () => {
    await desk.workspace.write("a.txt", "the old text");
    desk.changes.length = 0;
    const result = await call(writeToFile, { file: "a.txt", text: "new\n" }, desk.context);
    expect(result.text).toBe("Wrote a.txt (1 line, 4 bytes); it replaced 12 bytes.");
    expect(changedContents()).toEqual(["found: the old text", "write: new\n"]);
  });

  it("has the same result when run twice, and reports in a later call that the file already has the text", async () => {
    const args = { file: "a.txt", text: "täglich ✓" };
    const prepared = await writeToFile.prepare?.(args, desk.context);
    const first = await writeToFile.run(args, desk.context, prepared);
    expect(await writeToFile.run(args, desk.context, prepared)).toEqual(first);
    expect(await textIn("a.txt")).toBe("täglich ✓");
    expect((await call(writeToFile, args, desk.context)).text).toContain("it held exactly this text already");
  });
});

const LOG = "log.txt";

describe("append_to_file", () => {
  it("appends, and creates a missing file and its folders", async () => {
    const made = await call(appendToFile, { file: "logs/a.txt", text: "one\n" }, desk.context);
    const added = await call(appendToFile, { file: "logs/a.txt", text: "zwölf\n" }, desk.context);
    expect(made).toMatchObject({ status: "ok", artifacts: ["logs/a.txt"] });
    expect((await call(appendToFile, { file: "b", text: "x" }, desk.context)).text).toContain("Added 1 byte to");
    expect(added.text).toBe("Added 7 bytes to the end of logs/a.txt, which now has 11.");
    expect(await textIn("logs/a.txt")).toBe("one\nzwölf\n");
  });

  it("reads only the end of a long file in prepare", async () => {
    await desk.workspace.write(LOG, "x".repeat(10_000_000));
    const read = jest.spyOn(desk.workspace, "read");
    await call(appendToFile, { file: LOG, text: "y" }, desk.context);
    const pieces = await Promise.all(read.mock.results.map(({ value }) => value as Promise<Uint8Array>));
    expect(Buffer.concat(pieces).length).toBeLessThanOrEqual(2 * 4096);
  });
});

describe("append_to_file, probed after a crash", () => {
  const text = "second\n";
  const rows: readonly (readonly [string, string | null, string | null, string])[] = [
    ["nothing has happened", "first\n", "first\n", "not-done"],
    ["the file was missing and still is", null, null, "not-done"],
    ["the file was missing and is complete", null, "second\n", "done"],
    ["the file was missing and is torn", null, "sec", "not-done"],
    ["the text is there", "first\n", "first\nsecond\n", "done"],
    ["the text is there and something after it", "first\n", "first\nsecond\nthird\n", "done"],
    ["only its beginning is there", "first\n", "first\nsec", "not-done"],
    ["something else is there", "first\n", "first\nthird\n", "unknown"],
    ["its beginning and something else are there", "first\n", "first\nsecthird", "unknown"],
    ["the file was rewritten", "first\n", "FIRST\nsecond\n", "unknown"],
    ["the file is shorter", "first\n", "fir", "unknown"],
    ["the file is gone", "first\n", null, "unknown"],
    ["the file already ended with the same text", "second\n", "second\n", "not-done"],
    ["the file already ended with the same text and now has it twice", "second\n", "second\nsecond\n", "done"],
    ["the file is longer than its hashed end", "x".repeat(9000), `${"x".repeat(9000)}second\n`, "done"],
  ];
  it.each(rows)("%s", async (_title, before, after, expected) => {
    if (before !== null) await writeFile(join(desk.folder, LOG), before);
    const prepared = await appendToFile.prepare?.({ file: LOG, text }, desk.context);
    if (after === null) await desk.workspace.remove(LOG);
    else await writeFile(join(desk.folder, LOG), after);
    expect(await appendToFile.probe?.({ file: LOG, text }, desk.context, prepared)).toBe(expected);
    if (expected !== "not-done") return;
    await appendToFile.run({ file: LOG, text }, desk.context, prepared);
    expect(await textIn(LOG)).toBe(`${before ?? ""}${text}`);
  });

  it("records an append in the history that the crash left out", async () => {
    const prepared = await appendToFile.prepare?.({ file: LOG, text }, desk.context);
    await writeFile(join(desk.folder, LOG), text);
    await appendToFile.probe?.({ file: LOG, text }, desk.context, prepared);
    expect(desk.changes).toMatchObject([{ operation: "found", path: LOG, bytes: text.length }]);
  });
});

describe("delete_file", () => {
  it("removes a file, and a folder only permanently, after the history has its content", async () => {
    await desk.workspace.write("notes/a.txt", "to be kept");
    await expect(call(deleteFile, { file: "notes" }, desk.context)).rejects.toMatchObject({ code: "GOALD_FILE" });
    desk.changes.length = 0;
    const result = await call(deleteFile, { file: "./notes/a.txt" }, desk.context);
    expect(result).toMatchObject({ status: "ok", text: "Deleted notes/a.txt.", artifacts: ["notes/a.txt"] });
    expect(await desk.workspace.stat("notes/a.txt")).toBeUndefined();
    expect(changedContents()).toEqual(["found: to be kept", "delete: "]);
    const folder = { file: "./notes/", permanently: true };
    expect(await call(deleteFile, folder, desk.context)).toMatchObject({ status: "ok", value: "notes" });
  });

  it("succeeds without a file, and reports it", async () => {
    await desk.workspace.write("a.txt", "");
    await call(deleteFile, { file: "a.txt" }, desk.context);
    for (const file of ["a.txt", "never/was.txt"])
      expect(await call(deleteFile, { file }, desk.context)).toMatchObject({
        status: "ok",
        text: `${file} was not there, so nothing was deleted.`,
        artifacts: [],
      });
  });

  it("reports the same after a second run, and records the removal in the history", async () => {
    await desk.workspace.write("a.txt", "x");
    const prepared = await deleteFile.prepare?.({ file: "a.txt" }, desk.context);
    const first = await deleteFile.run({ file: "a.txt" }, desk.context, prepared);
    // The crash lost the report of the first run.
    desk.changes.length = 0;
    expect(await deleteFile.prepare?.({ file: "a.txt" }, desk.context)).toBeNull();
    expect(await deleteFile.run({ file: "a.txt" }, desk.context, prepared)).toEqual(first);
    expect(desk.changes).toMatchObject([{ operation: "delete", path: "a.txt" }]);
    // A file that was restored with the same content is removed, too.
    await writeFile(join(desk.folder, "a.txt"), "x");
    expect(await deleteFile.run({ file: "a.txt" }, desk.context, prepared)).toMatchObject({ status: "ok" });
  });

  it.each<[title: string, before: string | null, since: string]>([
    ["another content", "x", "a person's"],
    ["another content of the same size", "x", "y"],
    ["a new file", null, "a person's"],
  ])("keeps a file that somebody wrote after it started: %s", async (_title, before, since) => {
    if (before !== null) await desk.workspace.write("a.txt", before);
    const prepared = JSON.parse(JSON.stringify(await deleteFile.prepare?.({ file: "a.txt" }, desk.context)));
    await writeFile(join(desk.folder, "a.txt"), since);
    const result = await deleteFile.run({ file: "./a.txt" }, desk.context, prepared);
    const text = expect.stringMatching(/^a\.txt was not/);
    expect(result).toMatchObject({ status: "failed", code: "changed-since", text });
    expect(await textIn("a.txt")).toBe(since);
    expect(desk.changes.map(({ operation }) => operation)).not.toContain("delete");
    expect(await call(deleteFile, { file: "a.txt" }, desk.context)).toMatchObject({ status: "ok" });
  });
});

const MOVE = { from: "a.txt", to: "notes/b.txt" };

describe("move_file", () => {
  it("moves a file into a new folder, keeps its mode, and records both places in the history", async () => {
    await writeFile(join(desk.folder, "a.txt"), "abc");
    await chmod(join(desk.folder, "a.txt"), 0o755);
    const done = await call(moveFile, { from: "./a.txt", to: "notes/b.txt" }, desk.context);
    const artifacts = ["notes/b.txt", "a.txt"];
    expect(done).toMatchObject({ status: "ok", text: "Moved a.txt to notes/b.txt.", artifacts });
    expect((await stat(join(desk.folder, "notes/b.txt"))).mode & 0o777).toBe(0o755);
    expect(changedPaths()).toEqual(["found a.txt", "write notes/b.txt", "delete a.txt"]);
  });

  it("replaces nothing, and says what is in the way", async () => {
    await desk.workspace.write("a.txt", "a");
    await desk.workspace.write("notes/b.txt", "b");
    desk.changes.length = 0;
    const text = "notes/b.txt exists already, so a.txt was not moved. Choose another name, or delete that file first.";
    expect(await call(moveFile, MOVE, desk.context)).toMatchObject({ status: "failed", code: "file-exists", text });
    expect(await call(moveFile, { from: "a.txt", to: "./a.txt" }, desk.context)).toMatchObject({ code: "file-exists" });
    expect(desk.changes).toEqual([]);
    expect(await textIn("notes/b.txt")).toBe("b");
  });

  it("moves files only: a folder, a missing file and a folder as the target are refused in words", async () => {
    await desk.workspace.write("a.txt", "a");
    await desk.workspace.write("notes/b.txt", "b");
    const refusal = { message: '"notes" is a folder, not a file.' };
    await expect(call(moveFile, { from: "notes", to: "c" }, desk.context)).rejects.toMatchObject(refusal);
    await expect(call(moveFile, { from: "a.txt", to: "notes" }, desk.context)).rejects.toMatchObject(refusal);
    expect(await call(moveFile, { from: "none.txt", to: "c" }, desk.context)).toMatchObject({ code: "file-missing" });
  });

  it("does not move a file that was changed after the call had begun", async () => {
    await desk.workspace.write("a.txt", "a");
    const prepared = await moveFile.prepare?.(MOVE, desk.context);
    await writeFile(join(desk.folder, "a.txt"), "other");
    expect(await moveFile.run(MOVE, desk.context, prepared)).toMatchObject({ code: "changed-since" });
    expect(await textIn("a.txt")).toBe("other");
  });

  it("completes the history when it runs again after the file was moved", async () => {
    await desk.workspace.write("a.txt", "a");
    const prepared = await moveFile.prepare?.(MOVE, desk.context);
    await moveFile.run(MOVE, desk.context, prepared);
    // The crash lost the report of the first run.
    desk.changes.length = 0;
    expect(await moveFile.run(MOVE, desk.context, prepared)).toMatchObject({ status: "ok" });
    expect(changedPaths()).toEqual(["found notes/b.txt", "delete a.txt"]);
    await writeFile(join(desk.folder, "notes/b.txt"), "by somebody else");
    expect(await moveFile.run(MOVE, desk.context, prepared)).toMatchObject({ code: "file-missing" });
  });
});

describe("a path outside the workspace, or in goald's own folder", () => {
  const EDIT = { old: "own", new: "b" };
  it.each<[title: string, run: (path: string, context: CommandContext) => Promise<unknown>]>([
    ["write_to_file", (file, context) => call(writeToFile, { file, text: "x" }, context)],
    ["append_to_file", (file, context) => call(appendToFile, { file, text: "x" }, context)],
    ["edit_file", (file, context) => call(editFile, { file, ...EDIT }, context)],
    ["delete_file", (file, context) => call(deleteFile, { file }, context)],
    ["move_file from there", (from, context) => call(moveFile, { from, to: "c" }, context)],
    // A target that exists would be refused for another reason.
    ["move_file to there", (to, context) => call(moveFile, { from: "a.txt", to: to.replace("/x", "/y") }, context)],
  ])("is refused by %s before any change", async (_title, run) => {
    await openLocalWorkspace(desk.folder, undefined, { own: true }).write("_goald/x", "own");
    await desk.workspace.write("a.txt", "a");
    desk.changes.length = 0;
    for (const path of [...REFUSED_PATHS, "_goald/x"])
      await expect(run(path, desk.context)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    // A move first keeps its file in the history.
    expect(desk.changes.filter(({ operation }) => operation !== "found")).toEqual([]);
    expect([await textIn("a.txt"), await textIn("_goald/x")]).toEqual(["a", "own"]);
  });

  it("is refused by read_file and search_files", async () => {
    const refusal = { code: "GOALD_PATH_REFUSED" };
    for (const path of REFUSED_PATHS) {
      await expect(call(readFileCommand, { file: path }, desk.context)).rejects.toMatchObject(refusal);
      await expect(call(searchFiles, { directory: path }, desk.context)).rejects.toMatchObject(refusal);
    }
  });
});
