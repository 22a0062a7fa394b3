import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { fitLine, widthOf } from "#cli/terminal/living-text.ts";
import { layOut, renderTable } from "#cli/terminal/print.ts";
import { renderAgents } from "#cli/verbs/ps.ts";
import { systemClock } from "#util/clock.ts";
import { AgentView } from "#views/agent-view.ts";
import { sampleOf } from "../../helpers/local-server.ts";

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
    const [head, wide, marked, picture] = renderTable(
      ["N", "X"],
      [
        ["漢ｶﾞ", "a"],
        ["e\u0301😀", "b"],
        ["✅⭐", "🇩🇪"],
      ],
    ).split("\n");
    expect(head).toBe("N     X");
    expect(wide).toBe("漢ｶﾞ  a");
    expect(marked).toBe("e\u0301😀   b");
    expect(picture).toBe("✅⭐  🇩🇪");
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
    expect(renderTable(["N", "LAST"], [["1", "write"]], 3)).toBe("N  LAST\n1  write");
    expect(renderTable(["N"], Array(200_000).fill(["1"]))).toHaveLength(400_001);
  });

  it("is cut to the width of the screen, at whole characters", () => {
    expect(fitLine("abcdef", 6)).toBe("abcdef");
    expect(fitLine("abcdefg", 6)).toBe("abcde…");
    expect(fitLine("漢字漢字", 6)).toBe("漢字…");
  });
});

it.each([
  [{}, "since 1 Feb 2020 12:00\n  | at 1 Feb 2020 12:00"],
  [{ isExact: (line: string) => line.startsWith(" ") }, "since 1 Feb 2020 12:00\n  | at 2020-02-01T12:00:00Z"],
])("times are local ones, but in lines that are exact: %j", (look, shown) => {
  const text = `since ${new Date(2020, 1, 1, 12).toISOString()}\n  | at 2020-02-01T12:00:00Z`;
  expect(layOut(text, { ...look, columns: 80, colour: false, now: new Date() })).toBe(shown);
});

const fromNow = (ms: number): string => new Date(systemClock.now().getTime() + ms).toISOString();
const agent = (id: string, change: Partial<AgentView> = {}): AgentView => ({
  ...sampleOf(AgentView),
  id,
  state: "running",
  until: null,
  step: 12,
  costUsd: 0.04,
  stalledMs: null,
  received: [],
  changedAt: fromNow(-3_500),
  workspace: `/home/ada/goald/workspace/${id}`,
  ...change,
});
const now = { kind: "waiting", command: "clone_repository", subject: "", thought: "" } as const;
const LONG = "a-very-long-name-of-an-agent-that-plans-meals-fo";
/** Made anew for each table: their ages are those of that moment. */
const agents = () => [
  agent("chef"),
  agent("lim", { state: "waiting: rate limit", until: fromNow(13_500) }),
  agent(LONG, { state: "waiting: approval", now }),
  agent("日本語のエージェント", { state: "paused: budget" }),
  agent("old", { state: "completed", changedAt: fromNow(-3 * 3_600_000) }),
];
const rows = (columns: number, colour = false): readonly string[] =>
  renderAgents(agents(), { columns, colour }, {}).split("\n");

describe("the list of agents", () => {
  it.each([60, 100, 200])("fits into %i columns with whole states, steps, costs and ages", (columns) => {
    const shown = rows(columns);
    expect(shown.filter((row) => widthOf(row) > columns)).toEqual([]);
    const text = shown.join("\n");
    for (const word of ["waiting: rate limit (14 s)", "waiting: approval", "paused: budget", "$0.04", " 3 s", " 3 h"])
      expect(text).toContain(word);
    expect(shown.find((row) => row.startsWith("lim"))).toMatch(/^lim +waiting: rate limit \(14 s\) +12 +\$0\.04 +3 s$/);
    expect(text).not.toContain("workspace");
  });

  it("shortens ids only where they do not fit, and groups agents by what they do", () => {
    expect(rows(200).join("\n")).toContain(`${LONG}  waiting: approval of clone_repository`);
    expect(rows(60).join("\n")).toMatch(/^a-very\S*… +waiting: approval +12/m);
    expect(rows(60).filter((row) => /^[A-Z][a-z]+ \(\d\)$/.test(row))).toEqual([
      "Running (1)",
      "Waiting (3)",
      "Ended (1)",
    ]);
  });

  it("leaves out the word waiting, which its title has, before ids become too short to tell agents apart", () => {
    const old = { changedAt: fromNow(-45 * 60_000), costUsd: 0.0052 };
    const wide = [
      agent("lim", { ...old, state: "waiting: rate limit", until: fromNow(49 * 60_000 - 500) }),
      agent(LONG, { ...old, state: "paused: model-refused", costUsd: 123.4 }),
      agent("paused-by-a-limit-of-steps", { ...old, state: "waiting: person", step: 12_345 }),
    ];
    const shown = renderAgents(wide, { columns: 60, colour: false }, {}).split("\n");
    expect(shown.filter((row) => widthOf(row) > 60)).toEqual([]);
    expect(shown.find((row) => row.startsWith("lim"))).toMatch(/^lim +rate limit \(49 min\) +12 +\$0\.0052 +45 min$/);
    expect(shown.at(-1)).toMatch(/^paused-by-a\S*… +person +12345 /);
    expect(renderAgents(wide, { columns: 100, colour: false }, {})).toContain("  waiting: rate limit (49 min)  ");
  });

  it("is coloured by state where colours are wanted, in the same cells", () => {
    const painted = rows(100, true);
    expect(painted.map(stripVTControlCharacters)).toEqual(rows(100));
    expect(painted.join("\n")).toContain("\u001b[32mrunning\u001b[39m");
    expect(rows(100).join("")).not.toContain("\u001b");
  });

  it("has whole ids and no titles for programs, and all columns with -o wide", () => {
    const piped = rows(Number.POSITIVE_INFINITY);
    expect(piped.map((row) => row.split(/ {2,}/)[0])).toEqual(["ID", ...agents().map(({ id }) => id)]);
    const wide = renderAgents(agents(), { columns: 60, colour: false }, { output: "wide" });
    expect(wide).toMatch(/^ID +STATE +STEP +COST +CHANGED +TOKENS +NAME +STARTED BY +OUTSIDE WORDS +WORKSPACE\n/);
    expect(wide).toContain(`/home/ada/goald/workspace/${LONG}`);
  });
});
