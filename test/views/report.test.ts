import { describe, expect, it } from "@jest/globals";
import { describeLogLine, type LogFilter, matchesFilter, readLogLine } from "#cli/verbs/logs.ts";
import type { Observation } from "#core/call.ts";
import type { NewEvent, PauseCode } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { AgentRow, FileVersion } from "#core/ports/store.ts";
import { viewAgent } from "#views/agent-view.ts";
import { nextStepOf } from "#views/next-step.ts";
import { code, findNamedFiles, inline, quote, renderReport } from "#views/report.ts";
import { gatherReport } from "#views/report-facts.ts";
import {
  AT,
  approvalAsked,
  asked,
  created,
  denied,
  finished,
  historyOf,
  log,
  modelFailed,
  NOTHING,
  observed,
  paused,
  RESUMED,
  rejected,
  replied,
  requested,
  SPEC,
  said,
  stamped,
  turnEnded,
  turnStarted,
  waits,
  wholeStep,
  wrote,
} from "../helpers/events.ts";
import { factsOf } from "../helpers/host.ts";
import { type MemoryStore, openMemoryStore } from "../helpers/memory-store.ts";

const reportOf = (events: readonly NewEvent[], versions?: readonly FileVersion[]): string =>
  renderReport(factsOf(log(...events), versions));
const call = (step: number, name: string, args: Readonly<Record<string, unknown>>): readonly NewEvent[] => [
  asked(step),
  replied(step),
  requested(name, step, args),
];
const read = (step: number, file: string): readonly NewEvent[] => [
  ...call(step, "read_file", { file }),
  finished(step, observed("text", { source: "workspace" })),
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
    created({ stepLimit: 10 }),
    { type: "goals-changed", goals: ["Write strings.txt", "Be kind"] } as const,
    ...wholeStep(1),
    ...wholeStep(2),
    ...read(3, "in.md"),
    turnEnded("It is all in strings.txt."),
  ];
  const report = reportOf(events, versions);

  it("names the agent, its state, and each goal with the files that it names, and claims no more", () => {
    expect(report).toMatch(/^# Foo: report\n\nFoo \(`foo`\) is an AI that recommends tennis equipment\.\n/);
    expect(report).toContain("- State: **completed**. It reported that its goals are reached.");
    expect(report).toContain("1. Write strings.txt\n   - Evidence: it names `strings.txt` (step 1)\n");
    expect(report).toContain("2. Be kind\n   - Evidence: it names no existing file\n");
    expect(report).toContain("goald does not judge whether a goal is reached");
    expect(report).toContain("> It is all in strings.txt.\n\nThese words name existing files: `strings.txt`.");
  });

  it("lists existing files with size and step, who changed them, not who trusted their words, the sources, and the cost", () => {
    const trusted = { ...versions[0], path: "strings.txt", operation: "trust", step: 4, bytes: 0 } as FileVersion;
    const report = reportOf(events, [...versions, trusted]);
    expect(report).toContain("2 files in `/w/foo`.");
    expect(report).toMatch(/- `strings\.txt`: 3 bytes, by the agent in step 1, 2026-/);
    expect(report).toMatch(/- `notes\.md`: 6 bytes, changed by a person, found in step 3, 2026-/);
    expect(report).not.toContain("old.md");
    expect(report).toMatch(/- `in\.md` by `read_file` \(workspace\), last in step 3, /);
    expect(report).toContain("- 3 steps, 3 requests to the model\n- 30 tokens in (6 of them cached), 15 out\n");
    expect(report).toContain("- Cost unknown: the model has no known price");
    expect(report).toContain("- Limit: 7 steps left (3 of 10 used in all turns)");
    expect(report).toContain("## Failures\n\nNone.\n");
  });

  it("lists the source that was read last first, once, with the number of times", () => {
    const sources = reportOf([created(), ...read(1, "a.md"), ...read(2, "b.md"), ...read(3, "a.md")]);
    expect(sources).toMatch(
      /The newest first:\n\n- `a\.md` .* last in step 3, 2 times, .*\n- `b\.md` .* in step 2, 2026/,
    );
  });

  it("shows of a cell's code the beginning, and of a long path all, among sources and among failures", () => {
    const [code, path] = ["x = 1\n".repeat(50), `${"folder/".repeat(20)}in.md`];
    const each = (at: number, result: Observation): readonly NewEvent[] => [
      ...[...call(at, "run_code", { code }), finished(at, result)],
      ...[...call(at + 1, "read_file", { file: path }), finished(at + 1, result)],
    ];
    const failed = each(3, observed("It failed.", { status: "failed" }));
    const shown = reportOf([created(), ...each(1, observed("text", { source: "workspace" })), ...failed]);
    expect(shown).toContain(`- \`${path}\` by \`read_file\` (workspace)`);
    expect(shown).toContain(`failed: \`read_file ${path}\` It failed.`);
    expect(shown).toMatch(/^- `x = 1 x = 1[x=1 ]{40,68}…` by `run_code` \(workspace\)/m);
    expect(shown).toMatch(/failed: `run_code x = 1 x = 1[x=1 ]{40,68}…` It failed\./);
  });
});

it("the report of an agent that made nothing says so, and that it has not taken a step yet", () => {
  const NOTHING = "The folder `/w/foo` contains no file of this agent.";
  expect(reportOf([created()])).toContain(`${NOTHING} It has not taken a step yet.`);
  const read = reportOf([created(), ...wholeStep(1, "read_file")]);
  expect(read).toContain(NOTHING);
  expect(read).not.toContain("not taken a step");
  // The same for one that deleted all its files again.
  const { versions } = historyOf([
    [1, "a", "write", "x"],
    [2, "a", "delete", ""],
  ]);
  expect(reportOf([created(), ...wholeStep(1), ...wholeStep(2)], versions)).toContain(NOTHING);
});

it("the failures in a report are counted by kind, newest first, with their subject", () => {
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
    ...call(4, "write_to_file", { file: "b", text: "a" }),
    denied("Not now", "person", 4),
  ]);
  expect(report).toMatch(/denied: `write_to_file .*` Not now/);
  expect(report).toContain(
    "Failed commands: 1 · Model calls without a reply: 1 · Replies that could not be parsed: 1 · Commands interrupted by a crash: 1 · Commands with an unknown outcome: 1",
  );
  expect(report.indexOf("Nobody knows.")).toBeLessThan(report.indexOf("There is no file gone.md."));
  expect(report).toMatch(/failed: `read_file gone\.md` There is no file gone\.md\./);
});

it("the reason in a report of an agent that proved nothing leaves failed checks to their own lines, whatever they say", () => {
  const check = { goal: null, test: { kind: "file", path: "a.md" } } as const;
  const proof = "A check failed: b. ";
  const events: readonly NewEvent[] = [
    created(),
    { type: "goals-changed", goals: ["One"], checks: [check] },
    { type: "goals-checked", step: 1, callId: "c1", results: [{ check: 0, isPassed: false, proof }] },
    paused("not-proven", "A check failed: with the whole log."),
  ];
  const reason = /- Reason: .*/.exec(reportOf(events))?.[0] ?? "";
  expect(reason).toMatch(/^- Reason: It reported its work as finished 3 times in a row, and it is not\. See what/);
  expect(reason).toContain("goald resume foo");
  expect(reportOf(events)).toContain("- Check failed: a.md exists.");
  // A person's change starts the count anew, and does not change what happened.
  const edit = { type: "task-changed", id: "0", state: "in_progress", by: "person" } as const;
  expect(reportOf([...events, edit])).toContain("- Reason: It reported its work as finished 3 times in a row");
  // That of other pauses is the recorded one.
  const report = reportOf([created(), paused("loop", "A check failed: as recorded.")]);
  expect(report).toContain("- Reason: A check failed: as recorded.");
});

describe("the next steps in a report", () => {
  const CODES: readonly PauseCode[] = [
    ...(["person", "stopped", "killed", "step-limit", "token-limit", "budget", "time-limit", "loop"] as const),
    ...(["bad-replies", "key-refused", "model-refused", "model-unreachable", "prompt-too-long", "crash-loop"] as const),
  ];
  it.each(CODES)("exist for an agent that paused: %s", (code) => {
    const report = reportOf([created(), paused(code, "Because of <this>.")]);
    expect(report).toContain("- Reason: Because of \\<this\\>.");
    expect(report).toMatch(
      /## What to do next\n\n- .*`goald (?:resume|say|goals|doctor|logs) (?:.* )?foo|goald doctor/,
    );
    expect(report).toContain("goald resume foo");
    // The server itself is asked.
    if (/^key-|^model-/.test(code)) expect(report).toContain("goald doctor --online");
    if (/^model-refused|^bad-/.test(code)) expect(report).toContain("goald resume foo --model NAME");
  });

  it.each<[string, readonly NewEvent[], string]>([
    ["running", [], "goald attach foo"],
    ["waiting: model", [asked(), { ...modelFailed(), outage: true }], "goald doctor --online"],
    ["interrupted", [], "goald resume foo"],
    ["waiting: approval", [...call(1, "send", {}), approvalAsked()], "goald approve foo"],
    ["waiting: person", [waits("person")], "goald say foo"],
    ["completed", [turnEnded()], "goald goals foo --set"],
  ])("exist for an agent that is %s", (standing, events, command) => {
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

it("the report of a log full of long texts has at most 64 KB", () => {
  const wide = "ä\\[".repeat(300);
  const events = log(
    { ...created(), role: wide.repeat(20), goals: Array.from({ length: 5 }, () => wide.repeat(20)) },
    ...Array.from({ length: 500 }, (_, at) => [
      ...call(at + 1, "read_file", { file: `${wide}${at}` }),
      finished(at + 1, observed(wide, at % 2 === 0 ? { source: "web" } : { status: "failed" })),
      said(`${wide}${at}`, "person"),
      turnEnded(wide.repeat(20)),
      turnStarted(at + 2),
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

it("the earlier turns in a report have their numbers and words, without that of the closing words", () => {
  const first = [created(), ...wholeStep(1), turnEnded("First."), turnStarted(2)];
  const second = [...wholeStep(2), turnEnded("Second."), turnStarted(3)];
  const report = reportOf([...first, ...second, ...wholeStep(3), turnEnded("Third.")]);
  expect(report).toMatch(/### Earlier turns\n\n- Turn 1, \S+: First\.\n- Turn 2, \S+: Second\.\n\n/);
  expect(report).toContain("### Its closing words\n\n> Third.");
});

it.each<[string, readonly string[]]>([
  ["Write them to output.txt.", ["output.txt"]],
  ["See notes/output.txt and Report.md!", ["output.txt", "report.md"]],
  ["my-output.txt and output.txt.bak", []],
  ["nothing of that", []],
])("the file names in a text %j", (text, named) => {
  expect(findNamedFiles(text, ["output.txt", "report.md", "a"])).toEqual(named);
});

// A report is gathered from the agent's state and its newest events, at the same cost for a log of any length.

const facts = { workspaceFolder: "/w", hosted: false, stallAfterMs: () => 0, now: new Date(AT) };

/** An agent that took this many steps of four events: each reads a file, and every tenth writes one. */
async function makeWorker(steps: number) {
  const store = openMemoryStore();
  await store.create(SPEC, "key", AT);
  const lease = await store.claim("foo");
  for (let step = 1; step <= steps; step++) {
    const head = 1 + (step - 1) * 4;
    const outcome = observed("text", step % 3 === 0 ? { status: "failed" } : { source: "workspace" });
    const events = stamped(head + 1, ...call(step, "read_file", { file: `in-${step}.md` }), finished(step, outcome));
    const files = step % 10 === 0 ? [{ ...wrote(`${step}.md`, "x", `c${step}`), step }] : [];
    await store.commit(lease, head, { ...NOTHING, events, files });
  }
  return store;
}

async function gather(store: MemoryStore) {
  const row = (await store.agent("foo")) as AgentRow;
  let rows = 0;
  const counted = async <T>(read: Promise<readonly T[]>): Promise<readonly T[]> => {
    const page = await read;
    rows += page.length;
    return page;
  };
  const seen = {
    load: store.load.bind(store),
    read: (...args: Parameters<MemoryStore["read"]>) => counted(store.read(...args)),
    files: (...args: Parameters<MemoryStore["files"]>) => counted(store.files(...args)),
  };
  const gathered = await gatherReport(row, seen, (state) => viewAgent(row, state, facts));
  return { facts: gathered, rows };
}

describe("a report of a store", () => {
  it("reads as many rows of a log of any length, and says what it looked at", async () => {
    const young = await gather(await makeWorker(200));
    const old = await gather(await makeWorker(2_000));
    expect(old.rows).toBe(young.rows);
    expect(old.facts).toMatchObject({ since: 7_501, events: 8_001, step: 2_000, usage: { modelCalls: 2_000 } });
    const paths = old.facts.files.map(({ path }) => path);
    expect(paths).toEqual(Array.from({ length: 13 }, (_, at) => `${1_880 + 10 * at}.md`));
    const report = renderReport(old.facts);
    expect(report).toContain("- Files, sources, failures and turns below are those of its last 500 events\n");
    expect(report).toContain("all files: `goald show foo --files`.");
    expect(report).toContain("it names no file of the last changed ones");
  });

  it("has all of a short log (control)", async () => {
    const { facts: short, rows } = await gather(await makeWorker(60));
    expect(short).toMatchObject({ since: 0, events: 241, troubles: { failed: 20 } });
    expect([rows, short.sources.length, short.files.length]).toEqual([247, 40, 6]);
    expect(renderReport(short)).not.toContain("below are those");
  });

  it("counts a message in the tail to the step that reads it, also before the first step there", async () => {
    const store = await makeWorker(200);
    const lease = await store.claim("foo");
    const { head } = (await store.agent("foo")) ?? { head: 0 };
    const later = Array.from({ length: 166 }, (_, at) => [asked(201 + at), replied(201 + at), RESUMED]).flat();
    const events = stamped(head + 1, said("Hello"), ...later, RESUMED);
    await store.commit(lease, head, { ...NOTHING, events });
    expect((await gather(store)).facts.sources).toMatchObject([{ what: "Hello", step: 201 }]);
  });
});

const HOSTILE = [
  "# heading",
  "- list",
  "1. list",
  "[text](http://evil.example)",
  "![image](http://evil.example/p.png)",
  "<img src=x onerror=alert(1)>",
  "<!-- comment",
  "&lt;b&gt; &#60;",
  "http://evil.example www.evil.example a@evil.example",
  "`code` ``more``",
  "| a | b |",
  "$x$ ~~s~~ **b** __u__",
  "\\",
  "a\u001b[2Jb\u202ec\u0007\u009b31m",
  "one\n# two\n\n- three\r\n</details>",
];

/** Matches an unescaped mark that would start something other than text. */
const ACTIVE = /(?<!\\)(?:\\\\)*[`*_[\]<>|~$&@]|(?<!\\):\/\/|(?<!\\)www\./;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

describe("text in a Markdown document", () => {
  it.each(HOSTILE)(
    "is only text in prose, in a code span that its backticks cannot close, and in a quotation: %j",
    (text) => {
      const line = inline(text, 500);
      expect(line).not.toMatch(ACTIVE);
      expect(line).not.toMatch(CONTROL);
      expect(line).not.toContain("\n");
      expect(line).not.toMatch(/^(?:[#+=-]|\d+[.)])/);

      const span = code(text, 500);
      const [, fence = "", body = ""] = /^(`+)([\s\S]*)\1$/.exec(span) ?? [];
      expect(fence).not.toBe("");
      expect([...body.matchAll(/`+/g)].map(([run]) => run)).not.toContain(fence);
      expect(span).not.toMatch(/\n/);
      expect(span).not.toMatch(CONTROL);

      for (const quoted of quote(text, 500).split("\n")) {
        expect(quoted).toMatch(/^>/);
        expect(quoted.slice(1)).not.toMatch(ACTIVE);
        expect(quoted).not.toMatch(/^> (?:[#+=-]|\d+[.)])/);
      }
    },
  );

  it("is unchanged where it is harmless, and truncated where it is long", () => {
    expect(inline("Write 3 files, e.g. notes.md (today): done!", 100)).toBe(
      "Write 3 files, e.g. notes.md (today): done!",
    );
    expect(inline("x".repeat(50), 10)).toBe(`${"x".repeat(9)}…`);
    expect(quote("x".repeat(50), 10)).toBe(`> ${"x".repeat(9)}…`);
  });
});

const line = (fields: object): string =>
  JSON.stringify({ level: 30, time: "2026-11-20T10:00:00.000Z", pid: 1, ...fields });

describe("a line of the log", () => {
  it.each<[string, object, string]>([
    [
      "of a step",
      { agent: "foo", step: 3, msg: "step", command: "read_file", status: "ok" },
      "info   foo  step 3  command=read_file status=ok",
    ],
    [
      "with a message",
      { agent: "foo", msg: "It paused: no key", code: "key-refused" },
      "info   foo  It paused: no key  code=key-refused",
    ],
    ["without an agent", { msg: "started", socket: "/a b" }, 'info   started  socket="/a b"'],
    ["with an error", { level: 50, msg: "no", err: { message: "why", stack: "at x" } }, 'error  no  err="why"'],
    // An escaped line end cannot imitate a log line of its own.
    [
      "with a line end in its message",
      { msg: "no\n2026-11-20T10:00:00.000Z  info  all is well" },
      "info   no\n  2026-11-20T10:00:00.000Z  info  all is well",
    ],
    ["of an unknown level", { level: 35, msg: "x", none: null }, "35     x"],
  ])("%s is shown as time, level, agent, step, message, fields", (_title, fields, text) => {
    expect(describeLogLine(readLogLine(line(fields)))).toBe(`2026-11-20T10:00:00.000Z  ${text}`);
  });

  it.each<[LogFilter, object, boolean]>([
    [{}, { agent: "foo" }, true],
    [{ agent: "foo" }, { agent: "foo" }, true],
    [{ agent: "foo" }, { agent: "foobar" }, false],
    [{ agent: "foo" }, {}, false],
    [{ withoutAgent: true }, { agent: "foo" }, false],
    [{ withoutAgent: true }, {}, true],
    [{ step: 3 }, { step: 3 }, true],
    [{ step: 3 }, { step: 30 }, false],
    [{ level: "warn" }, { level: 40 }, true],
    [{ level: "warn" }, { level: 30 }, false],
    [{ since: Date.parse("2026-11-20T10:00:00Z") }, {}, true],
    [{ since: Date.parse("2026-11-20T10:00:01Z") }, {}, false],
    [{ since: 0 }, { time: "yesterday" }, false],
  ])("with the filter %j: %j matches: %s", (filter, fields, wanted) => {
    expect(matchesFilter(readLogLine(line(fields)), filter)).toBe(wanted);
  });

  it("that is not JSON of goald is shown unchanged, and matches only without a filter", () => {
    for (const text of ['{"level":30,"time":"2026-', "Segmentation fault", "[1,2]", "null"])
      expect(describeLogLine(readLogLine(text))).toBe(text);
    const torn = readLogLine("torn");
    expect(matchesFilter(torn, { withoutAgent: true })).toBe(true);
    expect(matchesFilter(torn, { agent: "foo" })).toBe(false);
    expect(matchesFilter(torn, { level: "info" })).toBe(false);
  });
});
