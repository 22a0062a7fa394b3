import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, mkdir, open, readdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { GoaldError } from "#core/errors.ts";
import type { OpenWorkspace } from "#core/ports/workspace.ts";
import { toFileError, withFileErrors } from "#workspace/file-errors.ts";
import { findNewestFiles } from "#workspace/list-files.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { workspaceContract } from "../contracts/workspace.ts";
import { useFolder } from "../helpers/folder.ts";
import { type Files, MemoryWorkspace } from "../helpers/memory-workspace.ts";

const at = useFolder();
const asPort: OpenWorkspace = openLocalWorkspace;

// workspace.long.ts has a folder held by its real path.
workspaceContract("a local folder held by descriptor", async () => ({
  open: (onChange, own = false, lastVersion = undefined) => {
    const options = { staging: at("clones"), ...(lastVersion ? { lastVersion } : {}) };
    // The default is the best anchor.
    return own
      ? openLocalWorkspace(at("workspace", "foo"), onChange, { own, anchor: "descriptor", ...options })
      : asPort(at("workspace", "foo"), onChange, options);
  },
  close: async () => undefined,
}));

workspaceContract("the fake", async () => {
  const files: Files = new Map();
  return {
    open: (onChange, own = false, lastVersion = undefined) =>
      new MemoryWorkspace({ files, own, onChange, lastVersion }),
    close: async () => undefined,
  };
});

describe("a written file", () => {
  it("can be read by all and written by its owner, minus the umask", async () => {
    const workspace = openLocalWorkspace(at());
    await workspace.write("w.txt", "");
    await workspace.append("a.txt", "");
    const mask = process.umask();
    for (const name of ["w.txt", "a.txt"]) expect((await lstat(at(name))).mode & 0o777).toBe(0o644 & ~mask);
  });

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

  it("replaces a torn one: the next write removes leftovers and no other file", async () => {
    await writeFile(at(".goald-00112233445566aa.tmp"), "torn");
    await writeFile(at(".goald-notes.tmp"), "a person's");
    const workspace = openLocalWorkspace(at());
    await expect(workspace.read(".goald-00112233445566aa.tmp")).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    await workspace.write("a.txt", "whole");
    expect((await readdir(at())).sort()).toEqual([".goald-notes.tmp", "a.txt"]);
  });

  it("is complete after many concurrent writers", async () => {
    const workspace = openLocalWorkspace(at());
    const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(50_000));
    await Promise.all(texts.map((text) => workspace.write("a.txt", text)));
    expect(texts).toContain(await readFile(at("a.txt"), "utf8"));
    expect(await readdir(at())).toEqual(["a.txt"]);
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
    await big.truncate(65 * 1024 * 1024);
    const workspace = openLocalWorkspace(at());
    await expect(workspace.read("big.bin")).rejects.toMatchObject({ code: "GOALD_FILE_TOO_LARGE" });
    await expect(workspace.preserve("big.bin")).rejects.toMatchObject({ code: "GOALD_FILE_TOO_LARGE" });
    expect(await workspace.read("big.bin", { offset: 64 * 1024 * 1024, length: 3 })).toHaveLength(3);
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

async function put(path: string, minute = 0): Promise<void> {
  await mkdir(dirname(at(path)), { recursive: true });
  await writeFile(at(path), "abc");
  const time = new Date(Date.UTC(2026, 10, 20, 10, minute));
  await utimes(at(path), time, time);
}
const pathsIn = async (): Promise<string[]> => (await findNewestFiles(at())).newest.map(({ path }) => path);

describe("the newest files of a folder", () => {
  it("come newest first, from all folders, with size and time", async () => {
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

  it("are none in an empty folder, and in one that is missing", async () => {
    const none = { newest: [], others: 0, isPartial: false };
    expect(await findNewestFiles(at())).toEqual(none);
    expect(await findNewestFiles(at("later"))).toEqual(none);
  });

  it("are looked for among 200 entries, however many there are", async () => {
    await Promise.all(Array.from({ length: 1000 }, (_, index) => put(`f${index}.txt`)));
    expect(await findNewestFiles(at())).toMatchObject({ newest: { length: 8 }, others: 192, isPartial: true });
  });
});

describe("a writer that is killed with kill -9", () => {
  it("leaves the whole old or new file, and no leftover that is listed", async () => {
    for (const delayMs of [0, 1, 3, 7, 12]) {
      const program = join(import.meta.dirname, "write.child.ts");
      const child = spawn(process.execPath, [program, at()], { stdio: ["ignore", "pipe", "inherit"] });
      const over = once(child, "exit");
      await once(child.stdout, "data");
      await sleep(delayMs);
      child.kill("SIGKILL");
      await over;
      const text = await readFile(at("a.txt"), "utf8");
      expect(text === text.charAt(0).repeat(4 * 1024 * 1024)).toBe(true);
      const names = (await Array.fromAsync(openLocalWorkspace(at()).list(""))).map((file) => file.path);
      expect(names).toEqual(["a.txt"]);
    }
    await writeFile(at(".goald-0011.tmp"), "certainly left");
    await openLocalWorkspace(at()).write("b.txt", "");
    expect((await readdir(at())).sort()).toEqual(["a.txt", "b.txt"]);
  });

  it("may leave an unfinished folder, which is never listed and is removed without following its links", async () => {
    const outside = at("..", "outside");
    await mkdir(outside);
    await writeFile(join(outside, "mine.txt"), "mine");
    await mkdir(at(".goald-0022.tmp/deep"), { recursive: true });
    await writeFile(at(".goald-0022.tmp/deep/a.txt"), "a");
    await symlink(outside, at(".goald-0022.tmp/link"));
    const workspace = openLocalWorkspace(at());
    expect(await Array.fromAsync(workspace.list(""))).toEqual([]);
    await workspace.write("new", "");
    expect(await readdir(at())).toEqual(["new"]);
    expect(await readFile(join(outside, "mine.txt"), "utf8")).toBe("mine");
  });
});
