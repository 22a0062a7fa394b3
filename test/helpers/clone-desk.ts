/** clone-desk.ts -- a git server and a desk for each test, for suites of clone_repository. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import { isNeverAllowed, isPublicAddress } from "#http/public-address.ts";
import { openTunnel } from "#http/tunnel.ts";
import { createRepositories, type RepositoriesParts } from "#services/git/clone.ts";
import { findGit } from "#util/find-program.ts";
import cloneRepository from "../../commands/clone_repository.ts";
import { call, contextOf, type Desk, makeDesk } from "../commands/context.ts";
import { type GitServer, startGitServer } from "./git-server.ts";

/** Registers the hooks; `root`, `server` and `desk` exist while tests run. */
export function useCloneDesk() {
  const given = {} as { root: string; server: GitServer; desk: Desk };
  beforeAll(async () => {
    given.root = await mkdtemp(join(tmpdir(), "goald-git-"));
    given.server = await startGitServer({ root: given.root });
  });
  afterAll(async () => {
    await given.server[Symbol.asyncDispose]();
    await rm(given.root, { recursive: true });
  });
  beforeEach(async () => {
    given.desk = await makeDesk();
  });
  afterEach(async () => given.desk[Symbol.asyncDispose]());

  const contextWith = (allow: string | null, more: Partial<RepositoriesParts> = {}) => {
    const git = { git: findGit(process.env.PATH) ?? "", allow, key: null, environment: process.env, findCage };
    const parts = { ...git, openTunnel, isPublic: isPublicAddress, isNeverAllowed, ...more };
    return contextOf(given.desk.workspace, { repositories: createRepositories(parts) });
  };
  const addressOf = (repository: string): string => `${given.server.origin}/${repository}`;
  const clone = (clone_path: string, repository_url = addressOf("plain.git")) =>
    call(cloneRepository, { repository_url, clone_path }, contextWith(given.server.origin));
  return { given, contextWith, addressOf, clone };
}
