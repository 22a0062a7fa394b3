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
import { appendFile, readFile, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import type { Anchor } from "#workspace/resolve-path.ts";

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

const name = fc.constantFrom(
  "a",
  "b",
  "foo",
  "foo-evil",
  "secret.txt",
  "out",
  "up",
  "chain",
  "file",
  "twin",
  "new.txt",
);
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
    await fc.assert(
      staysInside((folder) => openLocalWorkspace(folder, undefined, { anchor })),
      { numRuns: 1000 },
    );
  });

  it("fails for a resolver that compares prefixes (control)", async () => {
    const details = await fc.check(staysInside(naive), { numRuns: 1000 });
    expect(details.failed).toBe(true);
  });
});
