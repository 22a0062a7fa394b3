import { describe, expect, it } from "@jest/globals";
import type { EventOf, NewEvent, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { initialState } from "#core/state.ts";
import { stageMessages } from "#core/subagents/outgoing.ts";
import type { Origin } from "#core/subagents/subagent-event.ts";
import { asked, finished, log, observed, replied, requested } from "../../helpers/events.ts";
import { child, created, ended, report, startedAgent, told, waiting } from "../../helpers/subagent-events.ts";

describe("what is sent with an event", () => {
  const origin: Origin = { agent: "foo", depth: 1, tainted: false };
  function sent(...events: readonly NewEvent[]) {
    let state = initialState;
    let writes: ReturnType<typeof stageMessages> = [];
    for (const event of log(...events)) {
      state = evolve(state, event as RecordedEvent);
      writes = stageMessages(event, state, "me");
    }
    return writes;
  }

  it("starts the agent, one deeper, with the taint of the one that starts it", () => {
    expect(sent(...waiting.slice(0, 7))).toEqual([
      {
        kind: "spawn",
        key: "agent/7",
        spec: { ...child(), id: "foo-ann", startedBy: { agent: "me", depth: 1, tainted: false } },
      },
    ]);
    const page: NewEvent = finished(1, observed("page", { source: "web" }));
    expect(sent(created({ startedBy: origin }), page, startedAgent("me-bo", 2))).toMatchObject([
      { spec: { startedBy: { agent: "me", depth: 2, tainted: true } } },
    ]);
  });

  it("answers with the reason, the files as the other reads them, what was spent and which task was heard", () => {
    const wrote = finished(1, observed("", { artifacts: ["notes/a.md"] }));
    const rest: NewEvent = { type: "turn-finished", outcome: "completed", reason: "counted" };
    expect(sent(created({ startedBy: origin }), asked(), replied(), requested(), wrote, rest)).toEqual([
      {
        kind: "send",
        to: "foo",
        key: "report/6",
        message: {
          type: "report",
          agent: "me",
          standing: "finished",
          heard: 1,
          spent: { steps: 1, tokens: 15, usd: 0 },
          observation: observed("counted\nIts files: agents/me/notes/a.md", {
            source: "agent",
            artifacts: ["agents/me/notes/a.md"],
          }),
        },
      },
    ]);
  });

  const paused = (code: EventOf<"agent-paused">["code"]): NewEvent => ({ type: "agent-paused", code, reason: "why" });
  it.each<[title: string, events: readonly NewEvent[], expected: object[]]>([
    [
      "a pause is told to the one above, with its reason",
      [created({ startedBy: origin }), paused("budget")],
      [
        {
          to: "foo",
          message: { standing: "paused", observation: { status: "failed", text: expect.stringContaining("why") } },
        },
      ],
    ],
    ["a stop that came from above is not told back", [created({ startedBy: origin }), paused("parent")], []],
    ["an agent of a person tells nobody", [created(), paused("budget")], []],
    ["a fork tells nobody", [created({ startedBy: { ...origin, agent: null } }), paused("budget")], []],
    [
      "those that work stop with the one that a person stops",
      [...waiting, paused("stopped")],
      [{ to: "foo-ann", message: { type: "halt" } }],
    ],
    ["not at a limit", [...waiting, paused("budget")], []],
    ["not those that have finished", [...waiting, report(), paused("stopped")], []],
    [
      "they go on with it",
      [...waiting, paused("stopped"), { type: "agent-resumed" }],
      [{ to: "foo-ann", message: { type: "go-on" } }],
    ],
    [
      "one that ends says what it spent",
      [created({ startedBy: origin }), paused("ended")],
      [{ to: "foo", message: { standing: "ended", observation: null } }],
    ],
    [
      "not before those below it have ended",
      [
        created({ startedBy: origin }),
        startedAgent("me-bo"),
        { ...ended, agent: "me-bo" } as NewEvent,
        paused("ended"),
      ],
      [],
    ],
    [
      "but then",
      [
        created({ startedBy: origin }),
        startedAgent("me-bo"),
        { ...ended, agent: "me-bo" } as NewEvent,
        paused("ended"),
        report({ agent: "me-bo", standing: "ended" }),
      ],
      [{ to: "foo", message: { standing: "ended", spent: { steps: 3 } } }],
    ],
    [
      "sums that change while it rests are passed on",
      [
        created({ startedBy: origin }),
        startedAgent("me-bo"),
        { type: "turn-finished", outcome: "completed", reason: "" },
        report({ agent: "me-bo" }),
      ],
      [{ to: "foo", message: { standing: "accounts", observation: null } }],
    ],
    ["and not while it works", [created({ startedBy: origin }), startedAgent("me-bo"), report({ agent: "me-bo" })], []],
    [
      "a task carries limits, words and taint",
      [...waiting, told()],
      [
        {
          to: "foo-ann",
          key: "task/9",
          message: { type: "task", text: "more", reach: { stepLimit: 25 }, tainted: false },
        },
      ],
    ],
    [
      "a stricter mode reaches those that it started, those that rest too",
      [...waiting, report(), { type: "settings-changed", approve: "always" }],
      [{ to: "foo-ann", message: { type: "policy", approve: "always" } }],
    ],
    ["other settings do not", [...waiting, { type: "settings-changed", stepLimit: 500 }], []],
    ["an end carries its reason", [...waiting, ended], [{ to: "foo-ann", message: { type: "end", reason: "enough" } }]],
  ])("%s", (_title, events, expected) => {
    const writes = sent(...events);
    expect(writes).toMatchObject(expected);
    expect(writes).toHaveLength(expected.length);
  });
});
