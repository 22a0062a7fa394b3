import { describe, expect, it } from "@jest/globals";
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
  const see = (event: NewEvent): void => show(given.log(event)[0] as RecordedEvent);
  return { push, see, shown: () => shown };
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
});
