import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { FileVersion } from "#core/ports/store.ts";
import { byPath, isByPerson, isChosen, restoreVersion, upToStep } from "#views/file-versions.ts";
import { historyOf } from "../helpers/file-history.ts";
import { growthOverEightfold } from "../helpers/growth.ts";

const textOf = (content: Uint8Array | null): string | null => content && Buffer.from(content).toString("utf8");

describe("a version of a file", () => {
  const { versions, store } = historyOf([
    [1, "a.txt", "write", "one\n"],
    [2, "a.txt", "append", "two\n"],
    [3, "a.txt", "found", "mine\n"],
    [3, "a.txt", "append", "three\n"],
    [4, "a.txt", "delete", ""],
    [5, "a.txt", "append", "new\n"],
    [6, "a.txt", "append", "more\n"],
    [7, "a.txt", "write", ""],
    [8, "a.txt", "append", "last\n"],
  ]);

  it.each<[number, string | null]>([
    [0, null],
    [1, "one\n"],
    [2, "one\ntwo\n"],
    [3, "mine\nthree\n"],
    [4, null],
    [5, "new\n"],
    [6, "new\nmore\n"],
    [7, ""],
    [8, "last\n"],
  ])("after step %i is rebuilt from the history: %j", async (step, text) => {
    expect(textOf(await restoreVersion(upToStep(versions, step), store))).toBe(text);
  });

  it("is rejected if a piece is missing, or if the pieces do not match", async () => {
    const gone = { blob: async () => undefined };
    await expect(restoreVersion(upToStep(versions, 2), gone)).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
    const [first, second] = upToStep(versions, 2) as [FileVersion, FileVersion];
    await expect(restoreVersion([first, { ...second, bytes: 99 }], store)).rejects.toThrow("of 99 bytes are there");
    await expect(restoreVersion([{ ...second, bytes: 99 }], store)).rejects.toMatchObject({
      code: "GOALD_STORE_DAMAGED",
    });
  });

  it("reads each piece once, and none from before the last complete version", async () => {
    const read: string[] = [];
    const counting = {
      blob: async (sha: string) => {
        read.push(sha);
        return store.blob(sha);
      },
    };
    await restoreVersion(upToStep(versions, 6), counting);
    const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
    expect(read).toEqual([hash("more\n"), hash("new\n")]);
  });

  it("costs no more per append after ten thousand appends", async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => [at + 1, "a.txt", "append", `line ${at}\n`] as const);
    const { versions: all, store: blobs } = historyOf(many);
    const growth = await growthOverEightfold(all.length, async (count) => {
      const content = await restoreVersion(all.slice(0, count), blobs);
      expect(content?.length).toBe(all[count - 1]?.bytes);
    });
    expect(growth).toBeLessThan(30);
  });
});

describe("a restoration by a person", () => {
  const { versions } = historyOf([
    [1, "a.txt", "write", "one\n"],
    [2, "a.txt", "write", "two\n"],
    [2, "a.txt", "found", "edited\n", "restore/T"],
    [2, "a.txt", "write", "one\n", "restore/T"],
    [2, "a.txt", "found", "edited again\n", "restore/U"],
    [2, "a.txt", "write", "two\n", "restore/U"],
    [3, "a.txt", "append", "three\n"],
  ]);
  const countAt = (step: number): number => upToStep(versions, step).length;

  it("is not part of the step before it, so it can be undone, nor are edits after it; the edit that it found is", () => {
    expect(countAt(1)).toBe(1);
    expect(countAt(2)).toBe(3);
    expect(countAt(3)).toBe(7);
  });

  it("is distinguished from acts of the agent", () => {
    expect(versions.map(isByPerson)).toEqual([false, false, true, true, true, true, false]);
  });
});

describe("the selected files", () => {
  it("are the named ones and those inside named folders, never goald's own", () => {
    const { versions } = historyOf([
      [1, "notes/a.md", "write", "a"],
      [1, "notes.md", "write", "b"],
      [1, "_goald/spilled.txt", "write", "c"],
    ]);
    expect([...byPath(versions).keys()]).toEqual(["notes/a.md", "notes.md"]);
    expect(isChosen("notes/a.md", [])).toBe(true);
    expect(isChosen("notes/a.md", ["notes"])).toBe(true);
    expect(isChosen("notes.md", ["notes"])).toBe(false);
    expect(isChosen("notes.md", ["notes.md"])).toBe(true);
  });
});
