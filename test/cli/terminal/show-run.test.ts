import { describe, expect, it } from "@jest/globals";
import { createLiveReader } from "#api/event-stream.ts";
import { describeCall } from "#cli/terminal/describe-call.ts";
import { createEventLines, createShowRun } from "#cli/terminal/show-run.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { describeRestored, type FilesRestored, replay } from "#core/evolve.ts";
import { createLiveThoughts } from "#reply/thoughts.ts";
import { createRedactor } from "#util/redact.ts";
import * as given from "../../helpers/events.ts";

const THOUGHTS = { text: "I look.", reasoning: "", plan: "- a\n- b", criticism: "", speak: "Looking." };
const NO_REPLY = "No reply: The server answered 500.";
const FAILED = given.observed("no", { status: "failed" });
const REMOVED = [{ path: "r", change: "removed" }] as const;
const RESTORED: FilesRestored = {
  type: "files-restored",
  toStep: 2,
  changes: [{ path: "r\u009b31m", change: "removed" }],
  more: 0,
};
const ADDED: NewEvent = { type: "task-added", parent: "0.1", task: { goal: "Call\u001b[2J them" }, by: "person" };
const DROPPED = { type: "task-changed", id: "0.1", state: "abandoned", by: "person" } as const;
const checked = (...found: readonly { readonly isPassed: boolean; readonly proof: string }[]): NewEvent => ({
  type: "goals-checked",
  step: 1,
  callId: "c1.1",
  results: found.map((one, check) => ({ check, ...one })),
});
function show(...events: readonly NewEvent[]): string {
  const lines: string[] = [];
  const showEvent = createShowRun({
    print: (line) => lines.push(line),
    colour: false,
    thoughtsOf: (reply, _reason, mode) =>
      reply === "prose" ? null : { ...THOUGHTS, ...(reply === "mode" ? { text: mode } : {}) },
  });
  for (const event of given.log(...events)) showEvent(event);
  return lines.join("\n");
}

describe("a running agent on a terminal", () => {
  it("reads each reply in the form that its request asked for", () => {
    const asked = (step: number, mode: "react" | "code"): NewEvent => ({ ...given.asked(step), mode });
    const events = [asked(1, "react"), given.replied(1, "mode"), asked(2, "code"), given.replied(2, "mode")];
    expect(show(...events).match(/^Thoughts: .*/gm)).toEqual(["Thoughts: react", "Thoughts: code"]);
  });

  it.each<[title: string, event: NewEvent, shown: string]>([
    [
      "the question",
      { ...given.asked(3, 2), recallIds: ["foo/1"] },
      "\nStep 3 · asking test-model, with 1 recall of earlier steps, attempt 2",
    ],
    ["the thoughts, empty ones left out", given.replied(), "Thoughts: I look.\nPlan: - a\n  - b\nSays: Looking."],
    ["a reply without thoughts as it is", given.replied(1, "prose"), "Reply: prose"],
    ["a reply that cannot be used", given.rejected(), "Reply not usable; the model reads: No JSON object was found."],
    ["a failure and when it is tried again", given.modelFailed(), `${NO_REPLY} Retrying in 60 s.`],
    ["a failure that is tried again at once", given.modelFailed(1, given.later(0.2)), `${NO_REPLY} Retrying in 1 s.`],
    ["the command as the JSON that will run", given.requested(), 'Command: write_to_file {"file":"a.txt","text":"a"}'],
    ["the result with its status", given.finished(1, FAILED), "Result (failed): no"],
    ["a person's no", given.denied("rather b", "person"), "Not run; your words: rather b"],
    ["a policy's no", given.denied("gone"), "Not run: gone"],
    ["why it asks", { type: "approval-asked", step: 1, callId: "c1", reason: "It is risky." }, "It is risky."],
    ["a wait", given.waits("agent"), "Waiting for agent."],
    ["what a person said", given.said("hurry"), "ada says: hurry"],
    ["a trust", { type: "words-trusted", what: "file", path: "r\u009b31m" }, "Trusted by a person: r"],
    ["a restoration", RESTORED, `Files restored: ${describeRestored({ ...RESTORED, changes: REMOVED })}`],
    ["a pause", given.paused("person", "Stopped."), "Paused: Stopped."],
    ["going on", given.RESUMED, "Resumed."],
    ["the end", given.turnEnded("All done."), "Completed: All done."],
    ["what a person added to the plan", ADDED, "A person added to the plan: Call them (in 0.1)"],
    ["what a person changed in the plan", DROPPED, "A person changed the plan: 0.1 is abandoned"],
    [
      "checks of goals with what they found",
      checked({ isPassed: true, proof: "a.md exists." }, { isPassed: false, proof: "b\u009b31m.md is missing." }),
      "Check passed: check 1. a.md exists.\nCheck failed: check 2. b.md is missing.",
    ],
    [
      "nothing of the agent's own change of its plan, which its command shows",
      { ...DROPPED, by: "agent", step: 1, callId: "c1" },
      "",
    ],
    ["nothing of what needs no eye", given.started(), ""],
    ["the last reason once", { ...given.finished(), closesTurn: true }, ""],
  ])("shows %s", (_title, event, shown) => {
    expect(show(event)).toBe(shown);
  });

  it("shows how large a text is that was put aside, and cuts long ones", () => {
    expect(
      show(given.finished(1, given.observed("x", { text: { blob: "ab", bytes: 99_999, head: "begin" } }))),
    ).toContain("99999 bytes in all");
    const cut = show(given.finished(1, given.observed("y".repeat(5_000))));
    expect(cut).toContain("y [… 3,500 more characters]");
    expect(cut.length).toBeLessThan(1_700);
    // The words about a few characters would be longer than these.
    expect(show(given.finished(1, given.observed("y".repeat(1_507))))).not.toContain("more characters");
  });

  it.each([
    ["a title in one byte", "ok\u009dhidden\u009cok", "ok\\u009dhidden\\u009cok"],
    ["a sequence that takes an argument with it", "ok\u0090", "ok\\u0090"],
    ["turned writing", "a\u202etxt.exe", "a\\u202etxt.exe"],
    ["letters that nobody sees", "a\u{e0068}\u200b\u2063b", "a\\udb40\\udc68\\u200b\\u2063b"],
    ["joined pictures, which stay", "👩‍💻 ✌️", "👩‍💻 ✌️"],
  ])("hides nothing of a command that waits for a yes: %s", (_what, text, shown) => {
    const call = { name: "send_tweet", args: { text, more: "\u009c seen" } };
    expect(show({ ...given.requested(), call })).toBe(`Command: send_tweet {"text":"${shown}","more":"\\u009c seen"}`);
  });

  it("names the checks of goals that it has seen", () => {
    const checks = [{ goal: null, test: { kind: "file", path: "a.md" } }] as const;
    const missing = checked({ isPassed: false, proof: "There is no\nfile a.md." });
    expect(show(given.created({ checks } as never), missing)).toContain(
      "Check failed: a.md exists. There is no\n  file a.md.",
    );
  });
});

it("an event line carries the call in every event of it, from request to result", () => {
  const toLine = createEventLines();
  const lines = given.log(given.created(), ...given.wholeStep(1), given.asked(2)).map((event) => toLine(event));
  expect(lines.map((line) => [line.type, line.call?.name])).toEqual([
    ["agent-created", undefined],
    ["model-asked", undefined],
    ["model-replied", undefined],
    ["command-requested", "write_to_file"],
    ["command-approved", "write_to_file"],
    ["command-started", "write_to_file"],
    ["command-finished", "write_to_file"],
    ["model-asked", undefined],
  ]);
  // A log that is read from the middle.
  const before = given.log(given.created(), given.asked(), given.replied(), given.requested());
  const [finished] = given.log(given.finished());
  expect(createEventLines(replay(before).open)(finished as RecordedEvent).call?.name).toBe("write_to_file");
});

describe("calls that a command makes", () => {
  const nested = (count: number): readonly NewEvent[] =>
    Array.from({ length: count }, (_, at): readonly NewEvent[] => [
      {
        ...given.requested("read_file"),
        callId: `c1.${at + 1}`,
        call: { name: "read_file", args: { file: "a\u001b[2K.txt" } },
      },
      { ...given.finished(1, given.observed("the text")), callId: `c1.${at + 1}` },
    ]).flat();
  const linesOf = (...events: readonly NewEvent[]): readonly string[] => show(...events).split("\n");

  it("are one line each, without their results", () => {
    expect(linesOf(given.requested("run_code"), ...nested(1), given.finished(1, given.observed("2")))).toEqual([
      expect.stringContaining("Command: run_code"),
      '  c1.1 read_file {"file":"a\\u001b[2K.txt"}: ok',
      "Result (ok): 2",
    ]);
  });

  it("are counted beyond twenty, before the result of the command", () => {
    const lines = linesOf(given.requested("run_code"), ...nested(998), given.finished(1, given.observed("2")));
    expect(lines).toHaveLength(23);
    expect(lines.slice(-2)).toEqual(["  … and 978 more calls", "Result (ok): 2"]);
  });

  it("say once that a process died, whichever calls it was making", () => {
    const died = { type: "call-interrupted", step: 1, epoch: 2 } as const;
    const [requested = given.requested("read_file")] = nested(1);
    expect(
      linesOf(given.requested("run_code"), requested, { ...died, callId: "c1" }, { ...died, callId: "c1.1" }).slice(1),
    ).toEqual(["The process that ran this command died; continuing from there."]);
  });

  it("are shown in full before a person is asked about them, and say why they failed or were denied", () => {
    const call = { name: "send_tweet", args: { text: "line one\nline two" } };
    const requested = { ...given.requested("send_tweet"), callId: "c1.1", call };
    const asked = { type: "approval-asked", step: 1, callId: "c1.1", reason: "It reaches outside." } as const;
    const denied = { type: "command-denied", step: 1, callId: "c1.1", by: "person", reason: "not now" } as const;
    expect(linesOf(requested, asked, denied)).toEqual([
      "Command: send_tweet",
      "    text (17 bytes):",
      "      | line one",
      "      | line two",
      "It reaches outside.",
      "  c1.1 send_tweet text (17 bytes): | line one | line two: denied: not now",
    ]);
  });
});

const LIVE_THOUGHTS = { ...THOUGHTS, text: "I look around first." };
const SECRET = "sk-planted-8Kd7wQ0nRx5";

function onTerminal(thoughts: object = LIVE_THOUGHTS) {
  let shown = "";
  const redact = createRedactor([SECRET]);
  const write = (text: string): void => {
    shown += text;
  };
  const show = createShowRun({
    print: (line) => write(`${redact(line)}\n`),
    colour: false,
    thoughtsOf: () => ({ ...LIVE_THOUGHTS, ...thoughts }),
    live: { write, redact, createScanner: createLiveThoughts },
  });
  const push = (text: string): void => {
    for (const char of text) show.onText?.(char);
  };
  /** As a follower gets them, which are whole words. */
  const pushRead = (reply: string, pieceChars: number): void => {
    const nextPiece = createLiveReader(redact);
    for (let end = pieceChars; end < reply.length + pieceChars; end += pieceChars)
      show.onText?.(nextPiece({ seq: 1, text: reply.slice(0, end) })?.text ?? "");
  };
  const see = (event: NewEvent): void => show(given.log(event)[0] as RecordedEvent);
  return { push, pushRead, see, shown: () => shown };
}
const reply = (thoughts: object): string => JSON.stringify({ thoughts, command: { name: "do_nothing", args: {} } });

describe("a reply that arrives on a terminal", () => {
  it("is shown word by word, and not a second time when it is there", () => {
    const { push, see, shown } = onTerminal();
    see(given.asked(1));
    push('{"thoughts": {"text": "I look aro');
    expect(shown()).toMatch(/\nThoughts: I look$/);
    push('und first.", "plan": "- a\\n- b", "speak": "Looking."}, "command"');
    const live = shown();
    see(given.replied(1, "{}"));
    expect(shown()).toBe(live);
    expect(live).toMatch(/\nThoughts: I look around first\.\nPlan: - a\n {2}- b\nSays: Looking\.\n$/);
  });

  it("is completed on its line when the reply is there before its last words", () => {
    const { push, see, shown } = onTerminal();
    push('{"thoughts": {"text": "I look around first.", "plan": "- a\\n- b", "speak": "Loo');
    see(given.replied(1, "{}"));
    expect(shown()).toBe("Thoughts: I look around first.\nPlan: - a\n  - b\nSays: Looking.\n");
    push('{"thoughts": {"text": "I look aro');
    see(given.replied(1, "{}"));
    expect(shown().split("Thoughts: I look around first.\n")).toHaveLength(3);
    expect(shown().split("I look")).toHaveLength(3);
  });

  it("is shown whole again when what was shown of it is not what it says", () => {
    const { push, see, shown } = onTerminal({ text: "Something else." });
    push('{"thoughts": {"text": "I look aro');
    see(given.replied(1, "{}"));
    expect(shown()).toBe("Thoughts: I look\nThoughts: Something else.\nPlan: - a\n  - b\nSays: Looking.\n");
  });

  it("leaves its half line when it fails, and the next attempt begins anew", () => {
    const { push, see, shown } = onTerminal();
    push('{"thoughts": {"text": "I look aro');
    see(given.modelFailed());
    see(given.asked(1, 2));
    push(reply(LIVE_THOUGHTS));
    see(given.replied(1, "{}"));
    expect(shown()).toMatch(/^Thoughts: I look\nNo reply: .*\n\nStep 1 .*attempt 2\nThoughts: I look around first\.\n/);
    expect(shown().split("Says:")).toHaveLength(2);
  });

  it("lets no control sequence through, whole or in pieces, and no secret", () => {
    const text = `a \u001b[2J\u001b]0;own ed\u0007b \u009b31mc \u202ed ${SECRET} key: ${SECRET} e`;
    const { push, see, shown } = onTerminal({ text });
    push(reply({ text }));
    see(given.replied(1, "{}"));
    expect(shown()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    expect(shown()).not.toContain(SECRET.slice(0, 12));
    expect(shown()).not.toContain("2J");
    expect(shown()).toContain("[redacted]");
  });

  it("shows the beginning of an endless thought only", () => {
    const { push, shown } = onTerminal();
    push(`{"thoughts": {"text": "${"word ".repeat(50_000)}`);
    expect(shown().length).toBeLessThan(5_000);
  });

  it.each([
    ["without blanks in its arguments", 0, ""],
    ["without any blank outside the thoughts, in a fence", 0, "```json\n"],
    ["with blanks between all of its parts", 1, ""],
    ["after a sentence", 0, "Here is my reply: "],
  ])("is shown once through the pieces of a reader: %s, in pieces of 1 to 60 characters", (_title, indent, before) => {
    for (let length = 1; length <= 60; length++) {
      const { pushRead, see, shown } = onTerminal();
      const command = { name: "search_files", args: { directory: ".", text: "plan" } };
      pushRead(before + JSON.stringify({ thoughts: LIVE_THOUGHTS, command }, null, indent), length);
      const live = shown();
      see(given.replied(1, "{}"));
      expect(shown()).toBe("Thoughts: I look around first.\nPlan: - a\n  - b\nSays: Looking.\n");
      if (!before.includes("Here")) expect(live).toBe(shown());
    }
  });
});

/** The lines of a text that is shown as text. */
const rowsIn = (shown: string) => [...shown.matchAll(/^ {4}\| (.*)$/gm)].map(([, row = ""]) => row);
const write = (text: unknown, file = "big.txt") => describeCall({ name: "write_to_file", args: { file, text } });

describe("a command that a person is asked about", () => {
  it("is one line of JSON when it is short, and shows a text of several lines as text, with its size", () => {
    expect(write("line 2\n")).toBe('write_to_file {"file":"big.txt","text":"line 2\\n"}');
    expect(describeCall({ name: "do_nothing", args: {} })).toBe("do_nothing {}");
    expect(write('print("a")\nprint("b")\n')).toBe(
      'write_to_file\n  file: "big.txt"\n  text (22 bytes):\n    | print("a")\n    | print("b")',
    );
  });

  it("counts the bytes of the whole text, not of the part that is stored in the event", () => {
    const head = "1 lorem ipsum\n".repeat(300).slice(0, 4_000);
    const shown = write({ blob: "ab".repeat(32), bytes: 77_291, head });
    expect(shown).toContain("text (77,291 bytes):");
    const rows = rowsIn(shown);
    expect(rows).toHaveLength(20);
    const shownBytes = rows.join("\n").length;
    expect(shown).toContain(`… ${(77_291 - shownBytes).toLocaleString("en-US")} more bytes`);
  });

  it.each([
    ["letters of several bytes", "é".repeat(600)],
    ["pairs of surrogates", `x${"😀".repeat(600)}`],
  ])("adds shown and left bytes up to the size: %s", (_what, text) => {
    const shown = write(text);
    const shownBytes = Buffer.byteLength(rowsIn(shown).join("\n"));
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
    const list = Array.from({ length: 900 }, (_, n) => `item ${n}`);
    const args = { text: "x".repeat(9_000), list, file: "keys.txt" };
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
    expect(edit("a\u200b\u180f\u{1d173}b", "\u001b[2Jb")).toBe(
      'edit_file\n  file: "plan.md"\n  12 bytes become 5:\n    - a\\u{200b}\\u{180f}\\u{1d173}b\n    + \\u{1b}[2Jb',
    );
    expect(edit("a", "line\n".repeat(500))).toMatch(/\n {4}\+ … 2,40[01] more bytes$/);
  });

  it("shows both texts when they are the same or differ only at line ends", () => {
    expect(edit("a\r\nb", "a\nb")).toContain("4 bytes become 3:");
    expect(edit("same", "same")).toContain("    - same\n    + same");
  });
});
