import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { chmod, link, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Workspace } from "#core/ports/workspace.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { type Anchor, useAnchor } from "#workspace/resolve-path.ts";
import { useFolder } from "../helpers/folder.ts";

const at = useFolder();
let home: string;
let folder: string;
let workspace: Workspace;
beforeEach(async () => {
  home = at();
  folder = join(home, "workspace/foo");
  await mkdir(folder, { recursive: true });
  await writeFile(join(home, "secret"), "secret");
  workspace = openLocalWorkspace(folder, undefined, { staging: join(home, "clones") });
});

const open = (staging = join(home, "clones")) => openLocalWorkspace(folder, undefined, { staging });
afterEach(() => useAnchor("descriptor"));
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
      (target) => mkdir(join(target, "b")).then(() => symlink("..", `${target}/b/up`)),
    ],
    ["a link for the folder itself", (target) => rm(target, { recursive: true }).then(() => symlink(home, target))],
    ["a hard link", (target) => link(join(home, "secret"), join(target, "a"))],
    ["a pipe", async (target) => execFileSync("mkfifo", [join(target, "pipe")])],
    ["a name that is not text", (target) => writeFile(Buffer.from(`${target}/\xff`, "latin1"), "x")],
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
      useAnchor(anchor);
      const placing = open().place("new", plant);
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
        useAnchor(anchor);
        await open(other).place("deep/new", async (target) => {
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

// git takes a folder with HEAD, objects and refs for a repository, and runs programs that its `config` names.
const REFUSED = { code: "GOALD_PATH_REFUSED" };
function git(...args: readonly string[]) {
  const env = { PATH: process.env.PATH, HOME: home, GIT_CEILING_DIRECTORIES: home };
  return spawnSync("git", args, { encoding: "utf8", env });
}

/** The program that the planted setting names leaves this file. */
const proof = (): string => join(home, "ran");
const planted = (): Readonly<Record<string, string>> => ({
  HEAD: "ref: refs/heads/main\n",
  config: `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ${proof()}; false"\n`,
  "objects/x": "",
  "refs/heads/x": "",
});
/** Everything that a person may call without meaning to run the folder's code. */
function callGit(path: string): void {
  for (const args of [["status"], ["status", "-s"], ["diff"], ["log"], ["add", "-n", "."], ["rev-parse", "--git-dir"]])
    git("-C", join(folder, path), ...args);
}

function* permute<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length < 2) yield items;
  for (const [index, item] of items.entries())
    for (const rest of permute(items.toSpliced(index, 1))) yield [item, ...rest];
}

describe("a folder that git would take for a repository", () => {
  it("runs the program of its settings, where nothing refuses it (control)", () => {
    for (const [name, text] of Object.entries(planted())) {
      mkdirSync(dirname(join(folder, "proj", name)), { recursive: true });
      writeFileSync(join(folder, "proj", name), text);
    }
    callGit("proj");
    expect(existsSync(proof())).toBe(true);
  });

  it.each(["write", "append", "move"] as const)(
    "is not completed by %s in any order, and git runs nothing",
    async (kind) => {
      await workspace.write("plain", "");
      const orders = [...permute(Object.entries(planted()))];
      for (const [index, order] of orders.entries()) {
        let refused = 0;
        for (const [name, text] of order) {
          const path = `p${index}/${name}`;
          try {
            if (kind === "write") await workspace.write(path, text);
            else if (kind === "append") await workspace.append(path, text);
            else {
              await workspace.write(`from${index}${refused}`, text);
              await workspace.move(`from${index}${refused}`, path);
            }
          } catch (error) {
            expect(error).toMatchObject({ ...REFUSED, message: expect.stringContaining("takes for a repository") });
            refused++;
          }
        }
        expect(refused).toBe(1);
      }
      callGit("p0");
      callGit(`p${orders.length - 1}/refs`);
      expect(existsSync(proof())).toBe(false);
    },
  );

  it("is not completed in the agent's folder itself, in a sub-agent's, by a placed folder or by writes at once", async () => {
    for (const root of ["", "agents/foo-bar/", "a/b/"]) {
      await workspace.write(`${root}HEAD`, "ref: refs/heads/main\n");
      await workspace.write(`${root}refs/heads/x`, "");
      await expect(workspace.write(`${root}objects/x`, "")).rejects.toMatchObject(REFUSED);
      await expect(workspace.place(`${root}objects`, async () => undefined)).rejects.toMatchObject(REFUSED);
      expect(git("-C", join(folder, root), "rev-parse", "--git-dir").status).toBe(128);
    }
    const writes = ["once/HEAD", "once/objects/x", "once/refs/x"].map((path) => workspace.write(path, "ref: refs/x"));
    const ends = await Promise.allSettled(writes);
    expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(1);
  });

  it.each([
    ["HEAD", "commondir"],
    ["commondir", "HEAD"],
    ["head", "Objects/x", "REFS/x"],
    ["refs/x", "objects", "He\u200bad"],
    ["ｒｅｆｓ/x", "objects/x", "HEAD"],
  ])("is refused in other forms and spellings: %j", async (...names) => {
    const last = names.pop() as string;
    for (const name of names) await workspace.write(`proj/${name}`, "../../elsewhere");
    await expect(workspace.write(`proj/${last}`, "x")).rejects.toMatchObject(REFUSED);
  });

  it.each([
    [["HEAD", "config", "hooks/x", "refs/x"]],
    [["HEAD", "objects/x", "deep/refs/x"]],
    [["objects/x", "refs/x", "config", "packed-refs"]],
    [["commondir", "gitdir", "refs/x"]],
  ])("is told from folders with some of its names: %j", async (names) => {
    for (const name of names) await workspace.write(`notes/${name}`, "x");
  });

  it("is closed when a person made it, and can be read", async () => {
    expect(git("init", "--bare", join(folder, "mine.git")).status).toBe(0);
    for (const path of ["mine.git/hooks/post-checkout", "mine.git/config", "mine.git/refs/heads/x"]) {
      await expect(workspace.write(path, "x")).rejects.toMatchObject(REFUSED);
      await expect(workspace.append(path, "x")).rejects.toMatchObject(REFUSED);
    }
    await expect(workspace.remove("mine.git/HEAD")).rejects.toMatchObject(REFUSED);
    expect((await workspace.read("mine.git/HEAD")).length).toBeGreaterThan(0);
  });
});

describe("any sequence of writes and moves", () => {
  const names = ["HEAD", "head", "config", "objects", "refs", "Refs", "commondir", ".git", "a"];
  const path = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
  const change = fc.record({ kind: fc.constantFrom("write", "append", "move", "remove"), path, to: path });

  it("never makes a folder that git answers to as its repository", async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 10, maxLength: 40 }), async (changes) => {
        const root = join(home, `run${run++}`);
        const its = openLocalWorkspace(root);
        const folders = new Set([""]);
        for (const { kind, path: at, to } of changes) {
          const text = "ref: refs/heads/main\n";
          if (kind === "write") await its.write(at, text).catch(() => undefined);
          else if (kind === "append") await its.append(at, text).catch(() => undefined);
          else if (kind === "move") await its.move(at, to).catch(() => undefined);
          else await its.remove(at).catch(() => undefined);
          for (const made of [at, to]) for (let up = dirname(made); up !== "."; up = dirname(up)) folders.add(up);
        }
        for (const made of folders) {
          if (!existsSync(join(root, made, "HEAD")) && !existsSync(join(root, made, ".git"))) continue;
          expect(git("-C", join(root, made), "rev-parse", "--git-dir")).toMatchObject({ status: 128 });
        }
      }),
      { numRuns: 20 },
    );
  });

  it("would make one, if a plain file system took it (control)", () => {
    for (const name of ["objects", "refs"]) mkdirSync(join(home, "made", name), { recursive: true });
    writeFileSync(join(home, "made/HEAD"), "ref: refs/heads/main\n");
    cpSync(join(home, "made"), join(folder, "made"), { recursive: true });
    expect(git("-C", join(folder, "made"), "rev-parse", "--git-dir").stdout).toBe(".\n");
  });
});
