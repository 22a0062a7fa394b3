import { execFileSync } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-written-"));
});
afterEach(() => rm(folder, { recursive: true }));

const at = (path: string): string => join(folder, path);

describe("a written file", () => {
  it("can be read by all and written by its owner, minus the umask", async () => {
    const workspace = openLocalWorkspace(folder);
    await workspace.write("w.txt", "");
    await workspace.append("a.txt", "");
    const mask = process.umask();
    for (const name of ["w.txt", "a.txt"]) expect((await lstat(at(name))).mode & 0o777).toBe(0o644 & ~mask);
  });

  it.each([0o600, 0o755, 0o444, 0o640])("keeps the mode of the replaced file: %o", async (mode) => {
    const workspace = openLocalWorkspace(folder);
    await writeFile(at("a.txt"), "old");
    await chmod(at("a.txt"), mode);
    await workspace.write("a.txt", "new");
    expect([(await lstat(at("a.txt"))).mode & 0o7777, await readFile(at("a.txt"), "utf8")]).toEqual([mode, "new"]);
  });

  it("is readable by its owner only until it is complete, and never gets setuid", async () => {
    const workspace = openLocalWorkspace(folder);
    await writeFile(at("a.txt"), "old");
    await chmod(at("a.txt"), 0o4755);
    const modes = new Set<number>();
    let writing = true;
    const watching = (async () => {
      while (writing)
        for (const name of await readdir(folder))
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
      const lines = execFileSync(process.execPath, [child, folder, name], { encoding: "utf8" }).trim().split("\n");
      const [{ ino }, { ino: ofFolder }] = await Promise.all([lstat(at(name)), lstat(folder)]);
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
      const modes = ["new/root", "new/root/deep", "new/root/deep/a.txt", "new/root/b.txt"].map(
        async (path) => (await lstat(at(path))).mode & 0o777,
      );
      expect(await Promise.all(modes)).toEqual([0o755, 0o755, 0o644, 0o644]);
    } finally {
      process.umask(earlier);
    }
  });

  it("uses bounded memory per folder: an old folder is swept again", async () => {
    const workspace = openLocalWorkspace(folder);
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
    const workspace = openLocalWorkspace(folder);
    await expect(workspace.read(".goald-00112233445566aa.tmp")).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    await workspace.write("a.txt", "whole");
    expect((await readdir(folder)).sort()).toEqual([".goald-notes.tmp", "a.txt"]);
  });

  it("is complete after many concurrent writers", async () => {
    const workspace = openLocalWorkspace(folder);
    const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(50_000));
    await Promise.all(texts.map((text) => workspace.write("a.txt", text)));
    expect(texts).toContain(await readFile(at("a.txt"), "utf8"));
    expect(await readdir(folder)).toEqual(["a.txt"]);
  });

  it("is refused with a GoaldError when the system does not permit it", async () => {
    await mkdir(at("locked"));
    await writeFile(at("locked/a.txt"), "old");
    await chmod(at("locked"), 0o500);
    const write = openLocalWorkspace(folder).write("locked/a.txt", "new");
    const outcome = await write.then(
      () => "written",
      (error: { code: string }) => error.code,
    );
    await chmod(at("locked"), 0o700);
    // A superuser has every permission.
    expect(outcome).toBe(process.getuid?.() === 0 ? "written" : "GOALD_FILE");
  });

  it("too large for memory is read in parts only", async () => {
    await using big = await open(at("big.bin"), "w");
    await big.truncate(65 * 1024 * 1024);
    const workspace = openLocalWorkspace(folder);
    await expect(workspace.read("big.bin")).rejects.toMatchObject({ code: "GOALD_FILE_TOO_LARGE" });
    await expect(workspace.preserve("big.bin")).rejects.toMatchObject({ code: "GOALD_FILE_TOO_LARGE" });
    expect(await workspace.read("big.bin", { offset: 64 * 1024 * 1024, length: 3 })).toHaveLength(3);
  });
});
