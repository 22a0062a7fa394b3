import { describe, expect, it } from "@jest/globals";
import { EMPTY_TAIL, foldDelta, foldEvent, readReply, type Tail } from "../../src/page/fold.ts";
import type { LogEvent } from "../../src/page/types.ts";

const event = (seq: number, type: string, more: object = {}): LogEvent =>
  ({ seq, type, at: `2026-11-26T10:00:${String(seq).padStart(2, "0")}.000Z`, frame: 0, ...more }) as LogEvent;
const fold = (...events: readonly LogEvent[]): Tail => events.reduce(foldEvent, EMPTY_TAIL);

describe("the live part of an agent", () => {
  it("grows by pieces of the reply, and is empty when the reply is complete", () => {
    const asked = fold(event(4, "model-asked"));
    const live = [
      { seq: 4, from: 0, text: "I look" },
      { seq: 4, from: 6, text: " at it" },
    ].reduce(foldDelta, asked);
    expect(live.live?.text).toBe("I look at it");
    expect(foldEvent(live, event(5, "model-replied")).live).toBeNull();
  });

  it("begins anew with the next request", () => {
    const first = foldDelta(fold(event(4, "model-asked")), { seq: 4, from: 0, text: "old" });
    expect(foldDelta(first, { seq: 9, from: 0, text: "new" }).live).toEqual({ seq: 9, text: "new" });
  });

  it("leaves out a piece whose beginning is missing", () => {
    const tail = fold(event(4, "model-asked"));
    expect(foldDelta(tail, { seq: 4, from: 10, text: "late" })).toBe(tail);
  });

  it("counts each event once, so that a stream may send it again", () => {
    const said = event(7, "message-received", { from: "you", text: "Hurry" });
    expect(fold(said, said).notes).toEqual([{ seq: 7, at: said.at, look: "says", text: "you: Hurry" }]);
  });

  it("notes pauses, turns and words, and nothing of nested work", () => {
    const tail = fold(
      event(1, "agent-paused", { reason: "Paused on the page." }),
      event(2, "agent-resumed"),
      event(3, "turn-started", { turn: 2 }),
      event(4, "message-received", { from: "you", text: { head: "Long" } }),
      event(5, "model-asked", { frame: 1 }),
      event(6, "turn-finished"),
    );
    expect(tail.notes.map(({ text }) => text)).toEqual([
      "Paused on the page.",
      "Resumed",
      "Turn 2",
      "you: Long…",
      "Reported its goals as reached",
    ]);
    expect([tail.head, tail.since]).toEqual([6, null]);
  });
});

describe("a reply that arrives", () => {
  const whole = JSON.stringify({
    thoughts: { text: 'A "quoted" thought', reasoning: "Because", plan: "- one\n- two", criticism: "None" },
    command: { name: "read_file", args: { file: "a.md" } },
  });

  it("has its thoughts and its command", () => {
    expect(readReply(whole)).toEqual({
      ...{ thought: 'A "quoted" thought', reasoning: "Because", plan: "- one\n- two", criticism: "None" },
      next: "read_file",
    });
  });

  it("can be read wherever it ends", () => {
    const thoughts = Array.from(whole, (_, end) => readReply(whole.slice(0, end)).thought);
    expect(thoughts.filter((thought) => !'A "quoted" thought'.startsWith(thought))).toEqual([]);
    expect(new Set(thoughts).size).toBe('A "quoted" thought'.length + 1);
  });

  it("is a thought as a whole when it is not JSON", () => {
    expect(readReply("Let me see").thought).toBe("Let me see");
  });
});
