import { describe, expect, it } from "@jest/globals";
import deleteFile from "../../commands/delete_file.ts";
import { call, makeDesk, REFUSED_PATHS } from "./context.ts";

describe("delete_file", () => {
  it("removes a file after the history has what it held", async () => {
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

  it("succeeds when there is nothing, now or any more, and says so", async () => {
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

  it("tells the same when a crash made it run twice", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "x");
    const prepared = await deleteFile.prepare?.({ file: "a.txt" }, desk.context);
    const first = await deleteFile.run({ file: "a.txt" }, desk.context, prepared);
    expect(await deleteFile.run({ file: "a.txt" }, desk.context, prepared)).toEqual(first);
  });

  it("refuses folders, and what is not inside", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("notes/a.txt", "");
    await expect(call(deleteFile, { file: "notes" }, desk.context)).rejects.toMatchObject({ code: "GOALD_FILE" });
    for (const file of REFUSED_PATHS)
      await expect(call(deleteFile, { file }, desk.context)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(await desk.workspace.stat("notes/a.txt")).toBeDefined();
  });
});
