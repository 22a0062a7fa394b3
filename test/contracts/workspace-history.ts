/** workspace-history.ts -- shared parts of the workspace contract. */
import { createHash } from "node:crypto";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { FileChange, FileVersion } from "#core/ports/store.ts";
import type { LastVersion, Workspace } from "#core/ports/workspace.ts";

export interface WorkspaceUnderTest {
  /** Opens the same folder at each call. */
  open(onChange?: (change: FileChange) => void, own?: boolean, lastVersion?: LastVersion): Workspace;
  close(): Promise<void>;
}

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
export const namesIn = async (workspace: Workspace, directory = ""): Promise<string[]> =>
  (await Array.fromAsync(workspace.list(directory))).map((file) => file.path);

// Workspace contract: file history, and what is preserved before it is lost.

export function historyContract(name: string, make: () => Promise<WorkspaceUnderTest>): void {
  describe(`${name} keeps the workspace contract: history`, () => {
    let under: WorkspaceUnderTest;
    let changes: FileChange[];
    let asked: string[];
    const known = new Map<string, Pick<FileVersion, "operation" | "bytes" | "sha256">>();
    const lastVersion: LastVersion = async (path) => {
      asked.push(path);
      return known.get(path);
    };
    /** Opens the workspace as after a restart, when only the history is known. */
    const openAgain = (): Workspace => under.open((change) => changes.push(change), false, lastVersion);
    /** Each change in words, with its bytes and its content. */
    const reportedChanges = (): string[] =>
      changes.map(({ operation, path, bytes, content }) => {
        const text = content === null ? "nothing" : new TextDecoder().decode(content);
        return `${operation} ${path} ${bytes}: ${text}`;
      });
    const FOUND = "found a.txt 3: abc";
    beforeEach(async () => {
      under = await make();
      changes = [];
      asked = [];
      known.clear();
      await under.open().write("a.txt", "abc");
    });
    afterEach(() => under.close());

    it.each<[title: string, last: [FileVersion["operation"], number, string | null] | null, kept: boolean]>([
      ["does not know the file", null, true],
      ["has it with the same size", ["write", 3, "abc"], false],
      ["has it with the same size after an append", ["append", 3, "c"], false],
      ["has it with another size", ["write", 2, "ab"], true],
      ["has it as deleted", ["delete", 0, null], true],
    ])("preserves a file before an append according to whether the history %s", async (_title, last, kept) => {
      if (last) known.set("a.txt", { operation: last[0], bytes: last[1], sha256: last[2] && sha256(last[2]) });
      await openAgain().append("./a.txt", "d");
      const piece = "append a.txt 4: d";
      expect(reportedChanges()).toEqual(kept ? [FOUND, piece] : [piece]);
      expect(asked).toEqual(["a.txt"]);
    });

    it("preserves nothing before an append to a missing file, even when the history has one", async () => {
      known.set("b.txt", { operation: "write", bytes: 9, sha256: sha256("nine char") });
      const workspace = openAgain();
      await workspace.append("b.txt", "new");
      await workspace.append("b.txt", "er");
      expect(reportedChanges()).toEqual(["append b.txt 3: new", "append b.txt 5: er"]);
    });

    it.each<[title: string, last: [FileVersion["operation"], number, string | null] | null, kept: boolean]>([
      ["does not know the file", null, true],
      ["has it with the same content", ["write", 3, "abc"], false],
      ["has it as found with the same content", ["found", 3, "abc"], false],
      ["has its content as the one append to a new file", ["append", 3, "abc"], false],
      ["has its content as the last append to a longer file", ["append", 6, "abc"], true],
      ["has it with other content of the same size", ["write", 3, "xyz"], true],
      ["has it as deleted", ["delete", 0, null], true],
    ])("preserves a file at most once when the history %s", async (_title, last, kept) => {
      if (last) known.set("a.txt", { operation: last[0], bytes: last[1], sha256: last[2] && sha256(last[2]) });
      const workspace = openAgain();
      for (const path of ["a.txt", "./a.txt"])
        expect(await workspace.preserve(path)).toEqual({ bytes: 3, sha256: sha256("abc") });
      expect(reportedChanges()).toEqual(kept ? [FOUND] : []);
    });

    it("preserves nothing for a missing file, and every file when there is no history to ask", async () => {
      const workspace = under.open((change) => changes.push(change));
      for (const path of ["none.txt", "no/such.txt"]) expect(await workspace.preserve(path)).toBeUndefined();
      for (let round = 0; round < 2; round += 1)
        expect(await workspace.preserve("a.txt")).toEqual({ bytes: 3, sha256: sha256("abc") });
      await workspace.append("a.txt", "d");
      expect(reportedChanges()).toEqual([FOUND, FOUND, "append a.txt 4: d"]);
      expect(changes[0]?.sha256).toBe(sha256("abc"));
    });

    it("relies on its own changes before the history has them", async () => {
      const workspace = openAgain();
      await workspace.write("a.txt", "one");
      await workspace.append("a.txt", "two");
      await workspace.preserve("a.txt");
      await workspace.remove("a.txt");
      await workspace.append("a.txt", "three");
      const sizes = changes.map(({ operation, bytes }) => `${operation} ${bytes}`);
      expect(sizes).toEqual(["write 3", "append 6", "found 6", "delete 0", "append 5"]);
    });

    it("reports the removal of a missing file only when it is asked to", async () => {
      const workspace = openAgain();
      expect(await workspace.remove("no/such.txt")).toBe(false);
      expect(await workspace.remove("./none.txt")).toBe(false);
      expect(reportedChanges()).toEqual([]);
      expect(await workspace.remove("./none.txt", { wasThere: true })).toBe(false);
      expect(await workspace.remove("no/./such.txt", { wasThere: true })).toBe(false);
      expect(await workspace.remove("a.txt", { wasThere: true })).toBe(true);
      const deleted = ["none.txt", "no/such.txt", "a.txt"].map((path) => `delete ${path} 0: nothing`);
      expect(reportedChanges()).toEqual(deleted);
      const refusal = { code: "GOALD_PATH_REFUSED" };
      await expect(workspace.remove("_goald/x", { wasThere: true })).rejects.toMatchObject(refusal);
      expect(changes).toHaveLength(3);
    });
  });
}

// Workspace contract: a folder that a callback fills.

export function placeContract(name: string, make: () => Promise<WorkspaceUnderTest>): void {
  describe(`${name} keeps the workspace contract: a folder that a callback fills`, () => {
    let under: WorkspaceUnderTest;
    let changes: FileChange[];
    let workspace: Workspace;
    beforeEach(async () => {
      under = await make();
      changes = [];
      workspace = under.open((change) => changes.push(change));
    });
    afterEach(() => under.close());

    const never = () => Promise.reject(new Error("it was filled"));
    async function fill(folder: string): Promise<string> {
      await mkdir(join(folder, "inner"));
      await writeFile(join(folder, "a.txt"), "abc");
      await writeFile(join(folder, "inner/b.txt"), "b");
      return "filled";
    }

    it("is placed with all its files, which are reported as one folder", async () => {
      expect(await workspace.place("work/new", fill)).toBe("filled");
      expect(await namesIn(workspace)).toEqual(["work/new/a.txt", "work/new/inner/b.txt"]);
      expect(new TextDecoder().decode(await workspace.read("work/new/a.txt"))).toBe("abc");
      expect(changes).toEqual([{ path: "work/new", operation: "place", bytes: 0, sha256: null, content: null }]);
    });

    it("is empty and not visible before it is placed", async () => {
      await workspace.place("new", async (folder) => {
        expect(await readdir(folder)).toEqual([]);
        await fill(folder);
        expect(await namesIn(workspace)).toEqual([]);
        await expect(workspace.read("new/a.txt")).rejects.toMatchObject({ code: "GOALD_FILE_MISSING" });
      });
      expect(await namesIn(workspace)).toHaveLength(2);
    });

    it("is discarded when the callback fails, and the failure is passed on unchanged", async () => {
      const failure = Object.assign(new Error("half way"), { code: "ENOENT" });
      const failing = async (folder: string) => {
        await fill(folder);
        throw failure;
      };
      await expect(workspace.place("new", failing)).rejects.toBe(failure);
      expect(await namesIn(workspace)).toEqual([]);
      expect(await workspace.stat("new")).toBeUndefined();
      expect(await workspace.place("new", fill)).toBe("filled");
    });

    it("is refused where a file or folder exists, before the callback runs", async () => {
      await workspace.write("file", "mine");
      await workspace.write("folder/file", "mine");
      for (const path of ["file", "folder", "folder/file"])
        await expect(workspace.place(path, never)).rejects.toMatchObject({ code: "GOALD_FILE" });
      expect(await namesIn(workspace)).toEqual(["file", "folder/file"]);
    });

    it("is refused where a file was created meanwhile", async () => {
      const tooLate = async (folder: string) => {
        await fill(folder);
        await workspace.write("new/mine.txt", "mine");
      };
      await expect(workspace.place("new", tooLate)).rejects.toMatchObject({ code: "GOALD_FILE" });
      expect(await namesIn(workspace)).toEqual(["new/mine.txt"]);
    });

    it.each(["../new", "/etc/new", "_goald/new", "CON", "a/../../new", "new\0", ""])(
      "is refused at %j",
      async (path) => {
        const refusal = { code: expect.stringMatching(/^GOALD_(PATH_REFUSED|FILE)$/) };
        await expect(workspace.place(path, never)).rejects.toMatchObject(refusal);
      },
    );
  });
}
