import { describe, expect, it } from "@jest/globals";
import { describeCall } from "#cli/terminal/describe-call.ts";

const write = (text: unknown, file = "big.txt") => describeCall({ name: "write_to_file", args: { file, text } });

describe("a command that a person is asked about", () => {
  it("is one line of JSON when it is short, also with a line break at the end", () => {
    expect(write("line 2\n")).toBe('write_to_file {"file":"big.txt","text":"line 2\\n"}');
    expect(describeCall({ name: "do_nothing", args: {} })).toBe("do_nothing {}");
  });

  it("shows a text of several lines as text, with its size", () => {
    expect(write('print("a")\nprint("b")\n')).toBe(
      'write_to_file\n  file: "big.txt"\n  text (22 bytes):\n    | print("a")\n    | print("b")',
    );
  });

  it("counts the bytes of the whole text, not of the part that is stored in the event", () => {
    const head = "1 lorem ipsum\n".repeat(300).slice(0, 4_000);
    const shown = write({ blob: "ab".repeat(32), bytes: 77_291, head });
    expect(shown).toContain("text (77,291 bytes):");
    const rows = shown.split("\n").filter((line) => line.startsWith("    | "));
    expect(rows).toHaveLength(20);
    const shownBytes = rows.join("\n").length - rows.length * "    | ".length;
    expect(shown).toContain(`… ${(77_291 - shownBytes).toLocaleString("en-US")} more bytes`);
  });

  it.each([
    ["letters of several bytes", "é".repeat(600)],
    ["pairs of surrogates", `x${"😀".repeat(600)}`],
  ])("adds shown and left bytes up to the size: %s", (_what, text) => {
    const shown = write(text);
    const rows = shown.split("\n").filter((line) => line.startsWith("    | "));
    const shownBytes = Buffer.byteLength(rows.map((row) => row.slice(6)).join("\n"));
    const left = Number(/… ([\d,]+) more bytes/.exec(shown)?.[1]?.replaceAll(",", "") ?? 0);
    expect(shownBytes + left).toBe(Buffer.byteLength(text));
    expect(shown).not.toContain("\ufffd");
  });

  it.each([
    ["one long line", "x".repeat(1_007), "x".repeat(1_600)],
    ["many lines", `${"line\n".repeat(20)}the end`, `${"line\n".repeat(20)}${"the end, but later\n".repeat(3)}`],
  ])("shows the last few characters instead of their number: %s", (_what, short, long) => {
    const edit = (text: string) => describeCall({ name: "edit_file", args: { file: "a", old: "b", new: text } });
    for (const shownBy of [write, edit]) {
      expect(shownBy(`${short}\n`)).not.toContain(" more bytes");
      expect(shownBy(long)).toContain(" more bytes");
    }
  });

  it("keeps a text from passing for another argument, and writes out what a terminal would obey", () => {
    const shown = write('one\n  file: "harmless.txt"\n\u001b[2Jtwo\u202e', "/etc/passwd");
    expect(shown).toContain('\n    |   file: "harmless.txt"\n    | \\u{1b}[2Jtwo\\u{202e}');
    expect(shown.split("\n").filter((line) => line.startsWith("  file:"))).toEqual(['  file: "/etc/passwd"']);
  });

  it("shows every argument, however long another one is", () => {
    const args = {
      text: "x".repeat(9_000),
      list: Array.from({ length: 900 }, (_, n) => `item ${n}`),
      file: "keys.txt",
    };
    const shown = describeCall({ name: "some_command", args });
    expect(shown).toContain('  file: "keys.txt"');
    expect(shown).toContain("text (9,000 bytes):");
    expect(shown).toMatch(/ {2}list: \["item 0".* … \([\d,]+ characters\)/);
    expect(shown.length).toBeLessThan(3_500);
  });
});

describe("an edit", () => {
  const edit = (old: string, text: string): string =>
    describeCall({ name: "edit_file", args: { file: "plan.md", old, new: text } });

  it("is shown as the lines that go and come, without those that stay", () => {
    expect(edit("Monday\nCurry\nTuesday", "Monday\nStir fry\nTuesday")).toBe(
      'edit_file\n  file: "plan.md"\n  20 bytes become 23:\n    - Curry\n    + Stir fry',
    );
  });

  it("shows what cannot be seen, and how much is left out of a long one", () => {
    expect(edit("a\u200bb", "\u001b[2Jb")).toBe(
      'edit_file\n  file: "plan.md"\n  5 bytes become 5:\n    - a\\u{200b}b\n    + \\u{1b}[2Jb',
    );
    expect(edit("a", "line\n".repeat(500))).toMatch(/\n {4}\+ … 2,40[01] more bytes$/);
  });

  it("shows both texts when they are the same or differ only at line ends", () => {
    expect(edit("a\r\nb", "a\nb")).toContain("4 bytes become 3:");
    expect(edit("same", "same")).toContain("    - same\n    + same");
  });
});
