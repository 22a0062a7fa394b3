/** git takes a folder with HEAD, objects and refs for a repository, and runs programs that its `config` names. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Workspace } from "#core/ports/workspace.ts";
import { judgeTree } from "#core/what-others-run.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";

let home: string;
let folder: string;
let workspace: Workspace;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "goald-repository-"));
  folder = join(home, "workspace");
  mkdirSync(folder);
  workspace = openLocalWorkspace(folder, undefined, { staging: join(home, "clones") });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const REFUSED = { code: "GOALD_PATH_REFUSED" };
const git = (...args: readonly string[]) =>
  spawnSync("git", args, {
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: home, GIT_CEILING_DIRECTORIES: home },
  });

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
    expect(judgeTree([...names, last].map((name) => `proj/${name}`)).refused).toEqual(["proj"]);
  });

  it.each([
    [["HEAD", "config", "hooks/x", "refs/x"]],
    [["HEAD", "objects/x", "deep/refs/x"]],
    [["objects/x", "refs/x", "config", "packed-refs"]],
    [["commondir", "gitdir", "refs/x"]],
  ])("is told from folders with some of its names: %j", async (names) => {
    for (const name of names) await workspace.write(`notes/${name}`, "x");
    expect(judgeTree(names).refused).toEqual([]);
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
