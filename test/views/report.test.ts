import { describe, expect, it } from "@jest/globals";
import type { NewEvent, PauseCode } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { FileVersion } from "#core/ports/store.ts";
import { nextStepOf } from "#views/next-step.ts";
import { findNamedFiles, renderReport } from "#views/report.ts";
import {
  asked,
  created,
  finished,
  log,
  modelFailed,
  observed,
  rejected,
  replied,
  requested,
  wholeStep,
} from "../helpers/events.ts";
import { historyOf } from "../helpers/file-history.ts";
import { factsOf } from "../helpers/report-of.ts";

const reportOf = (events: readonly NewEvent[], versions?: readonly FileVersion[]): string =>
  renderReport(factsOf(log(...events), versions));
const call = (step: number, name: string, args: Readonly<Record<string, unknown>>): readonly NewEvent[] => [
  asked(step),
  replied(step),
  { ...requested(name, step), call: { name, args } },
];
const completed: readonly NewEvent[] = [
  { type: "turn-finished", outcome: "completed", reason: "It is all in strings.txt." },
];

describe("the report of an agent that finished", () => {
  const { versions } = historyOf([
    [1, "strings.txt", "write", "abc"],
    [2, "notes.md", "write", "abcd"],
    [3, "notes.md", "found", "abcdef"],
    [3, "old.md", "write", "x"],
    [4, "old.md", "delete", ""],
  ]);
  const events = [
    created({ stepLimit: 10 } as never),
    { type: "goals-changed", goals: ["Write strings.txt", "Be kind"] } as const,
    ...wholeStep(1),
    ...wholeStep(2),
    ...call(3, "read_file", { file: "in.md" }),
    finished(3, observed("text", { source: "workspace" })),
    ...completed,
  ];
  const report = reportOf(events, versions);

  it("names the agent, its state and the reason", () => {
    expect(report).toMatch(/^# Foo: report\n\nFoo \(`foo`\) is an AI that recommends tennis equipment\.\n/);
    expect(report).toContain("- State: **completed**. It reported that its goals are reached.");
  });

  it("lists each goal with the files that it names, and claims no more", () => {
    expect(report).toContain("1. Write strings.txt\n   - Evidence: it names `strings.txt` (step 1)\n");
    expect(report).toContain("2. Be kind\n   - Evidence: it names no existing file\n");
    expect(report).toContain("goald does not judge whether a goal is reached");
    expect(report).toContain("> It is all in strings.txt.\n\nThese words name existing files: `strings.txt`.");
  });

  it("lists existing files with size, step, command, and whether a person changed them", () => {
    expect(report).toContain("2 files in `/w/foo`.");
    expect(report).toMatch(/- `strings\.txt`: 3 bytes, by the agent in step 1, 2026-/);
    expect(report).toMatch(/- `notes\.md`: 6 bytes, changed by a person, found in step 3, 2026-/);
    expect(report).not.toContain("old.md");
  });

  it("lists the sources that were read, and the cost", () => {
    expect(report).toMatch(/- `in\.md` by `read_file` \(workspace\), last in step 3, /);
    expect(report).toContain("- 3 steps, 3 requests to the model\n- 30 tokens in (6 of them cached), 15 out\n");
    expect(report).toContain("- Cost unknown: the model has no known price");
    expect(report).toContain("- Limit: 7 of 10 steps left (3 used)");
    expect(report).toContain("## Failures\n\nNone.\n");
  });

  it("names who changed a file, not who trusted its words", () => {
    const trusted = { ...versions[0], path: "strings.txt", operation: "trust", step: 4, bytes: 0 } as FileVersion;
    expect(reportOf(events, [...versions, trusted])).toMatch(
      /- `strings\.txt`: 3 bytes, by the agent in step 1, 2026-/,
    );
  });

  it("lists the source that was read last first, once, with the number of times", () => {
    const read = (step: number, file: string) => [
      ...call(step, "read_file", { file }),
      finished(step, observed("text", { source: "workspace" })),
    ];
    const sources = reportOf([created(), ...read(1, "a.md"), ...read(2, "b.md"), ...read(3, "a.md")]);
    expect(sources).toMatch(
      /The newest first:\n\n- `a\.md` .* last in step 3, 2 times, .*\n- `b\.md` .* in step 2, 2026/,
    );
  });

  it("is identical when it is made again", () => {
    expect(reportOf(events, versions)).toBe(report);
  });
});

describe("the report of an agent that made nothing", () => {
  const NOTHING = "The folder `/w/foo` contains no file of this agent.";

  it("says so, and that it has not taken a step yet", () => {
    expect(reportOf([created()])).toContain(`${NOTHING} It has not taken a step yet.`);
    const read = reportOf([created(), ...wholeStep(1, "read_file")]);
    expect(read).toContain(NOTHING);
    expect(read).not.toContain("not taken a step");
  });

  it("says the same of one that deleted all its files again", () => {
    const { versions } = historyOf([
      [1, "a", "write", "x"],
      [2, "a", "delete", ""],
    ]);
    expect(reportOf([created(), ...wholeStep(1), ...wholeStep(2)], versions)).toContain(NOTHING);
  });

  it("has the reasons among its failures", () => {
    const report = reportOf([
      created(),
      ...call(1, "write_to_file", { file: "b", text: "a" }),
      { type: "command-denied", step: 1, callId: "c1", by: "person", reason: "Not now" },
    ]);
    expect(report).toContain("Denied commands: 1");
    expect(report).toMatch(/denied: `write_to_file .*` Not now/);
  });
});

describe("the failures in a report", () => {
  it("are counted by kind, newest first, with their subject", () => {
    const report = reportOf([
      created(),
      ...call(1, "read_file", { file: "gone.md" }),
      finished(1, observed("There is no file gone.md.", { status: "failed" })),
      asked(2),
      modelFailed(2),
      asked(2, 2),
      replied(2),
      rejected(2),
      ...call(3, "write_to_file", { file: "a" }),
      { type: "call-interrupted", step: 3, callId: "c3", epoch: 2 },
      finished(3, observed("Nobody knows.", { status: "unknown" })),
    ]);
    expect(report).toContain(
      "Failed commands: 1 · Model calls without a reply: 1 · Replies that could not be parsed: 1 · Commands interrupted by a crash: 1 · Commands with an unknown outcome: 1",
    );
    expect(report.indexOf("Nobody knows.")).toBeLessThan(report.indexOf("There is no file gone.md."));
    expect(report).toMatch(/failed: `read_file gone\.md` There is no file gone\.md\./);
  });
});

describe("the next steps in a report", () => {
  const CODES: readonly PauseCode[] = [
    ...(["person", "stopped", "killed", "step-limit", "token-limit", "budget", "time-limit", "loop"] as const),
    ...(["bad-replies", "key-refused", "model-refused", "model-unreachable", "prompt-too-long", "crash-loop"] as const),
  ];
  it.each(CODES)("exist for an agent that paused: %s", (code) => {
    const report = reportOf([created(), { type: "agent-paused", code, reason: "Because of <this>." }]);
    expect(report).toContain("- Reason: Because of \\<this\\>.");
    expect(report).toMatch(
      /## What to do next\n\n- .*`goald (?:resume|say|goals|doctor|logs) (?:.* )?foo|goald doctor/,
    );
    expect(report).toContain("goald resume foo");
  });

  it.each<[string, boolean, readonly NewEvent[], string]>([
    ["running", true, [], "goald attach foo"],
    ["interrupted", false, [], "goald resume foo"],
    [
      "waiting: approval",
      true,
      [...call(1, "send", {}), { type: "approval-asked", step: 1, callId: "c1", reason: "r" }],
      "goald approve foo",
    ],
    [
      "waiting: person",
      true,
      [{ type: "command-waiting", step: 1, callId: "c1", waitFor: "person", until: null }],
      "goald say foo",
    ],
    ["completed", true, completed, "goald goals foo --set"],
  ])("exist for an agent that is %s", (standing, _hosted, events, command) => {
    const { todo } = nextStepOf("foo", replay(log(created(), ...events)), standing);
    expect(todo.map((each) => each.command).join("\n")).toContain(command);
  });
});

describe("a report of hostile text", () => {
  const EVIL =
    "# Owned\n\n## Files\n\n<script>alert(1)</script> ![x](http://evil.example/p) [y](javascript:z) `a` | b\u001b[2J\u202e\u0007 www.evil.example";
  const { versions } = historyOf([[1, "a`b](x)\u200b|c.md", "write", "x"]]);
  const report = reportOf(
    [
      { ...created(), name: EVIL, role: EVIL },
      { type: "goals-changed", goals: [EVIL] },
      { type: "message-received", from: EVIL, text: EVIL },
      ...call(1, EVIL, { file: EVIL }),
      finished(1, observed(EVIL, { status: "failed" })),
      ...call(2, "read_file", { file: EVIL }),
      finished(2, observed(EVIL, { source: "web" })),
      { type: "turn-finished", outcome: "completed", reason: EVIL },
    ],
    versions,
  );

  it("has only goald's headings", () => {
    expect(report.match(/^#+ .*$/gm)?.map((heading) => heading.replace(/Owned.*:/, ":"))).toEqual([
      expect.stringContaining(": report"),
      ...["## Goals", "### Its closing words", "## Files", "## Sources", "## Failures", "## Cost"],
      "## What to do next",
    ]);
  });

  it("contains no HTML, link, image or control character outside of code", () => {
    const prose = report.replace(/(?<![\\`])(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, "");
    expect(prose).not.toMatch(/(?<!\\)[<[\]]|(?<!\\)!\[|(?<!\\):\/\//);
    expect(report).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });
});

describe("the report of a log full of long texts", () => {
  it("has at most 64 KB", () => {
    const wide = "ä\\[".repeat(300);
    const events = log(
      { ...created(), role: wide.repeat(20), goals: Array.from({ length: 5 }, () => wide.repeat(20)) },
      ...Array.from({ length: 500 }, (_, at) => [
        ...call(at + 1, "read_file", { file: `${wide}${at}` }),
        finished(at + 1, observed(wide, at % 2 === 0 ? { source: "web" } : { status: "failed" })),
        { type: "message-received", from: "person", text: `${wide}${at}` } as const,
        { type: "turn-finished", outcome: "completed", reason: wide.repeat(20) } as const,
        { type: "turn-started", turn: at + 2 } as const,
      ]).flat(),
    );
    const { versions } = historyOf(
      Array.from({ length: 5_000 }, (_, at) => [at + 1, `${"ö".repeat(400)}${at}.md`, "write", "x"] as const),
    );
    const report = renderReport(factsOf(events, versions));
    expect(Buffer.byteLength(report)).toBeLessThan(64 * 1024);
    expect(Buffer.byteLength(report)).toBeGreaterThan(32 * 1024);
    expect(report).toMatch(/- and \d+ more files, omitted here/);
    expect(report).toContain("Failed commands: 250");
  });
});

describe("the earlier turns in a report", () => {
  it("have their numbers and words, without that of the closing words", () => {
    const end = (reason: string): NewEvent => ({ type: "turn-finished", outcome: "completed", reason });
    const report = reportOf([
      ...[created(), ...wholeStep(1), end("First."), { type: "turn-started", turn: 2 } as const],
      ...[...wholeStep(2), end("Second."), { type: "turn-started", turn: 3 } as const, ...wholeStep(3), end("Third.")],
    ]);
    expect(report).toMatch(/### Earlier turns\n\n- Turn 1, \S+: First\.\n- Turn 2, \S+: Second\.\n\n/);
    expect(report).toContain("### Its closing words\n\n> Third.");
  });
});

describe("the file names in a text", () => {
  it.each<[string, readonly string[]]>([
    ["Write them to output.txt.", ["output.txt"]],
    ["See notes/output.txt and Report.md!", ["output.txt", "report.md"]],
    ["my-output.txt and output.txt.bak", []],
    ["nothing of that", []],
  ])("%j", (text, named) => {
    expect(findNamedFiles(text, ["output.txt", "report.md", "a"])).toEqual(named);
  });
});
