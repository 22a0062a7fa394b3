import { describe, expect, it } from "@jest/globals";
import { fitLine } from "#cli/terminal/living-text.ts";
import { renderTable } from "#cli/terminal/print.ts";

describe("a table", () => {
  it("has its columns below each other, without blanks at the ends of lines", () => {
    expect(
      renderTable(
        ["A", "LONG", "C"],
        [
          ["1", "2", "3"],
          ["10", "20", ""],
        ],
      ),
    ).toBe("A   LONG  C\n1   2     3\n10  20");
  });

  it("counts the cells that a character takes on the screen", () => {
    const [head, wide, marked] = renderTable(
      ["N", "X"],
      [
        ["漢字", "a"],
        ["e\u0301😀", "b"],
      ],
    ).split("\n");
    expect(head).toBe("N     X");
    expect(wide).toBe("漢字  a");
    expect(marked).toBe("e\u0301😀   b");
  });

  it("shortens the cells of one column when its rows would not fit, and no others", () => {
    const rows = [
      ["notes.md", "write", "2"],
      [`${"long-".repeat(8)}name.md`, "write", "12"],
    ];
    const shown = renderTable(["FILE", "LAST", "STEP"], rows, 40).split("\n");
    expect(shown.map((row) => row.length)).toEqual([40, 37, 38]);
    expect(shown[2]).toMatch(/^long-long-\S+… {2}write {2}12$/);
    expect(renderTable(["FILE", "LAST", "STEP"], rows, 10).split("\n")[1]).toBe("notes.md  write  2");
  });

  it("is cut to the width of the screen, at whole characters", () => {
    expect(fitLine("abcdef", 6)).toBe("abcdef");
    expect(fitLine("abcdefg", 6)).toBe("abcde…");
    expect(fitLine("漢字漢字", 6)).toBe("漢字…");
  });
});
