import { describe, expect, it } from "@jest/globals";
import { diffFiles, lastChangingStep } from "#views/file-diff.ts";
import { historyOf } from "../helpers/file-history.ts";

const { versions, store } = historyOf([
  [1, "a.md", "write", "one\ntwo\nthree\n"],
  [2, "b.md", "write", "b\n"],
  [3, "a.md", "write", "one\n2\nthree\n"],
  [3, "notes/c.md", "write", "c\n"],
  [4, "b.md", "delete", ""],
  [5, "data.bin", "write", Buffer.from([0, 1, 2, 3])],
  [6, "a.md", "found", "one\n2\nthree\nmine\n"],
  [6, "a.md", "append", "six\n"],
]);
const all = { paths: [] };

describe("the difference between two steps", () => {
  it("is a unified diff of each file by path, with counted lines", async () => {
    const diffs = await diffFiles(versions, { from: 2, to: 3, ...all }, store);
    expect(diffs.map(({ path, change, added, removed }) => [path, change, added, removed])).toEqual([
      ["a.md", "changed", 1, 1],
      ["notes/c.md", "added", 1, 0],
    ]);
    expect(diffs[0]?.patch).toBe("--- a/a.md\tstep 2\n+++ b/a.md\tstep 3\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    expect(diffs[1]?.patch).toContain("--- /dev/null\tstep 2\n+++ b/notes/c.md\tstep 3\n");
  });

  it("contains a deleted file, but not one that was created and deleted in between", async () => {
    expect(await diffFiles(versions, { from: 3, to: 4, ...all }, store)).toMatchObject([
      { path: "b.md", change: "removed", added: 0, removed: 1, fromBytes: 2, toBytes: 0 },
    ]);
    const whole = await diffFiles(versions, { from: 0, to: Number.POSITIVE_INFINITY, ...all }, store);
    expect(whole.map(({ path }) => path)).toEqual(["a.md", "data.bin", "notes/c.md"]);
    expect(whole[0]?.patch).toContain("\tnow\n");
  });

  it("reports a binary file with its sizes before and after", async () => {
    const [binary] = await diffFiles(versions, { from: 4, to: 5, ...all }, store);
    expect(binary).toMatchObject({
      path: "data.bin",
      patch: null,
      added: null,
      note: "binary",
      fromBytes: 0,
      toBytes: 4,
    });
  });

  it("names the steps in which it found a person's edit, which it includes", async () => {
    const [edited] = await diffFiles(versions, { from: 5, to: 6, ...all }, store);
    expect(edited).toMatchObject({ path: "a.md", editedByPerson: [6], added: 2 });
    const [own] = await diffFiles(versions, { from: 2, to: 3, ...all }, store);
    expect(own?.editedByPerson).toEqual([]);
  });

  it("covers only the named files and folders", async () => {
    expect(await diffFiles(versions, { from: 0, to: 9, paths: ["notes"] }, store)).toMatchObject([
      { path: "notes/c.md" },
    ]);
  });

  it("is empty for steps that changed nothing", async () => {
    expect(await diffFiles(versions, { from: 6, to: 99, ...all }, store)).toEqual([]);
  });

  it("starts by default at the agent's last step that changed the selected files", () => {
    const restored = historyOf([
      [1, "a.md", "write", "1"],
      [2, "b.md", "write", "2"],
      [7, "a.md", "write", "0", "restore/T"],
    ]).versions;
    expect(lastChangingStep(restored, [])).toBe(2);
    expect(lastChangingStep(restored, ["a.md"])).toBe(1);
    expect(lastChangingStep([], [])).toBeUndefined();
  });
});
