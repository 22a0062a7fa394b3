import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { isGoaldError } from "#core/errors.ts";
import { makeRepository, useCloneDesk } from "../helpers/git-server.ts";

const { root, given, addressOf, clone } = useCloneDesk();

it.each([
  [".GIT/config"],
  ["git~1/config"],
  ["git~2/config"],
  [".git /config"],
  [".git./config"],
  [".git::$INDEX_ALLOCATION/config"],
  [".g\u200cit/config"],
  ["sub/.git"],
  ["fixtures/x.git/HEAD", "fixtures/x.git/config", "fixtures/x.git/objects/x", "fixtures/x.git/refs/x"],
  ["p/head", "p/OBJECTS/x", "p/Refs/x"],
  ["p/HEAD", "p/commondir"],
  ["HEAD", "objects/x", "refs/x"],
])("clone_repository refuses a repository in which git would find another one: %s", async (...paths) => {
  makeRepository(
    root,
    "inner.git",
    paths.map((path) => ({ path, text: "[core]\n\tfsmonitor = touch /tmp/ran\n" })),
  );
  await expect(clone("new", addressOf("inner.git"))).rejects.toMatchObject({
    code: expect.stringMatching(/^GOALD_(GIT|PATH_REFUSED)$/),
  });
  expect(await readdir(given.desk.folder)).toEqual([]);
  expect(await readdir(join(given.desk.home, "clones"))).toEqual([]);
  await rm(join(root, "inner.git"), { recursive: true });
});

const MARKER = "only outside";
const ROUNDS = 200;
/** Of a complete clone. */
const REQUESTS = 3;

it("200 clones read, write and run nothing outside while the folder above is swapped for a link", async () => {
  const { server, desk } = given;
  const [outside, proof] = [join(root, "outside"), join(root, "ran")];
  makeRepository(root, "plain.git", [{ path: "README.md", text: "# Plain\n" }]);
  prepareOutside(join(outside, "prepared"), proof);
  const before = readFiles(outside);
  await using swapper = await startSwapper(desk.folder, outside);
  const refused: string[] = [];
  let cloned = 0;
  // A clone that is refused at the start, because it met the link, is not a round.
  const enough = server.requests.length + REQUESTS * ROUNDS;
  for (let at = 0; server.requests.length < enough; at++) {
    const ended: unknown = await clone(`work/new-${at}`).catch((error: unknown) => error);
    if (!Error.isError(ended)) cloned++;
    else if (isGoaldError(ended)) refused.push(ended.code);
    else throw ended;
    await setTimeout(1);
  }
  const swaps = await swapper.end();
  expect(existsSync(proof)).toBe(false);
  expect([...readFiles(outside)].filter(([path, text]) => before.get(originOf(path)) !== text)).toEqual([]);
  expect([...readFiles(desk.folder)].filter(([, text]) => text.includes(MARKER))).toEqual([]);
  expect(swaps).toBeGreaterThan(10 * ROUNDS);
  // Both happen: clones that end in the folder, and clones that meet the link.
  expect(cloned).toBeGreaterThan(0);
  expect(refused).toContain("GOALD_PATH_REFUSED");
}, 600_000);

/** Prepares a repository whose settings run a program when any git works in it. */
function prepareOutside(folder: string, proof: string): void {
  mkdirSync(folder, { recursive: true });
  const git = (...args: readonly string[]): void => void execFileSync("git", args, { cwd: folder, stdio: "pipe" });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(folder, ".gitattributes"), "* filter=evil\n");
  writeFileSync(join(folder, "outside.txt"), MARKER);
  git("add", ".");
  git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "made");
  // A checkout has to write it, by the filter.
  writeFileSync(join(folder, "outside.txt"), "changed");
  writeFileSync(join(folder, "run.sh"), `#!/bin/sh\ntouch ${proof}\ncat\n`, { mode: 0o755 });
  git("config", "filter.evil.smudge", join(folder, "run.sh"));
  git("config", "core.fsmonitor", join(folder, "run.sh"));
}

/** The swapper copies the prepared repository to the names that goald uses meanwhile. */
const originOf = (path: string): string => path.replace(/^\.goald-[^/]+/, "prepared");

/** Contents by path, without following links. */
function readFiles(folder: string, inside = ""): ReadonlyMap<string, string> {
  const entries = readdirSync(join(folder, inside), { withFileTypes: true });
  return new Map(
    entries.flatMap((entry) => {
      const path = join(inside, entry.name);
      if (entry.isDirectory()) return [...readFiles(folder, path)];
      return entry.isFile() ? [[path, readFileSync(join(folder, path), "latin1")] as const] : [];
    }),
  );
}

async function startSwapper(folder: string, outside: string) {
  const program = new URL("./swap-folder.child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [program, folder, outside], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  await lines.next();
  return {
    /** Returns the number of swaps. */
    end: async (): Promise<number> => {
      child.stdin.end();
      return Number((await lines.next()).value);
    },
    [Symbol.asyncDispose]: async () => {
      const closed = child.exitCode === null ? once(child, "close") : undefined;
      child.kill("SIGKILL");
      await closed;
    },
  };
}
