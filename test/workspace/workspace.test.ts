import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { chmod, lstat, mkdir, open, readdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { GoaldError } from "#core/errors.ts";
import type { FileChange } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { toFileError, withFileErrors } from "#workspace/file-errors.ts";
import { createFolderQuota, type FolderLimits, readFolderUsage } from "#workspace/folder-quota.ts";
import { findNewestFiles } from "#workspace/list-files.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { useAnchor } from "#workspace/resolve-path.ts";
import { namesIn, workspaceContract } from "../contracts/workspace.ts";
import { useFolder } from "../helpers/folder.ts";
import { type Files, MemoryWorkspace } from "../helpers/memory-workspace.ts";
import { waitUntil } from "../helpers/waits.ts";

const at = useFolder();

for (const anchor of ["descriptor", "real-path"] as const)
  workspaceContract(`a local folder held by ${anchor}`, async () => {
    useAnchor(anchor);
    return {
      open: (onChange, own = false, lastVersion = undefined) => {
        const options = { own, staging: at("clones"), ...(lastVersion ? { lastVersion } : {}) };
        return openLocalWorkspace(at("workspace", "foo"), onChange, options);
      },
      close: async () => useAnchor("descriptor"),
    };
  });

workspaceContract("the fake", async () => {
  const files: Files = new Map();
  return {
    open: (onChange, own = false, lastVersion = undefined) =>
      new MemoryWorkspace({ files, own, onChange, lastVersion }),
    close: async () => undefined,
  };
});

describe("a written file", () => {
  it.each([0o600, 0o755, 0o444, 0o640])("keeps the mode of the replaced file: %o", async (mode) => {
    const workspace = openLocalWorkspace(at());
    await writeFile(at("a.txt"), "old");
    await chmod(at("a.txt"), mode);
    await workspace.write("a.txt", "new");
    expect([(await lstat(at("a.txt"))).mode & 0o7777, await readFile(at("a.txt"), "utf8")]).toEqual([mode, "new"]);
  });

  it("is readable by its owner only until it is complete, and never gets setuid", async () => {
    const workspace = openLocalWorkspace(at());
    await writeFile(at("a.txt"), "old");
    await chmod(at("a.txt"), 0o4755);
    const modes = new Set<number>();
    let writing = true;
    const watching = (async () => {
      while (writing)
        for (const name of await readdir(at()))
          if (name.startsWith(".goald-")) {
            const stats = await lstat(at(name)).catch(() => undefined);
            if (stats && stats.size > 0) modes.add(stats.mode & 0o7777);
          }
    })();
    for (const name of ["a.txt", "b.txt"]) await workspace.write(name, "x".repeat(32 * 1024 * 1024));
    writing = false;
    await watching;
    expect((await lstat(at("a.txt"))).mode & 0o7777).toBe(0o755);
    // The time between its final mode and its rename may be observed too.
    expect(modes).toContain(0o600);
    for (const mode of modes) expect([0o600, 0o755, 0o644 & ~process.umask()]).toContain(mode);
  });

  it.each(["old.txt", "new.txt"])(
    "is synced whole before it gets its name, and its folder after that: %s",
    async (name) => {
      await writeFile(at("old.txt"), "old");
      const child = join(import.meta.dirname, "write-order.child.ts");
      const lines = execFileSync(process.execPath, [child, at(), name], { encoding: "utf8" }).trim().split("\n");
      const [{ ino }, { ino: ofFolder }] = await Promise.all([lstat(at(name)), lstat(at())]);
      expect(lines.map((line) => JSON.parse(line))).toEqual([
        { call: "sync", ino, size: 1024 * 1024 },
        { call: "rename", ino, to: name },
        { call: "sync", ino: ofFolder, size: null },
      ]);
      expect((await readFile(at(name), "utf8")).length).toBe(1024 * 1024);
    },
  );

  it("is in folders that other users cannot write to", async () => {
    const earlier = process.umask(0);
    try {
      const workspace = openLocalWorkspace(at("new/root"));
      await workspace.write("deep/a.txt", "");
      await workspace.append("b.txt", "");
      const made = await Promise.all(["", "deep", "deep/a.txt", "b.txt"].map((path) => lstat(at("new/root", path))));
      expect(made.map(({ mode }) => mode & 0o777)).toEqual([0o755, 0o755, 0o644, 0o644]);
    } finally {
      process.umask(earlier);
    }
  });

  it("uses bounded memory per folder: an old folder is swept again", async () => {
    const workspace = openLocalWorkspace(at());
    await workspace.write("first/a.txt", "");
    await writeFile(at("first/.goald-00112233445566aa.tmp"), "torn");
    await workspace.write("first/a.txt", "");
    expect(await readdir(at("first"))).toHaveLength(2);
    for (let number = 0; number < 300; number += 1) await workspace.write(`f${number}/a.txt`, "");
    const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(200_000));
    await Promise.all(texts.map((text, index) => workspace.write(`first/${index % 3}.txt`, text)));
    expect((await readdir(at("first"))).sort()).toEqual(["0.txt", "1.txt", "2.txt", "a.txt"]);
  });

  it("is refused with a GoaldError when the system does not permit it", async () => {
    await mkdir(at("locked"));
    await writeFile(at("locked/a.txt"), "old");
    await chmod(at("locked"), 0o500);
    const write = openLocalWorkspace(at()).write("locked/a.txt", "new");
    const outcome = await write.then(() => "written").catch((error: { code: string }) => error.code);
    await chmod(at("locked"), 0o700);
    // A superuser has every permission.
    expect(outcome).toBe(process.getuid?.() === 0 ? "written" : "GOALD_FILE");
  });

  it("too large for memory is read in parts only", async () => {
    await using big = await open(at("big.bin"), "w");
    const most = 64 * 1024 * 1024;
    await big.truncate(most + 1);
    const workspace = openLocalWorkspace(at());
    await expect(workspace.read("big.bin")).rejects.toMatchObject({ code: "GOALD_FILE_TOO_LARGE" });
    await expect(workspace.preserve("big.bin")).rejects.toMatchObject({ code: "GOALD_FILE_TOO_LARGE" });
    expect(await workspace.read("big.bin", { offset: 1, length: most })).toHaveLength(most);
    expect(await workspace.read("big.bin", { offset: most, length: 3 })).toHaveLength(1);
  });
});

const systemError = (code: string): Error =>
  Object.assign(new Error(`${code}: open '/home/somebody/x'`), { code, path: "/home/somebody/x" });

describe("toFileError", () => {
  const codes: Readonly<Record<string, readonly string[]>> = {
    GOALD_FILE_MISSING: ["ENOENT"],
    GOALD_STORE_FULL: ["ENOSPC", "EDQUOT", "EFBIG"],
    GOALD_PATH_REFUSED: ["ENAMETOOLONG", "ELOOP"],
    GOALD_FILE: ["ENOTDIR", "EISDIR", "EACCES", "EROFS", "EIO"],
  };
  it.each(Object.entries(codes).flatMap(([expected, all]) => all.map((code) => [code, expected] as const)))(
    "turns %s into %s, naming the requested path and no other",
    (code, expected) => {
      const error = toFileError(systemError(code), "notes/a.txt");
      expect(error).toMatchObject({ code: expected, hint: expect.stringMatching(/\S/) });
      expect(error.message).toContain('"notes/a.txt"');
      expect(error.message + error.hint).not.toContain("/home/somebody");
    },
  );

  it("keeps a GoaldError", async () => {
    const ours = new GoaldError("GOALD_FILE_TOO_LARGE", "Too large.");
    await expect(withFileErrors("a.txt", () => Promise.reject(ours))).rejects.toBe(ours);
  });

  it("writes out invisible characters and cuts long paths", () => {
    const { message } = toFileError(systemError("EIO"), `a\u001b[2J\u202e${"b".repeat(5000)}`);
    expect(message).toContain("a\\u{1b}[2J\\u{202e}b");
    expect(message.length).toBeLessThan(300);
  });
});
const pathsIn = async (): Promise<string[]> => (await findNewestFiles(at())).newest.map(({ path }) => path);

describe("the newest files of a folder", () => {
  async function put(path: string, minute = 0): Promise<void> {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), "abc");
    const time = new Date(Date.UTC(2026, 10, 20, 10, minute));
    await utimes(at(path), time, time);
  }

  it("come newest first, from all folders, with size and time, and none from an empty or missing folder", async () => {
    for (const folder of [at(), at("later")])
      expect(await findNewestFiles(folder)).toEqual({ newest: [], others: 0, isPartial: false });
    await put("a.txt", 1);
    await put("deep/er/b.txt", 3);
    await put("c.txt", 2);
    const fileOf = (path: string, minute: number) => ({
      path,
      bytes: 3,
      modifiedAt: `2026-11-20T10:0${minute}:00.000Z`,
    });
    const newest = [fileOf("deep/er/b.txt", 3), fileOf("c.txt", 2), fileOf("a.txt", 1)];
    expect(await findNewestFiles(at())).toEqual({ newest, others: 0, isPartial: false });
  });

  it("are at most eight; the others are counted", async () => {
    for (let minute = 0; minute < 12; minute += 1) await put(`f${minute}.txt`, minute);
    expect(await findNewestFiles(at())).toMatchObject({ newest: { length: 8 }, others: 4, isPartial: false });
  });

  it("leave out hidden files, goald's own, those of sub-agents, and links", async () => {
    for (const path of [".env", ".git/config", "_goald/report.md", "agents/foo-ann/b.txt", "a.txt"]) await put(path);
    await symlink("/etc", at("link"));
    await symlink("/etc/passwd", at("passwd"));
    expect(await pathsIn()).toEqual(["a.txt"]);
  });

  it("are looked for among 200 entries, however many there are", async () => {
    await Promise.all(Array.from({ length: 1000 }, (_, index) => put(`f${index}.txt`)));
    expect(await findNewestFiles(at())).toMatchObject({ newest: { length: 8 }, others: 192, isPartial: true });
  });
});

describe("a writer that is killed with kill -9", () => {
  it("leaves the whole old or new file, and no leftover that is listed", async () => {
    const program = `
      import { openLocalWorkspace } from "#workspace/local-workspace.ts";
      const workspace = openLocalWorkspace(${JSON.stringify(at())});
      for (let round = 0; ; round += 1) {
        await workspace.write("a.txt", String(round % 10).repeat(4 * 1024 * 1024));
        console.log("written");
      }`;
    const args = ["--input-type=module", "-e", program];
    for (const delayMs of [0, 1, 3, 7, 12]) {
      const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
      const over = once(child, "exit");
      await once(child.stdout, "data");
      await sleep(delayMs);
      child.kill("SIGKILL");
      await over;
      const text = await readFile(at("a.txt"), "utf8");
      expect(text === text.charAt(0).repeat(4 * 1024 * 1024)).toBe(true);
      expect(await namesIn(openLocalWorkspace(at()))).toEqual(["a.txt"]);
    }
  });

  it("may leave unfinished files and folders, which are never listed, and go without what they link to", async () => {
    const outside = at("..", "outside");
    await mkdir(outside);
    await writeFile(join(outside, "mine.txt"), "mine");
    await mkdir(at(".goald-0022.tmp/deep"), { recursive: true });
    await writeFile(at(".goald-0022.tmp/deep/a.txt"), "a");
    await symlink(outside, at(".goald-0022.tmp/link"));
    await writeFile(at(".goald-00112233445566aa.tmp"), "torn");
    await writeFile(at(".goald-notes.tmp"), "a person's");
    const workspace = openLocalWorkspace(at());
    await expect(workspace.read(".goald-00112233445566aa.tmp")).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(await namesIn(workspace)).toEqual([".goald-notes.tmp"]);
    await workspace.write("new", "");
    expect((await readdir(at())).sort()).toEqual([".goald-notes.tmp", "new"]);
    expect(await readFile(join(outside, "mine.txt"), "utf8")).toBe("mine");
  });
});

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
  const ALL = { bytes: 1e9, files: 1e6, pageBytes: 1e9 };

  it("counts what is stored and what one call adds, and leaves known files deletable", async () => {
    const quota = createFolderQuota(folder, "", ALL, { bytes: 100 * KB, storedBytes: async () => 50 * KB });
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

  it("refuses nothing that adds no bytes, also when the history is over its limit", async () => {
    const quota = createFolderQuota(folder, "", ALL, { bytes: 10 * KB, storedBytes: async () => 50 * KB });
    await expect(quota.requireHistory("a", 0)).resolves.toBeUndefined();
    await expect(quota.requireHistory("a", 1)).rejects.toMatchObject(EXCEEDED);
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
