import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import {
  appendFile,
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Workspace } from "#core/ports/workspace.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { type Anchor, openFile, openFolder, openPlace, useAnchor } from "#workspace/resolve-path.ts";
import { namesIn, operationsOn } from "../contracts/workspace.ts";
import { useFolder } from "../helpers/folder.ts";

const SECRET = "never to be read";
/** In memory where the system has such a folder, because fsync is free there. */
const fastest = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** The operations that the property uses on a resolver. */
interface Files {
  read(path: string): Promise<Uint8Array>;
  write(path: string, text: string): Promise<void>;
  append(path: string, text: string): Promise<unknown>;
  remove(path: string): Promise<unknown>;
}
type Operation = keyof Files;

const name = fc.constantFrom(..."a b foo foo-evil secret.txt out up chain file twin new.txt".split(" "));
const step = fc.oneof(
  { weight: 4, arbitrary: name },
  { weight: 3, arbitrary: fc.constant("..") },
  fc.constantFrom(".", "", "...", "~", "..\\..", "%2e%2e", "．．", "C:", "\0", "workspace", "_goald", "a\u202e"),
);
const path = fc
  .tuple(
    fc.constantFrom("", "", "", "/", "//", "./", "~/", "/workspace/", "HOME/", "HOME/foo/", "\\\\"),
    fc.array(step, { minLength: 1, maxLength: 7 }),
    fc.constantFrom("/", "/", "/", "//", "\\"),
  )
  .map(([start, steps, slash]) => start + steps.join(slash));
const act = fc.record({ path, operation: fc.constantFrom<Operation>("read", "write", "append", "remove") });

/** home/foo is the workspace. Everything beside it must stay unread and unchanged. */
function layOut(): string {
  const home = mkdtempSync(join(fastest, "goald-confined-"));
  for (const folder of ["foo/a/b", "foo/b", "foo-evil", "out"]) mkdirSync(join(home, folder), { recursive: true });
  for (const file of ["secret.txt", "a", "foo-evil/secret.txt", "foo-evil/a", "out/secret.txt", "out/b"])
    writeFileSync(join(home, file), SECRET);
  writeFileSync(join(home, "foo/a/file"), "inside");
  symlinkSync(join(home, "out"), join(home, "foo/out"));
  symlinkSync("..", join(home, "foo/up"));
  symlinkSync("../out", join(home, "foo/a/chain"));
  symlinkSync("a/chain", join(home, "foo/chain"));
  symlinkSync("../out/secret.txt", join(home, "foo/file"));
  linkSync(join(home, "out/secret.txt"), join(home, "foo/twin"));
  return home;
}

/** All files outside the workspace, with contents. There are no links among them. */
function outside(folder: string): string {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== "foo");
  const lines = entries.map((entry) => {
    const path = join(folder, entry.name);
    return `${entry.name}: ${entry.isDirectory() ? outside(path) : readFileSync(path, "utf8")}`;
  });
  return lines.sort().join("\n");
}

/** The property: no sequence of operations reads the secret or changes anything outside. */
const staysInside = (open: (folder: string) => Files) =>
  fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 8 }), async (acts) => {
    const home = layOut();
    try {
      const files = open(join(home, "foo"));
      const before = outside(home);
      for (const { path, operation } of acts) {
        const named = path.replace("HOME", home);
        const result = await Promise.resolve(files[operation](named, "pwned")).catch(() => undefined);
        if (ArrayBuffer.isView(result)) expect(Buffer.from(result as Uint8Array).toString()).not.toContain(SECRET);
      }
      expect(outside(home)).toBe(before);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

/** The naive resolver: join, and compare the prefix. */
function naive(folder: string): Files {
  const resolve = (path: string): string => {
    const joined = join(folder, path);
    if (!joined.startsWith(folder)) throw new Error("outside");
    return joined;
  };
  return {
    read: async (path) => new Uint8Array(await readFile(resolve(path))),
    write: async (path, text) => writeFile(resolve(path), text),
    append: async (path, text) => appendFile(resolve(path), text),
    remove: async (path) => unlink(resolve(path)),
  };
}

describe("any sequence of operations on any paths, among links", () => {
  it.each<Anchor>(["descriptor", "real-path"])("reads and changes nothing outside (%s)", async (anchor) => {
    useAnchor(anchor);
    await fc.assert(
      staysInside((folder) => openLocalWorkspace(folder)),
      { numRuns: 1000 },
    );
  });

  it("fails for a resolver that compares prefixes (control)", async () => {
    const details = await fc.check(staysInside(naive), { numRuns: 1000 });
    expect(details.failed).toBe(true);
  });
});

const inHome = useFolder();
let home: string;
let folder: string;
beforeEach(async () => {
  home = inHome();
  folder = join(home, "foo");
  await mkdir(folder);
  await mkdir(join(home, "outside"));
  await writeFile(join(home, "outside/secret.txt"), SECRET);
});

const REFUSAL = { code: expect.stringMatching(/^GOALD_(PATH_REFUSED|FILE)$/) };
const anchors: Anchor[] = ["descriptor", "real-path"];
const at = (path: string): string => join(folder, path);

async function plantChain(): Promise<void> {
  await symlink("two", at("one"));
  await symlink("three", at("two"));
  await symlink("../outside", at("three"));
}

describe.each(anchors)("a folder full of traps, protected by %s", (anchor) => {
  beforeEach(() => useAnchor(anchor));
  const traps: readonly (readonly [string, string, () => Promise<unknown>])[] = [
    ["a link to a file outside", "link_file", () => symlink("../outside/secret.txt", at("link_file"))],
    ["a link to a folder outside", "link_out/secret.txt", () => symlink(join(home, "outside"), at("link_out"))],
    ["a new file behind such a link", "link_out/new.txt", () => symlink(join(home, "outside"), at("link_out"))],
    ["a link upward", "up/outside/secret.txt", () => symlink("..", at("up"))],
    ["a chain of links", "one/secret.txt", () => plantChain()],
    ["files of the process", "self/environ", () => symlink("/proc/self", at("self"))],
    ["the root folder of the process", "self/root/etc/passwd", () => symlink("/proc/self", at("self"))],
    ["a link to itself", "loop/x", () => symlink("loop", at("loop"))],
    ["a link to a missing file", "dangling", () => symlink("../outside/not-yet.txt", at("dangling"))],
    ["a link that stays inside", "inner", () => symlink("real.txt", at("inner"))],
    ["a hard link to a file outside", "twin.txt", () => link(join(home, "outside/secret.txt"), at("twin.txt"))],
    ["a pipe without a writer", "pipe", async () => execFileSync("mkfifo", [at("pipe")])],
    ["a device behind a link", "zero", () => symlink("/dev/zero", at("zero"))],
  ];

  it.each(traps)("refuses %s in every operation, and changes nothing outside", async (_title, path, plant) => {
    await writeFile(at("real.txt"), "real");
    await plant();
    const changes: unknown[] = [];
    const workspace = openLocalWorkspace(folder, (change) => changes.push(change), { own: true });
    for (const act of operationsOn(workspace, path)) await expect(act()).rejects.toMatchObject(REFUSAL);
    expect(changes).toEqual([]);
    expect(await readdir(join(home, "outside"))).toEqual(["secret.txt"]);
    expect(await readFile(join(home, "outside/secret.txt"), "utf8")).toBe(SECRET);
    expect(await namesIn(workspace)).toEqual(["real.txt"]);
  });

  it("refuses a pipe with a writer and a socket with a listener without waiting", async () => {
    await writeFile(at("real.txt"), "real");
    execFileSync("mkfifo", [at("pipe")]);
    await using both = await open(at("pipe"), "r+");
    const server = createServer().listen(at("socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    const workspace = openLocalWorkspace(folder);
    for (const path of ["pipe", "socket"])
      for (const act of operationsOn(workspace, path))
        await expect(act()).rejects.toMatchObject({ code: "GOALD_FILE" });
    expect((await both.stat()).isFIFO()).toBe(true);
    await new Promise((resolve) => server.close(resolve));
  });

  it("does not list files behind a link", async () => {
    await symlink("../outside", at("link_out"));
    await writeFile(at("a.txt"), "");
    const workspace = openLocalWorkspace(folder);
    expect(await namesIn(workspace)).toEqual(["a.txt"]);
    await expect(namesIn(workspace, "link_out")).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
  });

  it("does not list names that no path can express", async () => {
    const odd = ["a\u001b[31m", "b\nc", "d\\e", "f.", "g:h", "%2e%2e", "．．", ".goald-0123456789abcdef.tmp"];
    for (const name of [...odd, "fine"]) await writeFile(at(name), "");
    const workspace = openLocalWorkspace(folder);
    expect(await namesIn(workspace)).toEqual(["fine"]);
  });

  it("lets a person put the whole folder behind a link", async () => {
    await rename(folder, join(home, "elsewhere"));
    await symlink("elsewhere", folder);
    const workspace = openLocalWorkspace(folder);
    await workspace.write("a/b.txt", "here");
    expect(await readFile(join(home, "elsewhere/a/b.txt"), "utf8")).toBe("here");
  });

  it("leaves no file open", async () => {
    const workspace = openLocalWorkspace(folder);
    await symlink("../outside", at("link_out"));
    const everything = async (): Promise<void> => {
      for (const path of ["a/b/c.txt", "link_out/x", "a", "none/x", "../x"])
        await Promise.allSettled(operationsOn(workspace, path).map((act) => act()));
      for await (const _file of workspace.list("")) break;
    };
    await everything();
    const before = (await readdir("/dev/fd")).length;
    for (let round = 0; round < 20; round += 1) await everything();
    expect((await readdir("/dev/fd")).length).toBeLessThanOrEqual(before + 2);
  });
});

describe("a folder that is swapped for a link between check and use", () => {
  const swap = async (): Promise<void> => {
    await rename(at("notes"), at("moved"));
    await symlink("../outside", at("notes"));
  };

  it("is still the checked folder, where folders are held open", async () => {
    useAnchor("descriptor");
    await mkdir(at("notes"));
    const place = await openPlace(folder, "notes/new.txt", "make");
    if (!place) throw new Error("expected a place");
    await swap();
    await writeFile(place.file, "kept inside");
    await place[Symbol.asyncDispose]();
    expect(await readdir(join(home, "outside"))).toEqual(["secret.txt"]);
    expect(await readFile(at("moved/new.txt"), "utf8")).toBe("kept inside");
  });

  it("is noticed before anything is read, where paths are compared", async () => {
    useAnchor("real-path");
    await mkdir(at("notes"));
    await writeFile(at("notes/secret.txt"), "ours");
    const place = await openPlace(folder, "notes/secret.txt", "read");
    if (!place) throw new Error("expected a place");
    await swap();
    await expect(openFile(place, 0)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    const inner = await openFolder(folder, "moved", "read");
    await expect(inner?.verify()).resolves.toBeUndefined();
  });

  it("deceives a resolver that checks the real path only once (control)", async () => {
    await mkdir(at("notes"));
    const checked = join(await realpath(at("notes")), "new.txt");
    expect(checked.startsWith(folder)).toBe(true);
    await swap();
    await writeFile(checked, "leaked");
    expect(await readdir(join(home, "outside"))).toEqual(["new.txt", "secret.txt"]);
  });

  it("never leads outside, whatever the timing of the swaps", async () => {
    await mkdir(at("real"));
    const workspace = openLocalWorkspace(folder);
    let swapping = true;
    const swapper = (async () => {
      while (swapping) {
        await rename(at("real"), at("notes"));
        await rename(at("notes"), at("real"));
        await symlink("../outside", at("notes"));
        await rm(at("notes"));
      }
    })();
    for (let round = 0; round < 200; round += 1) {
      await workspace.write("notes/x.txt", "x").catch(() => undefined);
      const read = await workspace.read("notes/secret.txt").catch(() => undefined);
      expect(read && new TextDecoder().decode(read)).toBeUndefined();
    }
    swapping = false;
    await swapper.catch(() => undefined);
    expect(await readdir(join(home, "outside"))).toEqual(["secret.txt"]);
  });
});

// Folders that others fill, and folders that git would take for a repository.

const stagedBy = (staging = join(home, "clones")) => openLocalWorkspace(folder, undefined, { staging });
afterEach(() => useAnchor("descriptor"));
async function fillWith(target: string, files: readonly string[]): Promise<void> {
  for (const file of files) {
    await mkdir(join(target, dirname(file)), { recursive: true });
    await writeFile(join(target, file), "x");
  }
}

describe("a folder that others fill", () => {
  it("is outside the workspace, and only this user may enter it", async () => {
    await stagedBy().place("new", async (target) => {
      expect(target.startsWith(`${folder}/`)).toBe(false);
      expect((await stat(dirname(target))).mode & 0o777).toBe(0o700);
      expect(await readdir(folder)).toEqual([]);
    });
    expect((await stat(join(folder, "new"))).mode & 0o700).toBe(0o700);
    expect(await readdir(join(home, "clones"))).toEqual([]);
  });

  it("is left by a crash at most, until the next one", async () => {
    await fillWith(join(home, "clones/new-crash/folder"), ["half/a"]);
    await stagedBy().place("new", (target) => fillWith(target, ["a"]));
    expect(await readdir(join(home, "clones"))).toEqual([]);
  });

  it.each<[what: string, plant: (target: string) => Promise<unknown>]>([
    ["a link to a file", (target) => symlink(join(home, "outside/secret.txt"), join(target, "a"))],
    [
      "a link to a folder, in a folder",
      (target) => mkdir(join(target, "b")).then(() => symlink("..", `${target}/b/up`)),
    ],
    ["a link for the folder itself", (target) => rm(target, { recursive: true }).then(() => symlink(home, target))],
    ["a hard link", (target) => link(join(home, "outside/secret.txt"), join(target, "a"))],
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
    for (const anchor of anchors) {
      useAnchor(anchor);
      const placing = stagedBy().place("new", plant);
      await expect(placing).rejects.toMatchObject({ code: expect.stringMatching(/^GOALD_(PATH_REFUSED|FILE)$/) });
      expect(await readdir(folder)).toEqual([]);
      expect(await readdir(join(home, "clones"))).toEqual([]);
    }
    expect(await readFile(join(home, "outside/secret.txt"), "utf8")).toBe(SECRET);
  });

  it("may have a repository of its own at the top", async () => {
    await stagedBy().place("new", (target) => fillWith(target, [".git/HEAD", ".git/objects/x", ".git/refs/x", "a"]));
    expect(existsSync(join(folder, "new/.git/HEAD"))).toBe(true);
  });

  it.each(anchors)("is copied from another file system, with modes (%s)", async (anchor) => {
    // Another file system on Linux. Elsewhere this test moves a folder.
    const other = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : home, "goald-place-"));
    const big = new Uint8Array(2_500_000).map((_, at) => at % 251);
    try {
      useAnchor(anchor);
      await stagedBy(other).place("deep/new", async (target) => {
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
  });
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
  let workspace: Workspace;
  beforeEach(() => {
    workspace = stagedBy();
  });

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
