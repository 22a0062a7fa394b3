import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import executePythonFile from "../../commands/execute_python_file.ts";
import readFile from "../../commands/read_file.ts";
import searchFiles from "../../commands/search_files.ts";
import { MemoryWorkspace } from "../helpers/memory-workspace.ts";
import { call, contextOf } from "./context.ts";
import { useDesk } from "./use-desk.ts";

const desk = useDesk();
const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Uint8Array.from(part))));

describe("read_file", () => {
  it.each<[string, string | Uint8Array, { first_line?: number; last_line?: number }, string]>([
    ["a whole file", "one\ntwo\nthree\n", {}, "a.txt, lines 1 to 3 of 3:\none\ntwo\nthree\n"],
    ["a last line without an end", "one\ntwo", {}, "a.txt, lines 1 to 2 of 2:\none\ntwo"],
    ["one line", "one\ntwo\nthree\n", { first_line: 2, last_line: 2 }, "a.txt, line 2 of 3:\ntwo\n"],
    ["from a line on", "one\ntwo\nthree", { first_line: 2 }, "a.txt, lines 2 to 3 of 3:\ntwo\nthree"],
    ["up to a line", "one\ntwo\nthree", { last_line: 2 }, "a.txt, lines 1 to 2 of 3:\none\ntwo\n"],
    ["up to behind the end", "one\ntwo\n", { last_line: 99 }, "a.txt, lines 1 to 2 of 2:\none\ntwo\n"],
    ["empty lines", "\n\n\n", { first_line: 2 }, "a.txt, lines 2 to 3 of 3:\n\n\n"],
    ["no line at all", "", {}, "a.txt is empty."],
    ["a byte order mark, without it", "\uFEFFone\n", {}, "a.txt, line 1 of 1:\none\n"],
    ["a mark elsewhere, with it", "one\n\uFEFFtwo\n", { first_line: 2 }, "a.txt, line 2 of 2:\n\uFEFFtwo\n"],
    ["bytes that are no UTF-8", bytes("a", [0xff, 0xfe], "b"), {}, "a.txt, line 1 of 1:\na\uFFFD\uFFFDb"],
  ])("shows %s", async (_title, content, range, expected) => {
    await desk.workspace.write("a.txt", content);
    const result = await call(readFile, { file: "a.txt", ...range }, desk.context);
    const value = expected === "a.txt is empty." ? "" : expected.slice(expected.indexOf("\n") + 1);
    expect(result).toEqual({ status: "ok", text: expected, source: "workspace", artifacts: [], value });
  });

  it("gives code the whole of a file that the model reads in parts", async () => {
    const content = "a line\n".repeat(100_000);
    await desk.workspace.write("a.txt", content);
    const { text, value } = await call(readFile, { file: "a.txt" }, desk.context);
    expect(text.length).toBeLessThan(20_000);
    expect(value).toBe(content);
  });

  it("returns parts that together are the file, each with the next first_line", async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `line ${index + 1} ${"é".repeat(index % 40)}\n`);
    await desk.workspace.write("a.txt", lines.join(""));
    let first_line: number | undefined = 1;
    let whole = "";
    let parts = 0;
    while (first_line !== undefined) {
      const { text } = await call(readFile, { file: "a.txt", first_line }, desk.context);
      expect(text.length).toBeLessThan(20_000);
      const [head = "", ...rest] = text.split("\n");
      expect(head).toMatch(new RegExp(`^a.txt, lines ${first_line} to \\d+ of 3000:$`));
      const next = /\[Read on with first_line (\d+)\.\]$/.exec(text);
      whole += next ? rest.slice(0, -1).join("\n").concat("\n") : rest.join("\n");
      first_line = next ? Number(next[1]) : undefined;
      parts += 1;
    }
    expect(whole).toBe(lines.join(""));
    expect(parts).toBeGreaterThan(3);
  });

  it("shows the beginning of a very long line, and the number of the next one", async () => {
    await desk.workspace.write("a.json", `${"😀".repeat(50_000)}\nlast\n`);
    const { text } = await call(readFile, { file: "a.json" }, desk.context);
    expect(text.length).toBeLessThan(20_000);
    expect(text).toMatch(/^a\.json, the beginning of line 1 of 2:\n😀/);
    expect(text).toMatch(/😀\n\[This line goes on; .* code can read the rest\. Read on with first_line 2\.\]$/);
  });

  it("reads lines across the parts of a large file", async () => {
    const line = `${"x".repeat(999)}\n`;
    const workspace = new MemoryWorkspace();
    await workspace.write("big.txt", line.repeat(3000));
    const { text } = await call(readFile, { file: "big.txt", first_line: 1049, last_line: 1050 }, contextOf(workspace));
    expect(text).toBe(`big.txt, lines 1049 to 1050 of 3000:\n${line}${line}`);
  });

  it("describes a picture by its kind and size in place of its bytes", async () => {
    const gif = bytes([0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 0x80, 2, 0xe0, 1, ...Array(1990).fill(0)]);
    const png = bytes([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 40, 0, 0, 0, 30]);
    await desk.workspace.write("a.gif", gif);
    await desk.workspace.write("b.txt", png);
    const read = async (file: string) => call(readFile, { file }, desk.context);
    const text = "a.gif is a GIF picture of 640 x 480 pixels (2.0 KB). It cannot be shown as text.";
    expect(await read("a.gif")).toMatchObject({ status: "ok", source: "workspace", text });
    expect((await read("b.txt")).text).toContain("b.txt is a PNG picture of 40 x 30 pixels (24 bytes).");
  });

  it.each<[string, Uint8Array]>([
    ["a picture without its size", bytes([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13])],
    ["UTF-16", bytes([0xff, 0xfe, 0x61, 0, 0x62, 0])],
  ])("reports that %s is binary", async (_title, content) => {
    await desk.workspace.write("a.png", content);
    const result = await call(readFile, { file: "a.png" }, desk.context);
    expect(result).toMatchObject({ status: "failed", code: "file-binary" });
    expect(result.text).toContain(`${content.length} bytes`);
  });

  it("suggests similar names for a missing file, if there are any", async () => {
    const read = () => call(readFile, { file: "string.txt" }, desk.context);
    expect((await read()).text).toContain("The workspace is empty.");
    await desk.workspace.write("zzz", "");
    expect((await read()).text).toContain("search_files shows what there is.");
    for (const path of ["reviews/rackets.txt", "reviews/strings.txt"]) await desk.workspace.write(path, "");
    const text = 'There is no file "string.txt". Similar names: reviews/strings.txt, reviews/rackets.txt.';
    expect(await read()).toMatchObject({ status: "failed", code: "file-missing", text });
  });

  it("names the command that reads a web address", async () => {
    const refusal = { hint: expect.stringMatching(/^browse_website reads web pages/) };
    await expect(call(readFile, { file: "https://a.example/x" }, desk.context)).rejects.toMatchObject(refusal);
  });

  it.each([
    [{ first_line: 3 }, "line-missing"],
    [{ first_line: 2, last_line: 1 }, "bad-range"],
  ])("refuses the lines %j of a file that has two", async (range, code) => {
    await desk.workspace.write("a.txt", "one\ntwo\n");
    expect(await call(readFile, { file: "a.txt", ...range }, desk.context)).toMatchObject({ status: "failed", code });
  });

  it("stops at its signal", async () => {
    await desk.workspace.write("a.txt", "one");
    const context = { ...desk.context, signal: AbortSignal.abort() };
    await expect(call(readFile, { file: "a.txt" }, context)).rejects.toThrow(/abort/i);
  });
});

async function search(
  files: Readonly<Record<string, string | Uint8Array>>,
  args: { directory: string; text?: string; limit?: number },
): Promise<string> {
  const inside = Object.entries(files).map(([path, content]) => [path, Buffer.from(content)] as const);
  const workspace = new MemoryWorkspace({ files: new Map(inside) });
  const result = await call(searchFiles, args, contextOf(workspace));
  expect(result).toMatchObject({ status: "ok", source: "workspace", artifacts: [] });
  return result.text;
}

it("execute_python_file reads UTF-8 without its mark, and runs no other bytes", async () => {
  const context = contextOf(desk.workspace, { cells: { begin: () => ({}) } as never });
  const prepare = async (content: string | Buffer) => {
    await desk.workspace.write("a.py", content);
    return executePythonFile.prepare?.({ file: "a.py" }, context);
  };
  expect(await prepare("\uFEFFprint(1)\n")).toMatchObject({ code: "print(1)\n" });
  const refusal = { message: "a.py is not UTF-8 text, so it was not run." };
  await expect(prepare(Buffer.from("print('caf\xe9')", "latin1"))).rejects.toMatchObject(refusal);
});

describe("search_files", () => {
  const files = { "a.txt": "Alpha\nbeta\n", "notes/b.md": "gamma alpha", "notes/c.md": "" };

  it.each(["", ".", "/", "/workspace", "notes/.."])("lists the whole workspace for %j", async (directory) => {
    const text = await search(files, { directory });
    expect(text.split("\n")).toEqual([
      expect.stringMatching(/^3 files, 22 bytes, in /),
      "a.txt  11 bytes",
      "notes/  2 files, 11 bytes",
      "notes/b.md  11 bytes",
      "notes/c.md  0 bytes",
    ]);
  });

  it.each(["notes", "./notes/", "notes/../notes", "/workspace/notes"])(
    "lists the folder %j with its sum",
    async (directory) => {
      expect(await search(files, { directory })).toBe(
        `2 files, 11 bytes, in ${directory}:\nnotes/b.md  11 bytes\nnotes/c.md  0 bytes`,
      );
    },
  );

  it("shows the lines that contain a text, in any case", async () => {
    expect(await search(files, { directory: "", text: "ALPHA" })).toBe(
      '2 lines with "ALPHA" in 3 files of the workspace:\na.txt:1: Alpha\nnotes/b.md:1: gamma alpha',
    );
    expect(await search(files, { directory: "notes", text: "beta" })).toBe('0 lines with "beta" in 2 files of notes.');
  });

  it("shows a long line around the match", async () => {
    const line = `${"a".repeat(5000)} needle ${"b".repeat(5000)}`;
    const text = await search({ "a.txt": line }, { directory: "", text: "needle" });
    const [, result = ""] = text.split("\n");
    expect(result).toMatch(/^a\.txt:1: …a+ needle b+…$/);
    expect(result.length).toBeLessThan(230);
  });

  it("stops at the limit, and reports it", async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}.txt`, "x\nx\n"]));
    const lines = (await search(many, { directory: "", text: "x", limit: 10 })).split("\n");
    expect(lines).toHaveLength(12);
    expect(lines.at(-1)).toMatch(/^Stopped at 10 results: there may be more\./);
    const listed = (await search(many, { directory: "", limit: 10 })).split("\n");
    expect(listed).toHaveLength(12);
    expect(listed.at(-1)).toBe("[… 20 more in this folder]");
    expect(await search(many, { directory: "", limit: 30 })).not.toContain("Stopped");
  });

  it("shows the shape of a large workspace: all folders with their sums, some files of each", async () => {
    const many = Object.fromEntries(
      ["a", "b/c", "d"].flatMap((folder) =>
        Array.from({ length: 100 }, (_, index) => [`${folder}/f${String(index).padStart(2, "0")}.txt`, "12345"]),
      ),
    );
    const lines = (await search({ ...many, "readme.md": "x" }, { directory: "", limit: 20 })).split("\n");
    expect(lines.slice(0, 4)).toEqual([
      "301 files, 1.5 KB, in the workspace:",
      "readme.md  1 byte",
      "a/  100 files, 500 bytes",
      "a/f00.txt  5 bytes",
    ]);
    expect(lines).toEqual(expect.arrayContaining(["b/  100 files, 500 bytes", "b/c/  100 files, 500 bytes"]));
    expect(lines).toEqual(expect.arrayContaining(["d/  100 files, 500 bytes"]));
    expect(lines.filter((line) => line.startsWith("[…")).length).toBe(3);
    expect(lines.length).toBeLessThanOrEqual(1 + 20 + 3);
    // Nothing is left out when everything fits.
    expect((await search({ ...many, "readme.md": "x" }, { directory: "", limit: 1000 })).split("\n")).toHaveLength(306);
  });

  it("does not read hidden folders", async () => {
    await mkdir(join(desk.folder, ".git/objects"), { recursive: true });
    await desk.workspace.write("z.txt", "x");
    await writeFile(join(desk.folder, ".git/objects/1"), "");
    const looked: string[] = [];
    const list: typeof desk.workspace.list = (directory, entered) =>
      desk.workspace.list(directory, (folder) => looked.push(folder) > 0 && (entered?.(folder) ?? true));
    const context = { ...desk.context, workspace: { ...desk.workspace, list } };
    const { text } = await call(searchFiles, { directory: "" }, context);
    expect(text).toContain("1 file, 1 byte, in the workspace:\nz.txt  1 byte");
    expect(looked).toEqual([".git"]);
  });

  it("numbers lines and shows each once, even with several matches", async () => {
    const content = "no\n\nyes and YES\nİyes\n\n\nlast: yes";
    expect(await search({ "a.txt": content }, { directory: "", text: "yEs" })).toBe(
      '3 lines with "yEs" in 1 file of the workspace:\na.txt:3: yes and YES\na.txt:4: İyes\na.txt:7: last: yes',
    );
    expect(await search({ "a.txt": "İİİ x\nistanbul\nİSTANBUL" }, { directory: "", text: "İst" })).toContain(
      "a.txt:2: istanbul\na.txt:3: İSTANBUL",
    );
  });

  it("finds the same lines as a search line by line, for any content", async () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "B", "\n", "İ", "ß", "\r"), maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(letters, fc.constantFrom("a", "ab", "İ", "ß"), async (content, text) => {
        const [, ...found] = (await search({ f: content }, { directory: "", text })).split("\n");
        const lower = (each: string) => each.replaceAll("İ", "i").toLowerCase();
        const lines = content
          .split("\n")
          .flatMap((line, index) => (lower(line).includes(lower(text)) ? [index + 1] : []));
        expect(found.map((line) => Number(line.split(":")[1]))).toEqual(lines);
      }),
    );
  });

  it("makes no more results than requested", async () => {
    const child = join(import.meta.dirname, "search.child.ts");
    const { stdout } = await promisify(execFile)(process.execPath, ["--max-old-space-size=64", child]);
    expect(stdout.split("\n").slice(1, 5)).toEqual([
      "a.txt:1: a",
      "a.txt:2: a",
      "a.txt:3: a",
      expect.stringContaining("Stopped at 3 results"),
    ]);
  });

  it("stops when the answer is full, and reports it", async () => {
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`${"long/".repeat(20)}${index}`, ""]));
    const text = await search(many, { directory: "", limit: 1000 });
    expect(text.length).toBeLessThan(20_000);
    expect(text).toMatch(/Stopped at \d+ lines, which fill the answer/);
  });

  it("skips binary and very large files, and reports it", async () => {
    const text = await search(
      { "a.bin": Uint8Array.of(110, 0, 101), "big.txt": "n".repeat(4 * 1024 * 1024 + 1), "c.txt": "n" },
      { directory: "", text: "n" },
    );
    expect(text).toContain("c.txt:1: n");
    expect(text).toContain("2 files not searched: binary, or over 4 MB.");
  });

  it("skips hidden folders and goald's own unless requested", async () => {
    const hidden = { ".git/config": "x", "_goald/outputs/c1.txt": "x", "sub/.cache/d": "x", ".env": "x", "a.txt": "x" };
    expect(await search(hidden, { directory: "" })).toBe(
      "2 files, 2 bytes, in the workspace:\n.env  1 byte\na.txt  1 byte\n" +
        "Left out: .git/, _goald/, sub/.cache/. Name such a directory to look inside.",
    );
    expect(await search(hidden, { directory: "_goald" })).toContain("_goald/outputs/c1.txt  1 byte");
    expect(await search(hidden, { directory: "sub/.cache" })).toContain("sub/.cache/d  1 byte");
  });

  it("does not follow links", async () => {
    await symlink(desk.home, join(desk.folder, "out"));
    await symlink(".", join(desk.folder, "again"));
    await desk.workspace.write("a.txt", "x");
    expect((await call(searchFiles, { directory: "" }, desk.context)).text).toBe(
      "1 file, 1 byte, in the workspace:\na.txt  1 byte",
    );
  });

  it("suggests existing folders for a missing one", async () => {
    await desk.workspace.write("notes/a.txt", "");
    const result = await call(searchFiles, { directory: "note" }, desk.context);
    expect(result).toMatchObject({ status: "failed", code: "folder-missing" });
    expect(result.text).toBe('There is no folder "note". Folders there: notes/.');
  });

  it("finds nothing in a workspace that is empty or does not exist yet", async () => {
    expect(await search({}, { directory: "" })).toBe("0 files in the workspace.");
    const workspace = openLocalWorkspace(join(desk.home, "workspace", "later"));
    expect((await call(searchFiles, { directory: "" }, contextOf(workspace))).text).toBe("0 files in the workspace.");
  });
});
