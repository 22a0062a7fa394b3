import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import { isNeverAllowed, isPublicAddress } from "#http/public-address.ts";
import { openTunnel } from "#http/tunnel.ts";
import { createRepositories, type RepositoriesParts } from "#services/git/clone.ts";
import { findGit } from "#services/git/find-git.ts";
import clone_repository from "../../commands/clone_repository.ts";
import { makeRepository } from "../helpers/git-repository.ts";
import { type GitServer, startGitServer } from "../helpers/git-server.ts";
import { call, contextOf, type Desk, makeDesk } from "./context.ts";

let root: string;
let server: GitServer;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "goald-git-"));
  server = await startGitServer({ root });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

let desk: Desk;
beforeEach(async () => {
  desk = await makeDesk();
});
afterEach(async () => desk[Symbol.asyncDispose]());

const contextWith = (allow: string | null, more: Partial<RepositoriesParts> = {}) => {
  const git = findGit(process.env.PATH) ?? "";
  const parts = {
    git,
    allow,
    key: null,
    environment: process.env,
    findCage,
    openTunnel,
    isPublic: isPublicAddress,
    isNeverAllowed,
    ...more,
  };
  return contextOf(desk.workspace, { repositories: createRepositories(parts) });
};
const clone = (
  clone_path: string,
  repository_url = `${server.origin}/plain.git`,
  allow: string | null = server.origin,
) => call(clone_repository, { repository_url, clone_path }, contextWith(allow));

describe("clone_repository", () => {
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
  ])("refuses a repository in which git would find another one: %s", async (...paths) => {
    makeRepository(
      root,
      "inner.git",
      paths.map((path) => ({ path, text: "[core]\n\tfsmonitor = touch /tmp/ran\n" })),
    );
    await expect(clone("new", `${server.origin}/inner.git`)).rejects.toMatchObject({
      code: expect.stringMatching(/^GOALD_(GIT|PATH_REFUSED)$/),
    });
    expect(await readdir(desk.folder)).toEqual([]);
    expect(await readdir(join(desk.home, "clones"))).toEqual([]);
    await rm(join(root, "inner.git"), { recursive: true });
  });
});
