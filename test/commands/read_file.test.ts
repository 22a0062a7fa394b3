import { describe, expect, it } from "@jest/globals";
import type { Observation } from "#core/call.ts";
import readFile from "../../commands/read_file.ts";
import { MemoryWorkspace } from "../helpers/memory-workspace.ts";
import { call, contextOf, makeDesk, REFUSED_PATHS } from "./context.ts";

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
    [
      "a mark that stands elsewhere, with it",
      "one\n\uFEFFtwo\n",
      { first_line: 2 },
      "a.txt, line 2 of 2:\n\uFEFFtwo\n",
    ],
    ["bytes that are no UTF-8", bytes("a", [0xff, 0xfe], "b"), {}, "a.txt, line 1 of 1:\na\uFFFD\uFFFDb"],
  ])("shows %s", async (_title, content, range, expected) => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", content);
    const result = await call(readFile, { file: "a.txt", ...range }, desk.context);
    const value = expected === "a.txt is empty." ? "" : expected.slice(expected.indexOf("\n") + 1);
    expect(result).toEqual({ status: "ok", text: expected, source: "workspace", artifacts: [], value });
  });

  it("gives code the whole of a file that the model reads in parts", async () => {
    await using desk = await makeDesk();
    const content = "a line\n".repeat(100_000);
    await desk.workspace.write("a.txt", content);
    const { text, value } = (await call(readFile, { file: "a.txt" }, desk.context)) as Observation;
    expect(String(text).length).toBeLessThan(20_000);
    expect(value).toBe(content);
  });

  it("returns parts that together are the file, each with the next first_line", async () => {
    await using desk = await makeDesk();
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
    await using desk = await makeDesk();
    await desk.workspace.write("a.json", `${"😀".repeat(50_000)}\nlast\n`);
    const { text } = await call(readFile, { file: "a.json" }, desk.context);
    expect(text.length).toBeLessThan(20_000);
    expect(text).toMatch(/^a\.json, the beginning of line 1 of 2:\n😀/);
    expect(text).toMatch(/😀\n\[This line goes on; .* Read on with first_line 2\.\]$/);
  });

  it("reads lines across the parts of a large file", async () => {
    const line = `${"x".repeat(999)}\n`;
    const workspace = new MemoryWorkspace();
    await workspace.write("big.txt", line.repeat(3000));
    const { text } = await call(readFile, { file: "big.txt", first_line: 1049, last_line: 1050 }, contextOf(workspace));
    expect(text).toBe(`big.txt, lines 1049 to 1050 of 3000:\n${line}${line}`);
  });

  it("describes a picture by its kind and size in place of its bytes", async () => {
    await using desk = await makeDesk();
    const gif = bytes([0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 0x80, 2, 0xe0, 1, ...Array(1990).fill(0)]);
    const png = bytes([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 40, 0, 0, 0, 30]);
    await desk.workspace.write("a.gif", gif);
    await desk.workspace.write("b.txt", png);
    const read = async (file: string) => call(readFile, { file }, desk.context);
    expect(await read("a.gif")).toMatchObject({
      status: "ok",
      source: "workspace",
      text: "a.gif is a GIF picture of 640 x 480 pixels (2.0 KB). It cannot be shown as text.",
    });
    expect((await read("b.txt")).text).toContain("b.txt is a PNG picture of 40 x 30 pixels (24 bytes).");
  });

  it.each<[string, Uint8Array]>([
    ["a picture without its size", bytes([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13])],
    ["UTF-16", bytes([0xff, 0xfe, 0x61, 0, 0x62, 0])],
  ])("reports that %s is binary", async (_title, content) => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.png", content);
    const result = await call(readFile, { file: "a.png" }, desk.context);
    expect(result).toMatchObject({ status: "failed", code: "file-binary" });
    expect(result.text).toContain(`${content.length} bytes`);
  });

  it("suggests similar names for a missing file", async () => {
    await using desk = await makeDesk();
    for (const path of ["reviews/rackets.txt", "reviews/strings.txt", "zzz"]) await desk.workspace.write(path, "");
    const result = await call(readFile, { file: "string.txt" }, desk.context);
    expect(result).toMatchObject({ status: "failed", code: "file-missing" });
    expect(result.text).toBe('There is no file "string.txt". Similar names: reviews/strings.txt, reviews/rackets.txt.');
  });

  it("reports an empty workspace, or no similar name", async () => {
    await using desk = await makeDesk();
    expect((await call(readFile, { file: "a.txt" }, desk.context)).text).toContain("The workspace is empty.");
    await desk.workspace.write("zzz", "");
    expect((await call(readFile, { file: "a.txt" }, desk.context)).text).toContain("search_files shows what there is.");
  });

  it.each([
    [{ first_line: 3 }, "line-missing"],
    [{ first_line: 2, last_line: 1 }, "bad-range"],
  ])("refuses the lines %j of a file that has two", async (range, code) => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "one\ntwo\n");
    expect(await call(readFile, { file: "a.txt", ...range }, desk.context)).toMatchObject({ status: "failed", code });
  });

  it("stops at its signal", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a.txt", "one");
    const context = { ...desk.context, signal: AbortSignal.abort() };
    await expect(call(readFile, { file: "a.txt" }, context)).rejects.toThrow(/abort/i);
  });

  it("refuses paths outside the workspace", async () => {
    await using desk = await makeDesk();
    for (const file of REFUSED_PATHS)
      await expect(call(readFile, { file }, desk.context)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
  });
});
