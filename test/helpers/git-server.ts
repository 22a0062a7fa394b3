/** git-server.ts -- git's http-backend on loopback, which a test can make hostile or slow. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import { isNeverAllowed, isPublicAddress } from "#http/public-address.ts";
import { openTunnel } from "#http/tunnel.ts";
import { createRepositories, type RepositoriesParts } from "#services/git/clone.ts";
import { findGit } from "#util/find-program.ts";
import cloneRepository from "../../commands/clone_repository.ts";
import { call, contextOf, type Desk, makeDesk } from "../commands/context.ts";
import { useShared, useSharedFolder } from "./folder.ts";
import { listArrivals, listenOnLoopback } from "./loopback.ts";

export interface GitServerOptions {
  /** Folder with the repositories. */
  readonly root: string;
  /** Required in the Authorization header; other requests get 401. */
  readonly authorization?: string;
  /** Answers instead of git; returns false to let git answer. */
  readonly instead?: (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;
}
export type GitServer = Awaited<ReturnType<typeof startGitServer>>;

export async function startGitServer({ root, authorization, instead }: GitServerOptions) {
  const requests = listArrivals<{ readonly path: string; readonly authorization: string | undefined }>();
  const listening = await listenOnLoopback((incoming, outgoing) => {
    outgoing.on("error", () => undefined);
    requests.add({ path: incoming.url ?? "", authorization: incoming.headers.authorization });
    if (instead?.(incoming, outgoing)) return;
    if (authorization !== undefined && incoming.headers.authorization !== authorization) {
      outgoing.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end("who are you?");
      return;
    }
    runBackend(root, incoming, outgoing);
  });
  return {
    origin: listening.origin,
    port: listening.port,
    /** Path and Authorization header of each request. */
    requests: requests.all,
    get connections() {
      return listening.connections;
    },
    asked: requests.reach,
    dropConnections: () => listening.server.closeAllConnections(),
    [Symbol.asyncDispose]: listening.close,
  };
}

/** Implements the part of CGI that git needs. */
function runBackend(root: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const [path = "", query = ""] = (incoming.url ?? "").split("?");
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: incoming.method,
      CONTENT_TYPE: incoming.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: String(incoming.headers["content-encoding"] ?? ""),
      GIT_PROTOCOL: String(incoming.headers["git-protocol"] ?? ""),
      REMOTE_ADDR: "127.0.0.1",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  outgoing.on("close", () => child.kill("SIGKILL"));
  child.stdin.on("error", () => undefined);
  incoming.pipe(child.stdin);
  let head = Buffer.alloc(0);
  let isBody = false;
  child.stdout.on("data", (piece: Buffer) => {
    if (isBody) {
      outgoing.write(piece);
      return;
    }
    head = Buffer.concat([head, piece]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    isBody = true;
    const fields = head.toString("latin1", 0, end).split("\r\n");
    const headers = new Map(fields.map((line) => line.split(": ", 2) as [string, string]));
    const status = Number.parseInt(headers.get("Status") ?? "200", 10);
    headers.delete("Status");
    outgoing.writeHead(status, Object.fromEntries(headers));
    outgoing.write(head.subarray(end + 4));
  });
  child.on("close", () => outgoing.end());
}

// Builds repositories object by object, also ones that git itself would not commit.

/** `link`: a symbolic link to `text`. `submodule`: the commit that `text` names. */
export interface Entry {
  readonly path: string;
  readonly text: string | Uint8Array;
  readonly kind?: "link" | "submodule" | "program";
}

const MODES = { link: "120000", submodule: "160000", program: "100755", file: "100644" } as const;
const AUTHOR = "A <a@example.org> 1700000000 +0000";

/** Makes the bare repository `<root>/<name>` with one commit on `main`, and returns its hash. Paths may contain folders. */
export function makeRepository(root: string, name: string, entries: readonly Entry[]): string {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  const git = (args: readonly string[], input: string | Uint8Array = ""): string =>
    execFileSync("git", args, {
      cwd: folder,
      input,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" },
    }).trim();
  git(["init", "--quiet", "--bare", "--initial-branch=main", "."]);
  git(["config", "uploadpack.allowFilter", "true"]);
  const blobs = new Map<string | Uint8Array, string>();
  /** Writes each text once, however many files have it. */
  const blobOf = (text: string | Uint8Array): string => {
    const hash = blobs.get(text) ?? git(["hash-object", "-w", "--stdin"], text);
    blobs.set(text, hash);
    return hash;
  };
  const tree = writeTree(entries, git, blobOf);
  const commit = git(
    ["hash-object", "-t", "commit", "-w", "--stdin"],
    `tree ${tree}\nauthor ${AUTHOR}\ncommitter ${AUTHOR}\n\nmade\n`,
  );
  git(["update-ref", "refs/heads/main", commit]);
  return commit;
}

type Git = (args: readonly string[], input?: string | Uint8Array) => string;

function writeTree(entries: readonly Entry[], git: Git, blobOf: (text: Entry["text"]) => string): string {
  const byFirst = Map.groupBy(entries, ({ path }) => path.split("/", 1)[0] as string);
  const lines = [...byFirst].map(([first, members]) => {
    const [only] = members as [Entry];
    if (only.path === first) {
      const mode = MODES[only.kind ?? "file"];
      const type = only.kind === "submodule" ? "commit" : "blob";
      const hash = only.kind === "submodule" ? only.text : blobOf(only.text);
      return `${mode} ${type} ${hash}\t${first}`;
    }
    const inside = members.map((entry) => ({ ...entry, path: entry.path.slice(first.length + 1) }));
    return `040000 tree ${writeTree(inside, git, blobOf)}\t${first}`;
  });
  return git(["mktree", "--missing"], `${lines.join("\n")}\n`);
}

// A git server and a desk for each test, for suites of clone_repository.

/** Registers the hooks; `server` and `desk` exist while tests run, and `root` has the repositories. */
export function useCloneDesk() {
  const root = useSharedFolder();
  const given = { server: useShared(() => startGitServer({ root })) } as { server: GitServer; desk: Desk };
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
  return { root, given, contextWith, addressOf, clone };
}
