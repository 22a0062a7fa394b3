import { chmod, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import moveFile from "../../commands/move_file.ts";
import { call, makeDesk, REFUSED_PATHS } from "./context.ts";

const args = { from: "a.txt", to: "notes/b.txt" };
const text = async (path: string, workspace: Awaited<ReturnType<typeof makeDesk>>["workspace"]): Promise<string> =>
  Buffer.from(await workspace.read(path)).toString();

describe("move_file", () => {
  it("moves a file into a new folder, keeps its mode, and records both places in the history", async () => {
    await using desk = await makeDesk();
    await writeFile(join(desk.folder, "a.txt"), "abc");
    await chmod(join(desk.folder, "a.txt"), 0o755);
    const done = await call(moveFile, { from: "./a.txt", to: "notes/b.txt" }, desk.context);
    expect(done).toMatchObject({
      status: "ok",
      text: "Moved a.txt to notes/b.txt.",
      artifacts: ["notes/b.txt", "a.txt"],
    });
    expect((await stat(join(desk.folder, "notes/b.txt"))).mode & 0o777).toBe(0o755);
    expect(desk.changes.map(({ operation, path }) => [operation, path])).toEqual([
      ["found", "a.txt"],
      ["write", "notes/b.txt"],
      ["delete", "a.txt"],
    ]);
  });

  it("replaces nothing, and says what is in the way", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "a");
    await desk.workspace.write("notes/b.txt", "b");
    desk.changes.length = 0;
    expect(await call(moveFile, args, desk.context)).toMatchObject({
      status: "failed",
      code: "file-exists",
      text: "notes/b.txt exists already, so a.txt was not moved. Choose another name, or delete that file first.",
    });
    expect(await call(moveFile, { from: "a.txt", to: "./a.txt" }, desk.context)).toMatchObject({ code: "file-exists" });
    expect(desk.changes).toEqual([]);
    expect(await text("notes/b.txt", desk.workspace)).toBe("b");
  });

  it("moves files only: a folder, a missing file and a folder as the target are refused in words", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "a");
    await desk.workspace.write("notes/b.txt", "b");
    await expect(call(moveFile, { from: "notes", to: "c" }, desk.context)).rejects.toMatchObject({
      message: '"notes" is a folder, not a file.',
    });
    await expect(call(moveFile, { from: "a.txt", to: "notes" }, desk.context)).rejects.toMatchObject({
      message: '"notes" is a folder, not a file.',
    });
    expect(await call(moveFile, { from: "none.txt", to: "c" }, desk.context)).toMatchObject({ code: "file-missing" });
  });

  it("refuses paths outside the workspace, and goald's own folder, in both directions", async () => {
    await using desk = await makeDesk();
    await openLocalWorkspace(desk.folder, undefined, { own: true }).write("_goald/x", "own");
    await desk.workspace.write("a.txt", "a");
    const refusal = { code: "GOALD_PATH_REFUSED" };
    for (const path of [...REFUSED_PATHS, "_goald/x"])
      await expect(call(moveFile, { from: path, to: "c" }, desk.context)).rejects.toMatchObject(refusal);
    for (const path of [...REFUSED_PATHS, "_goald/y"])
      await expect(call(moveFile, { from: "a.txt", to: path }, desk.context)).rejects.toMatchObject(refusal);
    expect(await text("a.txt", desk.workspace)).toBe("a");
    expect(await text("_goald/x", desk.workspace)).toBe("own");
  });

  it("does not move a file that was changed after the call had begun", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "a");
    const prepared = await moveFile.prepare?.(args, desk.context);
    await writeFile(join(desk.folder, "a.txt"), "other");
    expect(await moveFile.run(args, desk.context, prepared)).toMatchObject({ code: "changed-since" });
    expect(await text("a.txt", desk.workspace)).toBe("other");
  });

  it("completes the history when it runs again after the file was moved", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "a");
    const prepared = await moveFile.prepare?.(args, desk.context);
    await moveFile.run(args, desk.context, prepared);
    // The crash lost the report of the first run.
    desk.changes.length = 0;
    expect(await moveFile.run(args, desk.context, prepared)).toMatchObject({ status: "ok" });
    expect(desk.changes.map(({ operation, path }) => [operation, path])).toEqual([
      ["found", "notes/b.txt"],
      ["delete", "a.txt"],
    ]);
    await writeFile(join(desk.folder, "notes/b.txt"), "by somebody else");
    expect(await moveFile.run(args, desk.context, prepared)).toMatchObject({ code: "file-missing" });
  });
});
