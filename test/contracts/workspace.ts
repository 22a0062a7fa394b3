/**
 * The contract of every Workspace: it runs on the fake and on the real folder, in both ways
 * to hold a folder open.
 */
import { readFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { FileChange, FileVersion } from "#core/ports/store.ts";
import type { LastVersion, Workspace } from "#core/ports/workspace.ts";
import { sha256 } from "../helpers/events.ts";

export interface WorkspaceUnderTest {
  /** Opens the same folder at each call. */
  open(onChange?: (change: FileChange) => void, own?: boolean, lastVersion?: LastVersion): Workspace;
  close(): Promise<void>;
}

export const namesIn = async (workspace: Workspace, directory = ""): Promise<string[]> =>
  (await Array.fromAsync(workspace.list(directory))).map((file) => file.path);

/** Every operation on a file. `real.txt` is there. */
export const operationsOn = (workspace: Workspace, path: string): readonly (() => Promise<unknown>)[] => [
  () => workspace.stat(path),
  () => workspace.read(path),
  ...changesOf(workspace, path),
];
const changesOf = (workspace: Workspace, path: string): readonly (() => Promise<unknown>)[] => [
  () => workspace.write(path, "pwned"),
  () => workspace.append(path, "pwned"),
  () => workspace.truncate(path, 0),
  () => workspace.remove(path),
  () => workspace.move(path, "moved.txt"),
  () => workspace.move("real.txt", path),
  () => workspace.preserve(path),
];

interface PathCases {
  readonly accessible: readonly string[];
  readonly inaccessible: readonly string[];
  readonly extra: readonly { readonly path: string; readonly ok: unknown; readonly setup?: string }[];
}
const cases = JSON.parse(readFileSync(new URL("../data/path_cases.json", import.meta.url), "utf8")) as PathCases;

/** Paths that lead outside once something decodes, folds or normalizes them. */
const DISGUISED = [
  ..."..%2fx %2e%2e/x %2E%2e%2Fx .%2e/x %252e%252e%252fx ..%5cx ..%c0%afx ..%00/x".split(" "),
  ..."%u002e%u002e/x ..%u002fx %e0%80%ae./x %2fetc%2fpasswd a/%2e ..%ef%bc%8fx %%32%65%%32%65/x ＣＯＮ".split(" "),
  ...["．．/x", "．．／x", "..／x", "..＼x", "..∕x", "..⁄x", "‥/x", "․․/x", "﹒﹒/x", "／etc／passwd", "..╱x", "..⟍x"],
  ...["..\u200b/x", ".\u200d./x", "..\u00ad", "\u200b", "\u3164/x", "a/\u00a0\u2060", "a\u061cb", "a\ufffd../x"],
  ...["..\u3000/x", "\u2800"],
  ...["C:x", "//?/C:/x", "file:///etc/passwd", "a.txt::$DATA", "COM¹", "lpt².log", "CONIN$", "nul.tar.gz", "con .txt"],
];
/** Names that resemble those above and are valid. */
const PLAIN = [
  ..."-rf ..a a..b 100%.txt a%20b a%00b %u00e9 https%3A%2F%2Fe.com%2Fx ½.txt …b %2e%2ea $HOME/x a/~".split(" "),
  ...["👩‍💻/文.md", "é", "e\u0301", "⠃⠗⠇.md", "Straße.md", "console.log", "com10", "nul-x", "x".repeat(255)],
];

const textOf = async (workspace: Workspace, path: string): Promise<string> =>
  new TextDecoder().decode(await workspace.read(path));

export function workspaceContract(name: string, make: () => Promise<WorkspaceUnderTest>): void {
  describe(`${name} keeps the workspace contract`, () => {
    let under: WorkspaceUnderTest;
    let changes: FileChange[];
    let workspace: Workspace;
    beforeEach(async () => {
      under = await make();
      changes = [];
      workspace = under.open((change) => changes.push(change));
    });
    afterEach(() => under.close());

    describe("files", () => {
      it("are written whole, with their folders, and reported with content and hash", async () => {
        await workspace.write("notes/a/plan.md", "first, and longer");
        await workspace.write("notes/a/plan.md", "second");
        expect(await textOf(workspace, "notes/a/plan.md")).toBe("second");
        expect(await workspace.stat("notes/a/plan.md")).toMatchObject({ path: "notes/a/plan.md", bytes: 6 });
        const content = new TextEncoder().encode("second");
        const change = { path: "notes/a/plan.md", operation: "write", bytes: 6, sha256: sha256("second"), content };
        expect(changes[1]).toEqual(change);
      });

      it("are appended to and created when missing, and reported with the added piece", async () => {
        expect(await workspace.append("log/day.txt", "one\n")).toEqual({ path: "log/day.txt", bytes: 4 });
        expect(await workspace.append("./log/day.txt", "two\n")).toEqual({ path: "log/day.txt", bytes: 8 });
        expect(await textOf(workspace, "log/day.txt")).toBe("one\ntwo\n");
        expect(changes.map(({ operation, bytes, sha256: hash }) => [operation, bytes, hash])).toEqual([
          ["append", 4, sha256("one\n")],
          ["append", 8, sha256("two\n")],
        ]);
      });

      it("can be empty, hold any byte, and do not change with the caller's array", async () => {
        const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
        await workspace.write("empty", "");
        const written = bytes.slice();
        await workspace.write("bytes.bin", written);
        written.fill(0);
        expect([...(await workspace.read("empty"))]).toEqual([]);
        expect([...(await workspace.read("bytes.bin"))]).toEqual([...bytes]);
        expect(changes[1]?.content).toEqual(bytes);
      });

      it.each([
        [0, 3, "abc"],
        [2, 3, "cde"],
        [5, 10, "f"],
        [6, 1, ""],
        [100, 5, ""],
        [3, 0, ""],
      ])("are read in part: offset %i, length %i", async (offset, length, expected) => {
        await workspace.write("a.txt", "abcdef");
        expect(new TextDecoder().decode(await workspace.read("a.txt", { offset, length }))).toBe(expected);
      });

      it("can be truncated after a torn append, but not lengthened", async () => {
        await workspace.write("a.txt", "abcdef");
        await workspace.truncate("a.txt", 2);
        expect(await textOf(workspace, "a.txt")).toBe("ab");
        await expect(workspace.truncate("a.txt", 3)).rejects.toMatchObject({ code: "GOALD_FILE" });
        await expect(workspace.truncate("a.txt", -1)).rejects.toMatchObject({ code: "GOALD_FILE" });
        await expect(workspace.truncate("none.txt", 0)).rejects.toMatchObject({ code: "GOALD_FILE_MISSING" });
        expect(await textOf(workspace, "a.txt")).toBe("ab");
      });

      it("are removed once; removing a missing one returns false", async () => {
        await workspace.write("a.txt", "abc");
        expect(await workspace.remove("a.txt")).toBe(true);
        expect(await workspace.remove("a.txt")).toBe(false);
        expect(await workspace.remove("no/such/folder.txt")).toBe(false);
        expect(await workspace.stat("a.txt")).toBeUndefined();
        const change = { path: "a.txt", operation: "delete", bytes: 0, sha256: null, content: null };
        expect(changes.slice(1)).toEqual([change]);
      });

      it("are moved with their content, into new folders, and reported at both places", async () => {
        await workspace.write("a.txt", "abc");
        changes.length = 0;
        await workspace.move("./a.txt", "new/er/b.txt");
        expect(await namesIn(workspace)).toEqual(["new/er/b.txt"]);
        expect(await textOf(workspace, "new/er/b.txt")).toBe("abc");
        expect(changes.map(({ operation, path, bytes, sha256: hash }) => [operation, path, bytes, hash])).toEqual([
          ["write", "new/er/b.txt", 3, sha256("abc")],
          ["delete", "a.txt", 0, null],
        ]);
      });

      it("are not moved onto others, onto folders, or from nowhere", async () => {
        await workspace.write("a.txt", "a");
        await workspace.write("b.txt", "b");
        await workspace.write("folder/c.txt", "c");
        changes.length = 0;
        for (const to of ["b.txt", "a.txt", "folder"])
          await expect(workspace.move("a.txt", to)).rejects.toMatchObject({ code: "GOALD_FILE" });
        await expect(workspace.move("folder", "d")).rejects.toMatchObject({ code: "GOALD_FILE" });
        await expect(workspace.move("none.txt", "d.txt")).rejects.toMatchObject({ code: "GOALD_FILE_MISSING" });
        expect(await textOf(workspace, "b.txt")).toBe("b");
        expect(changes).toEqual([]);
      });

      it("that are missing give undefined from stat and an error from read", async () => {
        expect(await workspace.stat("none.txt")).toBeUndefined();
        expect(await workspace.stat("no/such.txt")).toBeUndefined();
        await expect(workspace.read("none.txt")).rejects.toMatchObject({ code: "GOALD_FILE_MISSING" });
        await expect(workspace.read("no/such.txt")).rejects.toMatchObject({ code: "GOALD_FILE_MISSING" });
      });
    });

    describe("list", () => {
      it("returns every file once, sorted by its whole path", async () => {
        const paths = ["b.txt", "a/z.txt", "a.txt", "a-b/c.txt", "a/b/c.txt", ".hidden/x", "Z"];
        for (const path of paths) await workspace.write(path, path);
        expect(await namesIn(workspace)).toEqual([...paths].sort());
        expect(await namesIn(workspace, "a")).toEqual(["a/b/c.txt", "a/z.txt"]);
        expect(await namesIn(workspace, "./a/b/..")).toEqual(["a/b/c.txt", "a/z.txt"]);
        const [first] = await Array.fromAsync(workspace.list("a/b"));
        expect(first).toMatchObject({ path: "a/b/c.txt", bytes: 9 });
      });

      it("does not enter the folders that the caller leaves out", async () => {
        for (const path of ["a.txt", "b/c.txt", "b/d/e.txt", "f/b/g.txt"]) await workspace.write(path, "x");
        const left: string[] = [];
        const entered = (folder: string): boolean => folder !== "b" || left.push(folder) === 0;
        const listed = await Array.fromAsync(workspace.list("", entered));
        expect(listed.map(({ path }) => path)).toEqual(["a.txt", "f/b/g.txt"]);
        expect(left).toEqual(["b"]);
      });

      it("is empty for an empty workspace, and fails for a missing folder and for a file", async () => {
        expect(await namesIn(workspace)).toEqual([]);
        await workspace.write("a.txt", "");
        await expect(namesIn(workspace, "none")).rejects.toMatchObject({ code: "GOALD_FILE_MISSING" });
        await expect(namesIn(workspace, "a.txt")).rejects.toMatchObject({ code: "GOALD_FILE" });
        await expect(namesIn(workspace, "..")).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
      });
    });

    it("rejects a folder in the place of a file, and a file in the place of a folder", async () => {
      for (const path of ["notes/a.txt", "real.txt"]) await workspace.write(path, "abc");
      for (const path of ["notes", "notes/", "", ".", "notes/..", "notes/a.txt/", "notes/a.txt/b"])
        for (const act of operationsOn(workspace, path))
          await expect(act()).rejects.toMatchObject({ code: "GOALD_FILE" });
      expect(await namesIn(workspace)).toEqual(["notes/a.txt", "real.txt"]);
      expect(changes).toHaveLength(2);
    });

    describe("goald's own folder", () => {
      const ofSubAgents = [
        "agents/ann/_goald/x",
        "agents/ann/agents/ann-bob/_goald/x",
        "Agents/a/agents/b/agents/c/_goald",
      ];
      const own = ["_goald/outputs/c1.txt", "_GOALD/x", "./_goald/../_goald/x", "_go\u200dald/x", "_goald"];
      it.each([...own, ...ofSubAgents])("is closed to commands at %j", async (path) => {
        await workspace.write("real.txt", "x");
        for (const act of changesOf(workspace, path))
          await expect(act()).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
        expect(await textOf(workspace, "real.txt")).toBe("x");
        expect(changes).toHaveLength(1);
      });

      it("is another folder where no sub-agent has its own (control)", async () => {
        for (const path of ["agents/ann/agents/_goald/x", "agents/ann/notes/_goald/x"])
          await workspace.write(path, "x");
        expect(await textOf(workspace, "agents/ann/notes/_goald/x")).toBe("x");
      });

      it("can be written by goald and read by commands", async () => {
        const own = under.open(undefined, true);
        await own.write("_goald/outputs/c1.txt", "long output");
        expect(await textOf(workspace, "_goald/outputs/c1.txt")).toBe("long output");
        expect(await namesIn(workspace, "_goald")).toEqual(["_goald/outputs/c1.txt"]);
        expect(await own.remove("_goald/outputs/c1.txt")).toBe(true);
      });
    });

    describe("git's own folder", () => {
      const ofGit = [
        ".git/config",
        "repo/.git/hooks/pre-commit",
        "a/b/.GIT/x",
        "repo/.git",
        "git~1/config",
        ".g\u200dit/x",
      ];
      it.each([...ofGit, "r/.hg/hgrc", "r/.sl/config", "r/.pijul/config"])(
        "is closed at %j, because git would run what is written there",
        async (path) => {
          const refusal = { code: "GOALD_PATH_REFUSED", message: expect.stringContaining("belongs to git") };
          await workspace.write("real.txt", "x");
          for (const act of changesOf(workspace, path)) await expect(act()).rejects.toMatchObject(refusal);
          await expect(under.open(undefined, true).write(path, "x")).rejects.toMatchObject(refusal);
          expect(changes).toHaveLength(1);
        },
      );

      it("can be read, and names that only resemble it are ordinary files", async () => {
        await workspace.place("repo", async (folder) => {
          await mkdir(join(folder, ".git"));
          await writeFile(join(folder, ".git/config"), "[core]");
        });
        expect(await textOf(workspace, "repo/.git/config")).toBe("[core]");
        for (const path of [".gitignore", ".github/workflows/a.yml", "a.git/x"]) {
          await workspace.write(path, "x");
          expect(await textOf(workspace, path)).toBe("x");
        }
      });
    });

    describe("paths", () => {
      it.each(cases.accessible.filter((path) => path.endsWith(".txt")))("reaches %j", async (path) => {
        await workspace.write(path, "here");
        expect(await textOf(workspace, path)).toBe("here");
      });

      it.each(cases.accessible.filter((path) => !path.endsWith(".txt")))("lists %j", async (path) => {
        await workspace.write("test_folder/test_file.txt", "here");
        expect(await namesIn(workspace, path)).toEqual(["test_folder/test_file.txt"]);
      });

      const refused = cases.extra.filter((row) => row.ok !== true && row.ok !== "root" && row.ok !== "policy");
      const understood = ["/workspace/a.txt"];
      it.each([
        ...cases.inaccessible,
        ...DISGUISED,
        ...refused.filter((row) => !row.setup && !understood.includes(row.path)).map((row) => row.path),
      ])("rejects %j", async (path) => {
        const refusal = { code: "GOALD_PATH_REFUSED", hint: expect.stringMatching(/\S/) };
        await workspace.write("real.txt", "x");
        for (const act of operationsOn(workspace, path)) await expect(act()).rejects.toMatchObject(refusal);
        await expect(namesIn(workspace, path)).rejects.toMatchObject(refusal);
        expect(await namesIn(workspace)).toEqual(["real.txt"]);
      });

      const inside = cases.extra.filter((row) => row.ok === true || row.ok === "policy").map((row) => row.path);
      it.each([...inside, ...PLAIN])("accepts %j as a file inside", async (path) => {
        await workspace.write(path, "inside");
        expect(await namesIn(workspace)).toEqual([path]);
      });

      it("accepts its own folder's name in front of a path", async () => {
        const own = workspace.folder.slice(workspace.folder.lastIndexOf("/") + 1);
        await workspace.write("a.txt", "here");
        const names = ["/workspace/a.txt", `/workspace/${own}/a.txt`, `workspace/${own}/a.txt`];
        for (const path of [...names, `${workspace.folder}/a.txt`, `${workspace.folder}/b/../a.txt`, "././a.txt"])
          expect(await textOf(workspace, path)).toBe("here");
        expect(await namesIn(workspace, workspace.folder)).toEqual(["a.txt"]);
        for (const path of [`${workspace.folder}/../a.txt`, `${workspace.folder}-evil/a.txt`, "/workspace/../a.txt"])
          await expect(workspace.read(path)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
      });
    });

    describe("history", () => {
      let asked: string[];
      const known = new Map<string, Pick<FileVersion, "operation" | "bytes" | "sha256">>();
      const lastVersion: LastVersion = async (path) => {
        asked.push(path);
        return known.get(path);
      };
      /** Opens the workspace as after a restart, when only the history is known. */
      const openAgain = (): Workspace => under.open((change) => changes.push(change), false, lastVersion);
      /** Each change in words, with its bytes and its content. */
      const reportedChanges = (): string[] =>
        changes.map(({ operation, path, bytes, content }) => {
          const text = content === null ? "nothing" : new TextDecoder().decode(content);
          return `${operation} ${path} ${bytes}: ${text}`;
        });
      const FOUND = "found a.txt 3: abc";
      beforeEach(async () => {
        asked = [];
        known.clear();
        await under.open().write("a.txt", "abc");
      });

      it.each<[title: string, last: [FileVersion["operation"], number, string | null] | null, kept: boolean]>([
        ["does not know the file", null, true],
        ["has it with the same size", ["write", 3, "abc"], false],
        ["has it with the same size after an append", ["append", 3, "c"], false],
        ["has it with another size", ["write", 2, "ab"], true],
        ["has it as deleted", ["delete", 0, null], true],
      ])("preserves a file before an append according to whether the history %s", async (_title, last, kept) => {
        if (last) known.set("a.txt", { operation: last[0], bytes: last[1], sha256: last[2] && sha256(last[2]) });
        await openAgain().append("./a.txt", "d");
        const piece = "append a.txt 4: d";
        expect(reportedChanges()).toEqual(kept ? [FOUND, piece] : [piece]);
        expect(asked).toEqual(["a.txt"]);
      });

      it("preserves nothing before an append to a missing file, even when the history has one", async () => {
        known.set("b.txt", { operation: "write", bytes: 9, sha256: sha256("nine char") });
        const workspace = openAgain();
        await workspace.append("b.txt", "new");
        await workspace.append("b.txt", "er");
        expect(reportedChanges()).toEqual(["append b.txt 3: new", "append b.txt 5: er"]);
      });

      it.each<[title: string, last: [FileVersion["operation"], number, string | null] | null, kept: boolean]>([
        ["does not know the file", null, true],
        ["has it with the same content", ["write", 3, "abc"], false],
        ["has it as found with the same content", ["found", 3, "abc"], false],
        ["has its content as the one append to a new file", ["append", 3, "abc"], false],
        ["has its content as the last append to a longer file", ["append", 6, "abc"], true],
        ["has it with other content of the same size", ["write", 3, "xyz"], true],
        ["has it as deleted", ["delete", 0, null], true],
      ])("preserves a file at most once when the history %s", async (_title, last, kept) => {
        if (last) known.set("a.txt", { operation: last[0], bytes: last[1], sha256: last[2] && sha256(last[2]) });
        const workspace = openAgain();
        for (const path of ["a.txt", "./a.txt"])
          expect(await workspace.preserve(path)).toEqual({ bytes: 3, sha256: sha256("abc") });
        expect(reportedChanges()).toEqual(kept ? [FOUND] : []);
      });

      it("preserves nothing for a missing file, and every file when there is no history to ask", async () => {
        const workspace = under.open((change) => changes.push(change));
        for (const path of ["none.txt", "no/such.txt"]) expect(await workspace.preserve(path)).toBeUndefined();
        for (let round = 0; round < 2; round += 1)
          expect(await workspace.preserve("a.txt")).toEqual({ bytes: 3, sha256: sha256("abc") });
        await workspace.append("a.txt", "d");
        expect(reportedChanges()).toEqual([FOUND, FOUND, "append a.txt 4: d"]);
        expect(changes[0]?.sha256).toBe(sha256("abc"));
      });

      it("relies on its own changes before the history has them", async () => {
        const workspace = openAgain();
        await workspace.write("a.txt", "one");
        await workspace.append("a.txt", "two");
        await workspace.preserve("a.txt");
        await workspace.remove("a.txt");
        await workspace.append("a.txt", "three");
        const sizes = changes.map(({ operation, bytes }) => `${operation} ${bytes}`);
        expect(sizes).toEqual(["write 3", "append 6", "found 6", "delete 0", "append 5"]);
      });

      it("reports the removal of a missing file only when it is asked to", async () => {
        const workspace = openAgain();
        expect(await workspace.remove("no/such.txt")).toBe(false);
        expect(await workspace.remove("./none.txt")).toBe(false);
        expect(reportedChanges()).toEqual([]);
        expect(await workspace.remove("./none.txt", { wasThere: true })).toBe(false);
        expect(await workspace.remove("no/./such.txt", { wasThere: true })).toBe(false);
        expect(await workspace.remove("a.txt", { wasThere: true })).toBe(true);
        const deleted = ["none.txt", "no/such.txt", "a.txt"].map((path) => `delete ${path} 0: nothing`);
        expect(reportedChanges()).toEqual(deleted);
        const refusal = { code: "GOALD_PATH_REFUSED" };
        await expect(workspace.remove("_goald/x", { wasThere: true })).rejects.toMatchObject(refusal);
        expect(changes).toHaveLength(3);
      });
    });

    describe("a folder that a callback fills", () => {
      const never = () => Promise.reject(new Error("it was filled"));
      async function fill(folder: string): Promise<string> {
        await mkdir(join(folder, "inner"));
        await writeFile(join(folder, "a.txt"), "abc");
        await writeFile(join(folder, "inner/b.txt"), "b");
        return "filled";
      }

      it("is empty and not visible before it is placed with all its files and reported as one folder", async () => {
        const placing = workspace.place("work/new", async (folder) => {
          expect(await readdir(folder)).toEqual([]);
          const filled = await fill(folder);
          expect(await namesIn(workspace)).toEqual([]);
          await expect(workspace.read("work/new/a.txt")).rejects.toMatchObject({ code: "GOALD_FILE_MISSING" });
          return filled;
        });
        expect(await placing).toBe("filled");
        expect(await namesIn(workspace)).toEqual(["work/new/a.txt", "work/new/inner/b.txt"]);
        expect(await textOf(workspace, "work/new/a.txt")).toBe("abc");
        expect(changes).toEqual([{ path: "work/new", operation: "place", bytes: 0, sha256: null, content: null }]);
      });

      it("is discarded when the callback fails, and the failure is passed on unchanged", async () => {
        const failure = Object.assign(new Error("half way"), { code: "ENOENT" });
        const failing = async (folder: string) => {
          await fill(folder);
          throw failure;
        };
        await expect(workspace.place("new", failing)).rejects.toBe(failure);
        expect(await namesIn(workspace)).toEqual([]);
        expect(await workspace.stat("new")).toBeUndefined();
        expect(await workspace.place("new", fill)).toBe("filled");
      });

      it("is refused where a file or folder exists, before the callback runs", async () => {
        await workspace.write("file", "mine");
        await workspace.write("folder/file", "mine");
        for (const path of ["file", "folder", "folder/file"])
          await expect(workspace.place(path, never)).rejects.toMatchObject({ code: "GOALD_FILE" });
        expect(await namesIn(workspace)).toEqual(["file", "folder/file"]);
      });

      it("is refused where a file was created meanwhile", async () => {
        const tooLate = async (folder: string) => {
          await fill(folder);
          await workspace.write("new/mine.txt", "mine");
        };
        await expect(workspace.place("new", tooLate)).rejects.toMatchObject({ code: "GOALD_FILE" });
        expect(await namesIn(workspace)).toEqual(["new/mine.txt"]);
      });

      it.each(["../new", "/etc/new", "_goald/new", "CON", "a/../../new", "new\0", ""])(
        "is refused at %j",
        async (path) => {
          const refusal = { code: expect.stringMatching(/^GOALD_(PATH_REFUSED|FILE)$/) };
          await expect(workspace.place(path, never)).rejects.toMatchObject(refusal);
        },
      );
    });
  });
}
