/**
 * git-repository.ts -- builds repositories object by object, also ones that git itself would not commit.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

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
  const tree = writeTree(entries, { run: git, blobs: new Map() });
  const commit = git(
    ["hash-object", "-t", "commit", "-w", "--stdin"],
    `tree ${tree}\nauthor ${AUTHOR}\ncommitter ${AUTHOR}\n\nmade\n`,
  );
  git(["update-ref", "refs/heads/main", commit]);
  return commit;
}

/** Writes each text once, however many files have it. */
function blobOf(text: string | Uint8Array, git: Git): string {
  const known = git.blobs.get(text);
  if (known !== undefined) return known;
  const hash = git.run(["hash-object", "-w", "--stdin"], text);
  git.blobs.set(text, hash);
  return hash;
}

interface Git {
  run(args: readonly string[], input?: string | Uint8Array): string;
  readonly blobs: Map<string | Uint8Array, string>;
}

function writeTree(entries: readonly Entry[], git: Git): string {
  const byFirst = Map.groupBy(entries, ({ path }) => path.split("/", 1)[0] as string);
  const lines = [...byFirst].map(([first, members]) => {
    const [only] = members as [Entry];
    if (only.path === first) {
      const mode = MODES[only.kind ?? "file"];
      const type = only.kind === "submodule" ? "commit" : "blob";
      const hash = only.kind === "submodule" ? only.text : blobOf(only.text, git);
      return `${mode} ${type} ${hash}\t${first}`;
    }
    const inside = members.map((entry) => ({ ...entry, path: entry.path.slice(first.length + 1) }));
    return `040000 tree ${writeTree(inside, git)}\t${first}`;
  });
  return git.run(["mktree", "--missing"], `${lines.join("\n")}\n`);
}
