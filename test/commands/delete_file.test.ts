import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import deleteFile from "../../commands/delete_file.ts";
import { call, makeDesk, REFUSED_PATHS } from "./context.ts";

describe("delete_file", () => {
  it("removes a file after the history has its content", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("notes/a.txt", "to be kept");
    desk.changes.length = 0;
    const result = await call(deleteFile, { file: "./notes/a.txt" }, desk.context);
    expect(result).toMatchObject({ status: "ok", text: "Deleted notes/a.txt.", artifacts: ["notes/a.txt"] });
    expect(await desk.workspace.stat("notes/a.txt")).toBeUndefined();
    expect(
      desk.changes.map(({ operation, content }) => [operation, content && Buffer.from(content).toString()]),
    ).toEqual([
      ["found", "to be kept"],
      ["delete", null],
    ]);
  });

  it("succeeds without a file, and reports it", async () => {
    await using desk = await makeDesk();
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
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "x");
    const prepared = await deleteFile.prepare?.({ file: "a.txt" }, desk.context);
    const first = await deleteFile.run({ file: "a.txt" }, desk.context, prepared);
    // The crash lost the report of the first run.
    desk.changes.length = 0;
    expect(await deleteFile.prepare?.({ file: "a.txt" }, desk.context)).toBeNull();
    expect(await deleteFile.run({ file: "a.txt" }, desk.context, prepared)).toEqual(first);
    expect(desk.changes).toMatchObject([{ operation: "delete", path: "a.txt" }]);
  });

  it.each<[title: string, before: string | null, since: string]>([
    ["another content", "x", "a person's"],
    ["another content of the same size", "x", "y"],
    ["a new file", null, "a person's"],
  ])("keeps a file that somebody wrote after it started: %s", async (_title, before, since) => {
    await using desk = await makeDesk();
    if (before !== null) await desk.workspace.write("a.txt", before);
    const prepared = JSON.parse(JSON.stringify(await deleteFile.prepare?.({ file: "a.txt" }, desk.context)));
    await writeFile(join(desk.folder, "a.txt"), since);
    const result = await deleteFile.run({ file: "./a.txt" }, desk.context, prepared);
    expect(result).toMatchObject({
      status: "failed",
      code: "changed-since",
      text: expect.stringMatching(/^a\.txt was not/),
    });
    expect(await readFile(join(desk.folder, "a.txt"), "utf8")).toBe(since);
    expect(desk.changes.map(({ operation }) => operation)).not.toContain("delete");
    expect(await call(deleteFile, { file: "a.txt" }, desk.context)).toMatchObject({ status: "ok" });
  });

  it("removes a file that was restored with the same content", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "x");
    const prepared = await deleteFile.prepare?.({ file: "a.txt" }, desk.context);
    await writeFile(join(desk.folder, "a.txt"), "x");
    expect(await deleteFile.run({ file: "a.txt" }, desk.context, prepared)).toMatchObject({ status: "ok" });
  });

  it("refuses folders and paths outside the workspace", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("notes/a.txt", "");
    await expect(call(deleteFile, { file: "notes" }, desk.context)).rejects.toMatchObject({ code: "GOALD_FILE" });
    for (const file of REFUSED_PATHS)
      await expect(call(deleteFile, { file }, desk.context)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(await desk.workspace.stat("notes/a.txt")).toBeDefined();
  });
});
