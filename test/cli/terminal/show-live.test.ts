import { describe, expect, it } from "@jest/globals";
import { createLiveReader } from "#api/event-stream.ts";
import { createShowRun } from "#cli/terminal/show-run.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { createLiveThoughts } from "#reply/thoughts.ts";
import { createRedactor } from "#util/redact.ts";
import * as given from "../../helpers/events.ts";

const THOUGHTS = { text: "I look around first.", reasoning: "", plan: "- a\n- b", criticism: "", speak: "Looking." };
const SECRET = "sk-planted-8Kd7wQ0nRx5";

function onTerminal(thoughts: object = THOUGHTS) {
  let shown = "";
  const redact = createRedactor([SECRET]);
  const show = createShowRun({
    print: (line) => {
      shown += `${redact(line)}\n`;
    },
    colour: false,
    thoughtsOf: () => ({ ...THOUGHTS, ...thoughts }),
    live: {
      write: (text) => {
        shown += text;
      },
      redact,
      createScanner: createLiveThoughts,
    },
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
    push(reply(THOUGHTS));
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
      pushRead(before + JSON.stringify({ thoughts: THOUGHTS, command }, null, indent), length);
      const live = shown();
      see(given.replied(1, "{}"));
      expect(shown()).toBe("Thoughts: I look around first.\nPlan: - a\n  - b\nSays: Looking.\n");
      if (!before.includes("Here")) expect(live).toBe(shown());
    }
  });
});
