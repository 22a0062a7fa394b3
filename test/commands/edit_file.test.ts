import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import editFile from "../../commands/edit_file.ts";
import { call } from "./context.ts";
import { useDesk } from "./use-desk.ts";

const file = "a.txt";
type Edit = { readonly old: string; readonly new: string; readonly count?: number };

const desk = useDesk();
async function put(content: string | Uint8Array): Promise<void> {
  await desk.workspace.write(file, content);
  desk.changes.length = 0;
}
const readBack = async (): Promise<string> => Buffer.from(await desk.workspace.read(file)).toString();
const edit = (args: Edit) => call(editFile, { file, ...args }, desk.context);

/** Edits a file with this content, and returns the answer and the file. */
async function tryEdit(content: string | Uint8Array, args: Edit) {
  await put(content);
  const { status, code, text } = await edit(args);
  const changes = desk.changes.map(({ operation }) => operation);
  return { status, code, text, changes, file: await desk.workspace.read(file), now: await readBack() };
}

const COUNTED = Array.from({ length: 60 }, (_, index) => `line ${index + 1} of the file`).join("\n");

describe("edit_file", () => {
  it("replaces the text where it occurs, and shows the changed lines with their numbers", async () => {
    const done = await tryEdit(COUNTED, { old: "line 30 of", new: "row 30\nof" });
    expect(done).toMatchObject({ status: "ok", now: COUNTED.replace("line 30 of", "row 30\nof") });
    // The history keeps the old content and the new one, each once.
    expect(done.changes).toEqual(["found", "write"]);
    expect(done.text).toBe(
      [
        "Edited a.txt at 1 place, line 30. It has 61 lines now.",
        "28: line 28 of the file",
        "29: line 29 of the file",
        "30: row 30",
        "31: of the file",
        "32: line 31 of the file",
        "33: line 32 of the file",
      ].join("\n"),
    );
  });

  it("replaces all of several places when their number is given, and shows each once", async () => {
    const { status, now, text } = await tryEdit(COUNTED, { old: "of the file", new: "here", count: 60 });
    expect(status).toBe("ok");
    expect(now).toBe(COUNTED.replaceAll("of the file", "here"));
    expect(text).toContain("at 60 places, lines 1, 2, 3,");
    expect(text).toContain("and 40 more.");
    expect(text.split("\n").length).toBeLessThanOrEqual(45);
    const apart = await tryEdit(COUNTED, { old: "line 1", new: "x", count: 11 });
    expect(apart.text).toMatch(/^Edited a\.txt at 11 places, lines 1, 10, 11, .*\n1: x of the file\n.*\n.*\n…\n8: /);
  });

  it.each<[title: string, content: string, args: Edit, now: string]>([
    ["removes text", "a b c", { old: " b", new: "" }, "a c"],
    ["empties a file", "all", { old: "all", new: "" }, ""],
    ["edits a file without a final line end", "a\nb", { old: "b", new: "c" }, "a\nc"],
    ["adds a final line end", "a\nb", { old: "b", new: "b\n" }, "a\nb\n"],
    ["edits after a byte order mark, which stays", "\uFEFFa\nb\n", { old: "a\nb", new: "c" }, "\uFEFFc\n"],
    ["takes dollar signs as they are", "price", { old: "price", new: "$& $1 $$" }, "$& $1 $$"],
    ["matches lines of a CRLF file", "a\r\nb\r\nc\r\n", { old: "a\nb", new: "x\ny\nz" }, "x\r\ny\r\nz\r\nc\r\n"],
    ["adds no LF to a CRLF file", "a\r\nb\r\n", { old: "b", new: "b\nc" }, "a\r\nb\r\nc\r\n"],
    ["matches CRLF text in an LF file, and keeps its line ends", "a\nb\n", { old: "a\r\nb", new: "c\r\nd" }, "c\nd\n"],
    ["matches the CRLF lines of a mixed file", "a\r\nb\r\nc\nd\n", { old: "a\nb", new: "x\ny" }, "x\r\ny\r\nc\nd\n"],
    ["matches the LF lines of a mixed file", "a\r\nb\r\nc\nd\n", { old: "c\nd", new: "x\ny" }, "a\r\nb\r\nx\ny\n"],
    ["edits letters beyond ASCII", "Größe: 3 🎾\n", { old: "ße: 3 🎾", new: "sse: ✓" }, "Grösse: ✓\n"],
  ])("%s", async (_title, content, args, now) => {
    expect(await tryEdit(content, args)).toMatchObject({ status: "ok", now });
  });

  it("says that line ends were kept", async () => {
    const { text } = await tryEdit("a\r\nb\r\n", { old: "a\nb", new: "c" });
    expect(text).toBe("Edited a.txt at 1 place, line 1. It has 1 line now. Its line ends stayed CRLF.\n1: c");
  });
});

describe("edit_file refuses, changes nothing, and says why", () => {
  const LATIN = Buffer.from("caf\xe9 old", "latin1");
  const HUGE = { old: "x", new: "y".repeat(9000), count: 9000 };

  it.each<[title: string, content: string | Uint8Array, args: Edit, words: string]>([
    [
      "an empty old text",
      "a",
      { old: "", new: "b" },
      "`old` is empty. write_to_file replaces a whole file, and append_to_file adds to its end.",
    ],
    ["equal texts", "a", { old: "a", new: "a" }, "`old` and `new` are the same text, so there is nothing to change."],
    [
      "texts that differ in line ends only",
      "a\r\nb",
      { old: "a\nb", new: "a\r\nb" },
      "are the same text with the line ends of a.txt",
    ],
    [
      "a binary file",
      "PNG\0 old",
      { old: "old", new: "b" },
      "a.txt holds binary data, which edit_file does not change.",
    ],
    [
      "a file that is not UTF-8",
      LATIN,
      { old: "old", new: "b" },
      "a.txt is not UTF-8 text, so an edit could damage it.",
    ],
    [
      "overlapping places",
      "aaa",
      { old: "aa", new: "b", count: 2 },
      "`old` occurs in a.txt at places that overlap (line 1)",
    ],
    [
      "more places than expected",
      "x\nx\ny x",
      { old: "x", new: "b" },
      "`old` occurs 3 times in a.txt, not once: lines 1, 2 and 3. Nothing was changed: give more of the text around the place that you mean, or count 3 to change all.",
    ],
    [
      "fewer places than expected",
      "x",
      { old: "x", new: "b", count: 2 },
      "`old` occurs once in a.txt, not 2 times: line 1. Nothing was changed: give more of the text around the place that you mean, or count 1 to change all.",
    ],
    [
      "a text that is nowhere",
      "hello",
      { old: "12345", new: "b" },
      "`old` is not in a.txt (1 line). Nothing was changed. Nothing in it is similar: read it first.",
    ],
    ["more places than it replaces", "x".repeat(10_001), { old: "x", new: "b" }, "around the place that you mean."],
    ["a result that could not be restored", "x".repeat(9000), HUGE, "a.txt would have 81000000 bytes"],
  ])("%s", async (_title, content, args, words) => {
    const { text, ...answer } = await tryEdit(content, args);
    expect(text).toContain(words);
    expect(answer).toMatchObject({ status: "failed", changes: [], file: new Uint8Array(Buffer.from(content)) });
  });

  it("a missing file", async () => {
    expect(await edit({ old: "a", new: "b" })).toMatchObject({ status: "failed", code: "file-unfit" });
    // After a crash the miss runs again.
    const args = { file, old: "a", new: "b" };
    expect(await editFile.prepare?.(args, desk.context)).toBeNull();
    expect(await editFile.probe?.(args, desk.context, null)).toBe("not-done");
  });
});

describe("edit_file answers a miss with the nearest lines", () => {
  const code = [
    "function add(first, second) {",
    "\tconst sum = first + second;",
    "\treturn sum; ",
    "}",
    "",
    "function greet(name) {",
    "\treturn `Hello, “name”!`;",
    "}",
  ].join("\n");

  const SPACED = "function add( first,second ) {\n const sum = first+second;";
  const NUMBERED = "1: function add(first, second) {\n2: \tconst sum = first + second;";
  const TWO = "They differ only in white space, quotation marks, dashes or case.";
  it.each<[title: string, old: string, words: string, line: string]>([
    [
      "tabs",
      "    const sum = first + second;",
      "They differ only in indentation: the file uses tabs.",
      "2: \tconst sum",
    ],
    ["trailing spaces", "\treturn sum;\n}", "They differ only in trailing spaces.", "3: \treturn sum; "],
    [
      "quotation marks",
      '`Hello, "name"!`',
      "They differ only in quotation marks or dashes.",
      "7: \treturn `Hello, “name”!`;",
    ],
    ["a final line end", "”!`;\n}\n", "only in a line break at the beginning or the end of the file.", "8: }"],
    ["case", "function Greet(name) {", "They differ only in upper and lower case.", "6: function greet(name) {"],
    ["white space", SPACED, "The most similar lines follow.", "1: function add(first, second) {"],
    ["two of these at once", "function Greet(name)  {\n    return", TWO, "6: function greet(name) {"],
    ["line numbers", NUMBERED, "`old` has the line numbers of an answer", "2: \tconst sum"],
    ["escapes", "{\\n\\tconst sum = first + second;", "`old` has a backslash before n, t or a quote", "2: \tconst sum"],
    [
      "another word",
      "function add(first, second) {\n\tconst total = first + second;\n\treturn sum;",
      'Line 2 differs first: `old` has "\\tconst total = first + second;" there.',
      "2: \tconst sum",
    ],
  ])("and names %s", async (_title, old, words, line) => {
    const { status, text, changes } = await tryEdit(code, { old, new: "nothing" });
    expect({ status, changes }).toEqual({ status: "failed", changes: [] });
    expect(text).toContain(words);
    expect(text).toContain(`\n${line}`);
  });

  it("names the tabs only where they differ (control), and says that an edit was made before", async () => {
    const { text } = await tryEdit("a\n  const sum = 1;\n", { old: "\tconst sum = 1;", new: "" });
    expect(text).toContain("They differ only in indentation: the file uses spaces.");
    const edit = { old: "const port = 8080;", new: "const port = 8081;" };
    const again = await tryEdit("one\nconst port = 8081;\n", edit);
    expect(again.text).toContain("`new` is there already: line 2. The most similar lines follow.");
  });

  it("finds the place in a long file, and shows a bounded part of long lines", async () => {
    const lines = Array.from({ length: 2000 }, (_, index) => `value_${index} = compute(${index * 7}, "${index % 13}")`);
    const { text } = await tryEdit(lines.join("\n"), { old: 'value_1234 = compute(8638, "11")', new: "" });
    expect(text).toContain('1235: value_1234 = compute(8638, "12")');
    const wide = await tryEdit(`${"x y ".repeat(50_000)}const needle = 1;${" z w".repeat(50_000)}`, {
      old: "const needles = 1;",
      new: "",
    });
    expect(wide.text).toContain("const needle = 1;");
    expect(wide.text.length).toBeLessThan(600);
    const deep = await tryEdit(`${"x y ".repeat(50_000)}const needle = 1;`, { old: "needle", new: "found" });
    expect(deep.text).toMatch(/line 1\. It has 1 line now\.\n1: …[xy ]*const found = 1;$/);
  });
});

describe("edit_file and changes by others", () => {
  const args = { file, old: "two", new: "2" };

  it("does not edit a file that was changed after the call had begun", async () => {
    await put("one two");
    const prepared = await editFile.prepare?.(args, desk.context);
    await writeFile(join(desk.folder, file), "one two three");
    expect(await editFile.run(args, desk.context, prepared)).toMatchObject({ status: "failed", code: "changed-since" });
    expect(await readBack()).toBe("one two three");
  });

  it.each<[title: string, now: string | null, expected: string]>([
    ["nothing has happened", "one two", "not-done"],
    ["the edit is there", "one 2", "done"],
    ["somebody else changed the file", "one two three", "unknown"],
    ["the edit is there and something after it", "one 2 three", "unknown"],
    ["the file is gone", null, "unknown"],
  ])("after a crash, when %s", async (_title, now, expected) => {
    await put("one two");
    const prepared = JSON.parse(JSON.stringify(await editFile.prepare?.(args, desk.context))) as unknown;
    if (now === null) await desk.workspace.remove(file);
    else await writeFile(join(desk.folder, file), now);
    desk.changes.length = 0;
    expect(await editFile.probe?.(args, desk.context, prepared)).toBe(expected);
    expect(desk.changes.map(({ operation }) => operation)).toEqual(expected === "done" ? ["found"] : []);
  });
});
