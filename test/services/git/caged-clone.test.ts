import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { CageLevel } from "#cage/cage.ts";
import { probeCage } from "#cage/find-cage.ts";
import { openTunnel } from "#http/tunnel.ts";
import { createRepositories, type RepositoriesParts } from "#services/git/clone.ts";
import { findGit } from "#services/git/find-git.ts";
import { findLevelsHere } from "../../helpers/cage-levels.ts";
import { makeRepository } from "../../helpers/git-repository.ts";
import { type GitServer, startGitServer } from "../../helpers/git-server.ts";

const GIT = findGit(process.env.PATH) ?? "";
const levels = findLevelsHere();

let root: string;
let server: GitServer;
let other: GitServer;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "goald-git-"));
  makeRepository(root, "plain.git", [{ path: "README.md", text: "# Plain\n" }]);
  [server, other] = await Promise.all([startGitServer({ root }), startGitServer({ root })]);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-clone-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** `level`: at most. */
function clone(level: CageLevel, url: string, parts: Partial<RepositoriesParts> = {}) {
  const rules = { isPublic: () => false, isNeverAllowed: () => false };
  const findCage = () => probeCage({ atMost: level });
  const own = { git: GIT, key: null, environment: process.env, findCage, openTunnel, ...rules };
  const repositories = createRepositories({ ...own, allow: new URL(url).origin, ...parts });
  return repositories.clone(url, folder, new AbortController().signal);
}

/** A program that runs `script` instead of fetching. What it prints is in the file `seen` of the clone. */
async function startInstead(script: string): Promise<Partial<RepositoriesParts>> {
  const bin = join(await mkdtemp(join(root, "program-")), "bin");
  await mkdir(bin);
  const git = join(bin, "git");
  await writeFile(git, `#!/bin/sh\ncase "$*" in *clone*) { ${script}; } >seen 2>&1; exit 3;; esac\nexec ${GIT} "$@"\n`);
  await chmod(git, 0o755);
  return { git };
}
const seen = (): Promise<string> => readFile(join(folder, "seen"), "utf8");
const tryOther = (option: string): string => `${GIT} -c http.proxy=${option} ls-remote ${other.origin}/plain.git`;

describe.each(levels)("a clone in a %s cage", (level) => {
  it("has the files of the repository, from the judged address of a name", async () => {
    const url = `http://judged.test:${server.port}/plain.git`;
    await clone(level, url, { resolve: async () => ["127.0.0.1"] });
    expect(await readFile(join(folder, "README.md"), "utf8")).toBe("# Plain\n");
    expect((await readdir(folder)).sort()).toEqual([".git", "README.md"]);
  });

  it("says so when no address answers", async () => {
    const closed = await startGitServer({ root });
    await closed[Symbol.asyncDispose]();
    await expect(clone(level, `${closed.origin}/plain.git`)).rejects.toMatchObject({
      code: "GOALD_GIT",
      message: expect.stringContaining("could not be reached"),
      outside: [],
    });
  });
});

if (levels.includes("strict"))
  describe("git in a strict cage", () => {
    it("reaches no server but the judged one, neither by itself nor through the tunnel", async () => {
      const tunnel = `"$(echo "$@" | sed 's/.*http.proxy=\\([^ ]*\\).*/\\1/')"`;
      const tries = `${tryOther("")}; ${tryOther(tunnel)}; ${GIT} -c http.proxy=${tunnel} ls-remote ${server.origin}/plain.git`;
      const parts = await startInstead(tries);
      await expect(clone("strict", `${server.origin}/plain.git`, parts)).rejects.toMatchObject({ code: "GOALD_GIT" });
      const lines = (await seen()).trim().split("\n");
      expect(lines[0]).toMatch(/Failed to connect|Couldn't connect|Could not connect/);
      expect(lines[1]).toMatch(/SOCKS5/);
      expect(lines[2]).toMatch(/^[0-9a-f]{40}\s+HEAD$/);
      expect(other.connections).toBe(0);
    });

    it("would reach it without namespaces: the test above can fail", async () => {
      const parts = await startInstead(tryOther(""));
      await expect(clone("degraded", `${server.origin}/plain.git`, parts)).rejects.toMatchObject({ code: "GOALD_GIT" });
      expect(other.connections).toBeGreaterThan(0);
    });

    it("sees its own folder and no other, nothing of goald's environment, and no user", async () => {
      await writeFile(join(root, "secret"), "secret of the home");
      const script = `cat ${root}/secret /etc/passwd; echo x >${root}/written; env; ls -d /root /home /var /work /proc; pwd`;
      const environment = { ...process.env, CANARY: "of goald", HOME: root };
      const parts = { ...(await startInstead(script)), environment };
      await expect(clone("strict", `${server.origin}/plain.git`, parts)).rejects.toMatchObject({ code: "GOALD_GIT" });
      expect(await readdir(root)).not.toContain("written");
      const text = await seen();
      expect(text).not.toMatch(/of the home|CANARY|root:x|^\/(?:root|home|var|work|proc)$/m);
      expect(text.trim().split("\n").at(-1)).toBe(folder);
    });

    it("is ended when a server sends endless branches, which no file would show", async () => {
      await using endless = await startGitServer({
        root,
        instead: (_incoming, outgoing) => {
          outgoing.writeHead(200, { "content-type": "application/x-git-upload-pack-advertisement" });
          outgoing.write("001e# service=git-upload-pack\n0000");
          const line = `003d${"1".repeat(40)} refs/heads/${"b".repeat(4)}\n`;
          const more = (): void => {
            if (!outgoing.destroyed) outgoing.write(line.repeat(1_000), () => setImmediate(more));
          };
          more();
          return true;
        },
      });
      const cloning = clone("strict", `${endless.origin}/plain.git`, { limits: { maxBytes: 2 * 1024 * 1024 } });
      await expect(cloning).rejects.toMatchObject({ message: expect.stringContaining("larger than 2 MB") });
    });
  });
