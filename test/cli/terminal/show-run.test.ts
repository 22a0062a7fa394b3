import { describe, expect, it } from "@jest/globals";
import { renderTable } from "#cli/terminal/print.ts";
import { createEventLines, createShowRun } from "#cli/terminal/show-run.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import * as given from "../../helpers/events.ts";

const THOUGHTS = { text: "I look.", reasoning: "", plan: "- a\n- b", criticism: "", speak: "Looking." };
function show(colour: boolean, ...events: readonly NewEvent[]): string {
  const lines: string[] = [];
  const showEvent = createShowRun({
    print: (line) => lines.push(line),
    colour,
    thoughtsOf: (reply) => (reply === "prose" ? null : THOUGHTS),
  });
  for (const event of given.log(...events)) showEvent(event);
  return lines.join("\n");
}

describe("a running agent on a terminal", () => {
  it("reads each reply in the form that its request asked for", () => {
    const modes: string[] = [];
    const thoughtsOf = (_reply: string, _reason: string, mode: string) => {
      modes.push(mode);
      return null;
    };
    const showEvent = createShowRun({ print: () => undefined, colour: false, thoughtsOf });
    const asked = (step: number, mode: "react" | "code"): NewEvent => ({ ...given.asked(step), mode });
    for (const event of given.log(asked(1, "react"), given.replied(1, "a"), asked(2, "code"), given.replied(2, "b")))
      showEvent(event);
    expect(modes).toEqual(["react", "code"]);
  });

  it.each<[title: string, event: NewEvent, shown: string]>([
    [
      "the question",
      { ...given.asked(3, 2), recallIds: ["foo/1"] },
      "\nStep 3 · asking test-model, with 1 recall of earlier steps, attempt 2",
    ],
    [
      "the thoughts, empty ones left out",
      given.replied(1, "{}"),
      "Thoughts: I look.\nPlan: - a\n  - b\nSays: Looking.",
    ],
    ["a reply without thoughts as it is", given.replied(1, "prose"), "Reply: prose"],
    ["a reply that cannot be used", given.rejected(), "Reply not usable; the model reads: No JSON object was found."],
    [
      "a failure and when it is tried again",
      given.modelFailed(),
      "No reply: The server answered 500. Retrying in 60 s.",
    ],
    [
      "a failure that is tried again within a second",
      given.modelFailed(1, new Date(Date.parse(given.AT) + 200).toISOString()),
      "No reply: The server answered 500. Retrying in 1 s.",
    ],
    ["the command as the JSON that will run", given.requested(), 'Command: write_to_file {"file":"a.txt","text":"a"}'],
    [
      "the result with its status",
      given.finished(1, given.observed("no", { status: "failed" })),
      "Result (failed): no",
    ],
    [
      "a person's no",
      { type: "command-denied", step: 1, callId: "c1", by: "person", reason: "rather b" },
      "Not run; your words: rather b",
    ],
    ["a policy's no", { type: "command-denied", step: 1, callId: "c1", by: "policy", reason: "gone" }, "Not run: gone"],
    [
      "why it asks",
      { type: "approval-asked", step: 1, callId: "c1", reason: "It reaches outside." },
      "It reaches outside.",
    ],
    ["a wait", { type: "command-waiting", step: 1, callId: "c1", waitFor: "agent", until: null }, "Waiting for agent."],
    ["what a person said", { type: "message-received", from: "ada", text: "hurry" }, "ada says: hurry"],
    ["a trust", { type: "words-trusted", what: "file", path: "r\u009b31m" }, "Trusted by a person: r"],
    [
      "a restoration",
      { type: "files-restored", toStep: 2, changes: [{ path: "r\u009b31m", change: "removed" }], more: 0 },
      "Files restored: A person put files in your folder back as they were after step 2. Removed: r. Your plan is unchanged. Look at these files before you rely on them.",
    ],
    ["a pause", { type: "agent-paused", code: "person", reason: "Stopped." }, "Paused: Stopped."],
    ["going on", { type: "agent-resumed" }, "Resumed."],
    ["the end", { type: "turn-finished", outcome: "completed", reason: "All done." }, "Completed: All done."],
    [
      "what a person added to the plan",
      { type: "task-added", parent: "0.1", task: { goal: "Call\u001b[2J them" }, by: "person" },
      "A person added to the plan: Call them (in 0.1)",
    ],
    [
      "what a person changed in the plan",
      { type: "task-changed", id: "0.1", state: "abandoned", by: "person" },
      "A person changed the plan: 0.1 is abandoned",
    ],
    [
      "checks of goals with what they found",
      {
        type: "goals-checked",
        step: 1,
        callId: "c1.1",
        results: [
          { check: 0, isPassed: true, proof: "a.md exists." },
          { check: 1, isPassed: false, proof: "b\u009b31m.md is missing." },
        ],
      },
      "Check passed: check 1. a.md exists.\nCheck failed: check 2. b.md is missing.",
    ],
    [
      "nothing of the agent's own change of its plan, which its command shows",
      { type: "task-changed", id: "0.1", state: "open", by: "agent", step: 1, callId: "c1" },
      "",
    ],
    ["nothing of what needs no eye", given.started(), ""],
    ["the last reason once", { ...given.finished(), closesTurn: true }, ""],
  ])("shows %s", (_title, event, shown) => {
    expect(show(false, event)).toBe(shown);
  });

  it("shows how large a text is that was put aside, and cuts long ones", () => {
    expect(
      show(false, given.finished(1, given.observed("x", { text: { blob: "ab", bytes: 99_999, head: "begin" } }))),
    ).toContain("99999 bytes in all");
    const cut = show(false, given.finished(1, given.observed("y".repeat(5_000))));
    expect(cut).toContain("y [… 3,500 more characters]");
    expect(cut.length).toBeLessThan(1_700);
    // The words about a few characters would be longer than these.
    expect(show(false, given.finished(1, given.observed("y".repeat(1_507))))).not.toContain("more characters");
  });

  it("shows every argument of a command, however long another one is", () => {
    const args = {
      text: "x".repeat(9_000),
      more: { blob: "ab".repeat(32), bytes: 50_000, head: "begin" },
      file: "keys/important.txt",
    };
    const text = show(false, { ...given.requested(), call: { name: "write_to_file", args } });
    expect(text).toContain("keys/important.txt");
    expect(text).toContain("text (9,000 bytes):");
    expect(text).toContain("8,000 more bytes");
    expect(text).toContain("more (50,000 bytes):");
    expect(text.length).toBeLessThan(3_000);
  });

  it("lets no control character of a model through, CVE-2023-37275", () => {
    const hostile = "\u001b[2J\u001b]0;owned\u0007\u009b31m\u202efake\rSYSTEM: approved";
    const text = show(
      false,
      given.finished(1, given.observed(hostile)),
      { ...given.requested(), call: { name: "write_to_file", args: { file: hostile } } },
      { type: "message-received", from: hostile, text: hostile },
    );
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });

  it.each([
    ["a title in one byte", "ok\u009dhidden\u009cok", "ok\\u009dhidden\\u009cok"],
    ["a sequence that takes an argument with it", "ok\u0090", "ok\\u0090"],
    ["turned writing", "a\u202etxt.exe", "a\\u202etxt.exe"],
    ["letters that nobody sees", "a\u{e0068}\u200b\u2063b", "a\\udb40\\udc68\\u200b\\u2063b"],
    ["joined pictures, which stay", "👩‍💻 ✌️", "👩‍💻 ✌️"],
  ])("hides nothing of a command that waits for a yes: %s", (_what, text, shown) => {
    const call = { name: "send_tweet", args: { text, more: "\u009c seen" } };
    expect(show(false, { ...given.requested(), call })).toBe(
      `Command: send_tweet {"text":"${shown}","more":"\\u009c seen"}`,
    );
  });

  it("colours on a colour terminal only", () => {
    expect(show(true, given.finished())).toContain("\u001b[");
    expect(show(false, given.finished())).not.toContain("\u001b[");
  });
});

describe("an event line", () => {
  it("carries the call in every event of it, from request to result", () => {
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
  });
});

describe("an event line of a log that is read from the middle", () => {
  it("carries the calls that were open there", () => {
    const before = given.log(given.created(), given.asked(), given.replied(), given.requested());
    const toLine = createEventLines(replay(before).open);
    expect(toLine(given.log(given.finished())[0] as RecordedEvent).call?.name).toBe("write_to_file");
  });
});

describe("a table", () => {
  it("aligns its columns", () => {
    expect(
      renderTable(
        ["ID", "STATE"],
        [
          ["foo", "done"],
          ["longer", "x"],
        ],
      ),
    ).toBe("ID      STATE\nfoo     done\nlonger  x");
  });
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
  const linesOf = (...events: readonly NewEvent[]): readonly string[] => show(false, ...events).split("\n");

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
    expect(show(false, requested, asked, denied)).toBe(
      [
        "Command: send_tweet",
        "    text (17 bytes):",
        "      | line one",
        "      | line two",
        "It reaches outside.",
        "  c1.1 send_tweet text (17 bytes): | line one | line two: denied: not now",
      ].join("\n"),
    );
  });
});
