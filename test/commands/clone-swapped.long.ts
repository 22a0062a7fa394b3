import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import { isGoaldError } from "#core/errors.ts";
import { isNeverAllowed, isPublicAddress } from "#http/public-address.ts";
import { openTunnel } from "#http/tunnel.ts";
import { createRepositories } from "#services/git/clone.ts";
import { findGit } from "#util/find-program.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import clone_repository from "../../commands/clone_repository.ts";
import { makeRepository, startGitServer } from "../helpers/git-server.ts";
import { call, contextOf } from "./context.ts";

const ROUNDS = 200;

it("a clone reads, writes and runs nothing outside while the folder above is swapped for a link", async () => {
  const { cloned, refused, swaps, ...outside } = await cloneWhileSwapped(6);
  expect(outside).toEqual({ hasRun: false, changed: [], read: [] });
  expect(swaps).toBeGreaterThan(20);
  expect(cloned + refused.length).toBeGreaterThanOrEqual(6);
});

it("200 clones read, write and run nothing outside while the folder above is swapped for a link", async () => {
  const { cloned, refused, swaps, ...outside } = await cloneWhileSwapped(ROUNDS);
  expect(outside).toEqual({ hasRun: false, changed: [], read: [] });
  expect(swaps).toBeGreaterThan(10 * ROUNDS);
  // Both happen: clones that end in the folder, and clones that meet the link.
  expect(cloned).toBeGreaterThan(0);
  expect(refused).toContain("GOALD_PATH_REFUSED");
  console.log(`${cloned} cloned, ${refused.length} refused, ${swaps} swaps`);
}, 600_000);

// Clones into a folder while a process swaps the folder above for a link to the outside.
//
// The outside holds a prepared repository whose settings run a program when any git works in it.

const MARKER = "only outside";
/** Of a complete clone. */
const REQUESTS = 3;

interface SwappedClones {
  readonly cloned: number;
  /** Codes of the clones that were refused. */
  readonly refused: readonly string[];
  readonly swaps: number;
  readonly hasRun: boolean;
  /** Changed or new files outside. */
  readonly changed: readonly string[];
  /** Files of the workspace with content from outside. */
  readonly read: readonly string[];
}

async function cloneWhileSwapped(rounds: number): Promise<SwappedClones> {
  const root = await mkdtemp(join(tmpdir(), "goald-swapped-"));
  const [folder, outside, proof] = [join(root, "workspace/foo"), join(root, "outside"), join(root, "ran")];
  makeRepository(root, "plain.git", [{ path: "README.md", text: "# Plain\n" }]);
  prepareOutside(join(outside, "prepared"), proof);
  const before = readFiles(outside);
  mkdirSync(folder, { recursive: true });
  await using server = await startGitServer({ root });
  await using swapper = await startSwapper(folder, outside);
  const git = findGit(process.env.PATH) ?? "";
  const rules = { isPublic: isPublicAddress, isNeverAllowed };
  const parts = { git, allow: server.origin, key: null, environment: process.env, findCage, openTunnel, ...rules };
  const workspace = openLocalWorkspace(folder, undefined, { staging: join(root, "clones") });
  const context = contextOf(workspace, { repositories: createRepositories(parts) });
  const refused: string[] = [];
  let cloned = 0;
  // A clone that is refused at the start, because it met the link, is not a round.
  for (let at = 0; server.requests.length < REQUESTS * rounds; at++) {
    const args = { repository_url: `${server.origin}/plain.git`, clone_path: `work/new-${at}` };
    const ended = await call(clone_repository, args, context).catch((error: unknown) => error);
    if (!Error.isError(ended)) cloned++;
    else if (isGoaldError(ended)) refused.push(ended.code);
    else throw ended;
    await setTimeout(1);
  }
  const swaps = await swapper.end();
  const result = {
    cloned,
    refused,
    swaps,
    hasRun: existsSync(proof),
    changed: [...readFiles(outside)]
      .filter(([path, text]) => before.get(originOf(path)) !== text)
      .map(([path]) => path),
    read: [...readFiles(folder)].filter(([, text]) => text.includes(MARKER)).map(([path]) => path),
  };
  await rm(root, { recursive: true });
  return result;
}

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
