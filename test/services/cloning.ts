/** cloning.ts -- clones repositories of servers on loopback into the folder of a test. */
import { findCage } from "#cage/find-cage.ts";
import type { GoaldError } from "#core/errors.ts";
import type { Cloned } from "#core/services.ts";
import { openTunnel } from "#http/tunnel.ts";
import { createRepositories, type RepositoriesParts } from "#services/git/clone.ts";
import { findGit } from "#util/find-program.ts";
import { listProcesses } from "../cage/processes.ts";
import { useFolder, useSharedFolder } from "../helpers/folder.ts";
import { type GitServer, type GitServerOptions, startGitServer } from "../helpers/git-server.ts";

export const GIT = findGit(process.env.PATH) ?? "";
/** The type of the branches that a server has. */
export const ADVERTISEMENT = "application/x-git-upload-pack-advertisement";
export type CloneParts = Partial<RepositoriesParts>;

/** `root` has the repositories that servers serve, `at` leads to the folder that a test clones into. */
export function useCloning() {
  const root = useSharedFolder();
  const at = useFolder();
  const NOT_PUBLIC = { isPublic: () => false, isNeverAllowed: () => false };
  function clone(url: string, parts: CloneParts = {}, signal = new AbortController().signal): Promise<Cloned> {
    const own = { git: GIT, allow: null, key: null, environment: process.env, findCage, openTunnel, ...NOT_PUBLIC };
    return createRepositories({ ...own, ...parts }).clone(url, at(), signal);
  }
  const serve = (options: Partial<GitServerOptions> = {}): Promise<GitServer> => startGitServer({ root, ...options });
  /** Clones a repository of a server that the settings allow. */
  const from = (server: GitServer, name: string, parts: CloneParts = {}, signal?: AbortSignal) =>
    clone(`${server.origin}/${name}`, { allow: server.origin, ...parts }, signal);
  return { root, at, clone, serve, from };
}

/** Returns all that an error says, or that there is none. */
export const messageOf = (cloning: Promise<unknown>): Promise<string> =>
  cloning.then(
    () => "it was cloned",
    ({ code, message, hint, words }: GoaldError) => `${code} ${message} ${hint} | ${words}`,
  );

/** A server that sends this in place of every answer of git. */
export const sending = (status: number, type: string, body: string): Pick<GitServerOptions, "instead"> => ({
  instead: (_incoming, outgoing) => {
    outgoing.writeHead(status, { "content-type": type }).end(body);
    return true;
  },
});

/** A server that redirects every request to another one. */
export const redirectingTo = (origin: string): Pick<GitServerOptions, "instead"> => ({
  instead: ({ url }, outgoing) => {
    outgoing.writeHead(302, { location: `${origin}${url}` }).end();
    return true;
  },
});

/** The command lines of the processes that work in the folder. */
export const processesIn = (place: string): readonly string[] =>
  listProcesses()
    .filter(({ folder }) => folder === place)
    .map(({ args }) => args.join("\0"));
