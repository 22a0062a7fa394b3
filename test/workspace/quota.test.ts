import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it } from "@jest/globals";
import type { FileChange } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { createFolderQuota, type FolderLimits, readFolderUsage } from "#workspace/folder-quota.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { useFolder } from "../helpers/folder.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const at = useFolder();
let home: string;
let folder: string;
let changes: FileChange[];
beforeEach(() => {
  home = at();
  folder = at("foo");
  changes = [];
});

const KB = 1024;
const text = (kilobytes: number): string => "x".repeat(kilobytes * KB);
function openWith(limits: Partial<FolderLimits>, inside = ""): Workspace {
  const all = { bytes: 1024 * KB, files: 1_000, pageBytes: 1024 * KB, ...limits };
  const quota = createFolderQuota(folder, inside, all);
  const staging = join(home, "staging");
  return openLocalWorkspace(join(folder, inside), (change) => changes.push(change), { quota, staging });
}
const put = (path: string, content: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
};
const EXCEEDED = { code: "GOALD_QUOTA_EXCEEDED" };
const exceeded = (words: string) => ({ ...EXCEEDED, message: expect.stringContaining(words) });

describe("the quota of a folder", () => {
  it("refuses a write before it is made, names the setting, and admits it once something is deleted", async () => {
    const workspace = openWith({ bytes: 100 * KB });
    await workspace.write("a", text(60));
    const refusal = { ...exceeded("quota.megabytes"), hint: expect.stringContaining("delete_file") };
    await expect(workspace.write("b", text(60))).rejects.toMatchObject(refusal);
    expect(readdirSync(folder)).toEqual(["a"]);
    await workspace.write("a", text(80));
    await expect(workspace.append("a", text(40))).rejects.toMatchObject(EXCEEDED);
    await workspace.remove("a");
    await workspace.write("b", text(60));
    expect(await readFolderUsage(folder)).toEqual({ bytes: 60 * KB, files: 1, pageBytes: 0 });
  });

  it("counts files, and pages by themselves", async () => {
    const workspace = openWith({ files: 3, pageBytes: 10 * KB });
    await workspace.write("pages/a.md", text(8));
    const tenth = exceeded("a tenth of quota.megabytes");
    await expect(workspace.write("pages/b.md", text(8))).rejects.toMatchObject(tenth);
    await workspace.write("b.md", text(8));
    await workspace.write("c.md", "");
    await workspace.write("c.md", "x");
    await expect(workspace.write("d.md", "")).rejects.toMatchObject(exceeded("3 of 3 files"));
  });

  it("is shared by an agent and its sub-agents", async () => {
    await openWith({ bytes: 100 * KB }, "agents/foo-bar/").write("a", text(60));
    await expect(openWith({ bytes: 100 * KB }).write("b", text(60))).rejects.toMatchObject(EXCEEDED);
    await expect(openWith({ bytes: 100 * KB }, "agents/foo-baz/").write("b", text(60))).rejects.toMatchObject(EXCEEDED);
  });

  it("holds for a placed folder, of which nothing stays", async () => {
    const workspace = openWith({ bytes: 100 * KB });
    const fill = (kilobytes: number) => async (inside: string) => writeFileSync(join(inside, "a"), text(kilobytes));
    await expect(workspace.place("clone", fill(200))).rejects.toMatchObject(EXCEEDED);
    expect(readdirSync(folder)).toEqual([]);
    await workspace.place("clone", fill(90));
    await expect(workspace.write("b", text(20))).rejects.toMatchObject(EXCEEDED);
  });

  it("counts the folder once, and again before it refuses", async () => {
    const workspace = openWith({ bytes: 100 * KB });
    await workspace.write("a", text(10));
    put("person", text(85));
    await workspace.write("b", text(10));
    expect((await readFolderUsage(folder)).bytes).toBe(20 * KB);
    // The folder is counted again after ten times the time that the last count took.
    await waitUntil("the person's file is counted", async () => {
      await expect(workspace.write("c", text(90))).rejects.toMatchObject(EXCEEDED);
      return (await readFolderUsage(folder)).bytes === 105 * KB;
    });
    rmSync(join(folder, "person"));
    const isWritten = () => workspace.write("c", text(80)).then(() => true);
    await waitUntil("the deletion is noticed", () => isWritten().catch(() => false));
  });

  it("holds for writes at once, and a failed write takes nothing", async () => {
    const workspace = openWith({ bytes: 100 * KB });
    const ends = await Promise.allSettled(["a", "b", "c", "d"].map((path) => workspace.write(path, text(40))));
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
    await expect(workspace.write("HEAD/x/../../a/b", text(1))).rejects.toMatchObject({ code: "GOALD_FILE" });
    expect((await readFolderUsage(folder)).bytes).toBe(80 * KB);
  });
});

describe("the quota of the history", () => {
  it("counts what is stored and what one call adds, and leaves known files deletable", async () => {
    const all = { bytes: 1e9, files: 1e6, pageBytes: 1e9 };
    const quota = createFolderQuota(folder, "", all, { bytes: 100 * KB, storedBytes: async () => 50 * KB });
    const workspace = openLocalWorkspace(folder, (change) => changes.push(change), {
      quota,
      lastVersion: async () => undefined,
    });
    await workspace.write("a", text(30));
    const twice = exceeded("quota.megabytes allows twice");
    await expect(workspace.append("a", text(30))).rejects.toMatchObject(twice);
    put("person", text(30));
    await expect(workspace.preserve("person")).rejects.toMatchObject(EXCEEDED);
    await expect(workspace.preserve("a")).resolves.toMatchObject({ bytes: 30 * KB });
    await expect(workspace.remove("a")).resolves.toBe(true);
    await expect(workspace.removeWhole("person")).resolves.toMatchObject({ files: 1 });
  });
});

describe("deleting as a whole", () => {
  it("deletes a folder at any depth, with the repository in it, and reports the files that the history knows", async () => {
    const deep = `clone/${"a/".repeat(300)}x`;
    put(deep, "x");
    put("clone/.git/config", "[core]");
    put("outside-of-it", "stays");
    symlinkSync(join(folder, "outside-of-it"), join(folder, "clone/link"));
    symlinkSync(home, join(folder, "clone/folder-link"));
    const quota = createFolderQuota(folder, "", { bytes: 1e9, files: 1e6, pageBytes: 1e9 });
    const lastVersion = async (path: string) =>
      path === "clone/mine" ? ({ operation: "write", bytes: 1, sha256: "a" } as const) : undefined;
    const workspace = openLocalWorkspace(folder, (change) => changes.push(change), { quota, lastVersion });
    put("clone/mine", "m");
    await workspace.write("note", "");
    changes = [];
    expect(await workspace.removeWhole("clone")).toMatchObject({ files: 5 });
    expect(readdirSync(folder).sort()).toEqual(["note", "outside-of-it"]);
    expect(existsSync(home)).toBe(true);
    expect(changes).toEqual([{ path: "clone/mine", operation: "delete", bytes: 0, sha256: null, content: null }]);
    expect((await readFolderUsage(folder)).files).toBe(2);
    expect(await workspace.removeWhole("clone")).toBeUndefined();
  });

  it.each(["clone/.git", "clone/.git/config", "_goald", "agents", "agents/foo-bar", "", ".", "../foo"])(
    "refuses %j",
    async (path) => {
      for (const file of ["clone/.git/config", "_goald/report.md", "agents/foo-bar/x"]) put(file, "x");
      const refusal = { code: expect.stringMatching(/REFUSED|GOALD_FILE/) };
      await expect(openWith({}).removeWhole(path)).rejects.toMatchObject(refusal);
      expect(readdirSync(folder).sort()).toEqual(["_goald", "agents", "clone"]);
    },
  );
});

const child = join(import.meta.dirname, "full-disk.child.ts");
const run = promisify(execFile);

async function withFileLimit(blocks: string, anchor: string): Promise<Record<string, unknown>> {
  const script = `ulimit -f ${blocks}; exec "$0" "$@"`;
  const { stdout } = await run("sh", ["-c", script, process.execPath, child, at(), anchor]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe("a full disk", () => {
  const allOf = (code: string) =>
    Object.fromEntries(["write over", "write new", "append", "append new"].map((change) => [change, code]));

  it.each(["descriptor", "real-path"])("fails each change and leaves all files unchanged (%s)", async (anchor) => {
    const left = { content: "as it was", names: ["old.txt"], changes: ["write old.txt"] };
    expect(await withFileLimit("64", anchor)).toEqual({ codes: allOf("GOALD_STORE_FULL"), ...left });
  });

  it("has room for all four operations without the limit (control)", async () => {
    expect(await withFileLimit("unlimited", "descriptor")).toMatchObject({ codes: allOf("ok") });
  });
});
