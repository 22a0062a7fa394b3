import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, link, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import type { Anchor } from "#workspace/resolve-path.ts";

let home: string;
let folder: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "goald-place-"));
  folder = join(home, "workspace/foo");
  await mkdir(folder, { recursive: true });
  await writeFile(join(home, "secret"), "secret");
});
afterEach(() => rm(home, { recursive: true }));

const open = (staging = join(home, "clones"), anchor?: Anchor) =>
  openLocalWorkspace(folder, undefined, { staging, ...(anchor ? { anchor } : {}) });
async function fillWith(target: string, files: readonly string[]): Promise<void> {
  for (const file of files) {
    await mkdir(join(target, dirname(file)), { recursive: true });
    await writeFile(join(target, file), "x");
  }
}

describe("a folder that others fill", () => {
  it("is outside the workspace, and only this user may enter it", async () => {
    await open().place("new", async (target) => {
      expect(target.startsWith(`${folder}/`)).toBe(false);
      expect((await stat(dirname(target))).mode & 0o777).toBe(0o700);
      expect(await readdir(folder)).toEqual([]);
    });
    expect((await stat(join(folder, "new"))).mode & 0o700).toBe(0o700);
    expect(await readdir(join(home, "clones"))).toEqual([]);
  });

  it("is left by a crash at most, until the next one", async () => {
    await fillWith(join(home, "clones/new-crash/folder"), ["half/a"]);
    await open().place("new", (target) => fillWith(target, ["a"]));
    expect(await readdir(join(home, "clones"))).toEqual([]);
  });

  it.each<[what: string, plant: (target: string) => Promise<unknown>]>([
    ["a link to a file", (target) => symlink(join(home, "secret"), join(target, "a"))],
    [
      "a link to a folder, in a folder",
      async (target) => {
        await mkdir(join(target, "b"));
        await symlink("..", join(target, "b/up"));
      },
    ],
    [
      "a link for the folder itself",
      async (target) => {
        await rm(target, { recursive: true });
        await symlink(home, target);
      },
    ],
    ["a hard link", (target) => link(join(home, "secret"), join(target, "a"))],
    ["a pipe", async (target) => execFileSync("mkfifo", [join(target, "pipe")])],
    [
      "a name that is not text",
      (target) => writeFile(Buffer.concat([Buffer.from(`${target}/`), Buffer.of(0xff)]), "x"),
    ],
    ["a second `.git`", (target) => fillWith(target, ["sub/.git/config"])],
    ["a `.git` in disguise", (target) => fillWith(target, ["sub/.g\u200cIT/config"])],
    ["a `.git` that names another folder", (target) => fillWith(target, ["sub/.git"])],
    ["a repository without that name", (target) => fillWith(target, ["p/HEAD", "p/config", "p/objects/x", "p/refs/x"])],
    ["the same in other letters", (target) => fillWith(target, ["p/head", "p/Objects/x", "p/REFS/x"])],
    ["the same with its objects elsewhere", (target) => fillWith(target, ["p/HEAD", "p/commondir"])],
    ["a repository at the top", (target) => fillWith(target, ["HEAD", "objects/x", "refs/x", ".git/HEAD"])],
    ["an unfinished write", (target) => fillWith(target, [".goald-0123.tmp/a"])],
  ])("is refused with %s, and leaves nothing", async (_what, plant) => {
    for (const anchor of ["descriptor", "real-path"] satisfies Anchor[]) {
      const placing = open(undefined, anchor).place("new", plant);
      await expect(placing).rejects.toMatchObject({ code: expect.stringMatching(/^GOALD_(PATH_REFUSED|FILE)$/) });
      expect(await readdir(folder)).toEqual([]);
      expect(await readdir(join(home, "clones"))).toEqual([]);
    }
    expect(await readFile(join(home, "secret"), "utf8")).toBe("secret");
  });

  it("may have a repository of its own at the top", async () => {
    await open().place("new", (target) => fillWith(target, [".git/HEAD", ".git/objects/x", ".git/refs/x", "a"]));
    expect(existsSync(join(folder, "new/.git/HEAD"))).toBe(true);
  });

  it.each<Anchor>(["descriptor", "real-path"])(
    "is copied from another file system, with modes (%s)",
    async (anchor) => {
      // Another file system on Linux. Elsewhere this test moves a folder.
      const other = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : home, "goald-place-"));
      const big = new Uint8Array(2_500_000).map((_, at) => at % 251);
      try {
        await open(other, anchor).place("deep/new", async (target) => {
          await fillWith(target, ["a", "b/c/d", ".git/HEAD", ".git/objects/x", ".git/refs/x"]);
          await writeFile(join(target, "b/big"), big);
          await chmod(join(target, "b/big"), 0o555);
        });
        const copied = (await readdir(join(folder, "deep/new"), { recursive: true })).sort();
        expect(copied.filter((name) => !name.startsWith(".git"))).toEqual(["a", "b", "b/big", "b/c", "b/c/d"]);
        expect(copied).toContain(".git/objects/x");
        expect(Buffer.compare(await readFile(join(folder, "deep/new/b/big")), big)).toBe(0);
        expect((await lstat(join(folder, "deep/new/b/big"))).mode & 0o777).toBe(0o555);
        expect(await readdir(other)).toEqual([]);
      } finally {
        await rm(other, { recursive: true });
      }
    },
  );
});
