/** Workspace contract: a folder that a callback fills. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { FileChange } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { namesIn, type WorkspaceUnderTest } from "./workspace-builders.ts";

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
