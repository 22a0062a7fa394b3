import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import writeToFile from "../../commands/write_to_file.ts";
import { call, makeDesk, REFUSED_PATHS } from "./context.ts";

describe("write_to_file", () => {
  it("creates a file with its folders, and reports the size", async () => {
    await using desk = await makeDesk();
    const result = await call(writeToFile, { file: "./notes/day 1.md", text: "one\ntwo" }, desk.context);
    expect(result).toMatchObject({
      status: "ok",
      text: "Wrote notes/day 1.md (2 lines, 7 bytes); the file is new.",
      source: "goald",
      artifacts: ["notes/day 1.md"],
    });
    expect(await readFile(join(desk.folder, "notes/day 1.md"), "utf8")).toBe("one\ntwo");
  });

  it("replaces the whole file after the history has the old content", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "the old text");
    desk.changes.length = 0;
    const result = await call(writeToFile, { file: "a.txt", text: "new\n" }, desk.context);
    expect(result.text).toBe("Wrote a.txt (1 line, 4 bytes); it replaced 12 bytes.");
    expect(desk.changes.map(({ operation, content }) => [operation, String(content && Buffer.from(content))])).toEqual([
      ["found", "the old text"],
      ["write", "new\n"],
    ]);
  });

  it("reports when the file already has the text", async () => {
    await using desk = await makeDesk();
    await call(writeToFile, { file: "a.txt", text: "täglich ✓" }, desk.context);
    const again = await call(writeToFile, { file: "a.txt", text: "täglich ✓" }, desk.context);
    expect(again.text).toContain("it held exactly this text already");
  });

  it("has the same result when run twice", async () => {
    await using desk = await makeDesk();
    const args = { file: "a.txt", text: "same" };
    const prepared = await writeToFile.prepare?.(args, desk.context);
    const first = await writeToFile.run(args, desk.context, prepared);
    const second = await writeToFile.run(args, desk.context, prepared);
    expect(second).toEqual(first);
    expect(await readFile(join(desk.folder, "a.txt"), "utf8")).toBe("same");
  });

  it("refuses paths outside the workspace before any write", async () => {
    await using desk = await makeDesk();
    for (const file of [...REFUSED_PATHS, "_goald/x"])
      await expect(call(writeToFile, { file, text: "x" }, desk.context)).rejects.toMatchObject({
        code: "GOALD_PATH_REFUSED",
      });
    expect(desk.changes).toEqual([]);
  });
});
