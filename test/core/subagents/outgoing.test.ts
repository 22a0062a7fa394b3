import { describe, expect, it } from "@jest/globals";
import type { EventOf, NewEvent, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { initialState } from "#core/state.ts";
import { stageMessages } from "#core/subagents/outgoing.ts";
import type { Origin } from "#core/subagents/subagent-event.ts";
import { asked, finished, log, observed, replied, requested } from "../../helpers/events.ts";
import {
  agentTold,
  child,
  created,
  ended,
  report,
  startedAgent,
  waitingParent,
} from "../../helpers/subagent-events.ts";

describe("messages sent with an event", () => {
  const origin: Origin = { agent: "foo", depth: 1, outside: [] };
  function sent(...events: readonly NewEvent[]) {
    let state = initialState;
    let writes: ReturnType<typeof stageMessages> = [];
    for (const event of log(...events)) {
      state = evolve(state, event as RecordedEvent);
      writes = stageMessages(event, state, "me");
    }
    return writes;
  }

  it("a start creates the sub-agent one level deeper, with its parent's taint", () => {
    expect(sent(...waitingParent.slice(0, 7))).toEqual([
      {
        kind: "spawn",
        key: "agent/7",
        spec: { ...child(), id: "foo-ann", startedBy: { agent: "me", depth: 1, outside: [] } },
      },
    ]);
    const page: NewEvent = finished(1, observed("page", { source: "web" }));
    expect(sent(created({ startedBy: origin }), page, startedAgent("me-bo", 2))).toMatchObject([
      { spec: { startedBy: { agent: "me", depth: 2, outside: [{ from: "web", name: "" }] } } },
    ]);
  });

  it("the end of a turn sends the reason, the files as seen by the parent, the spending and the number of tasks", () => {
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
          status: "finished",
          tasksReceived: 1,
          spent: { steps: 1, tokens: 15, usd: 0 },
          observation: observed("counted\nIts files: agents/me/notes/a.md", {
            source: "agent",
            outside: [{ from: "agent", name: "me" }],
            artifacts: ["agents/me/notes/a.md"],
          }),
        },
      },
    ]);
  });

  const paused = (code: EventOf<"agent-paused">["code"]): NewEvent => ({ type: "agent-paused", code, reason: "why" });
  it.each<[title: string, events: readonly NewEvent[], expected: object[]]>([
    [
      "a pause is reported to the parent, with its reason",
      [created({ startedBy: origin }), paused("budget")],
      [
        {
          to: "foo",
          message: { status: "paused", observation: { status: "failed", text: expect.stringContaining("why") } },
        },
      ],
    ],
    ["a pause that the parent caused is not reported back", [created({ startedBy: origin }), paused("parent")], []],
    ["an agent that a person created reports to nobody", [created(), paused("budget")], []],
    ["a fork reports to nobody", [created({ startedBy: { ...origin, agent: null } }), paused("budget")], []],
    [
      "a person's stop pauses the sub-agents that work",
      [...waitingParent, paused("stopped")],
      [{ to: "foo-ann", message: { type: "halt" } }],
    ],
    ["a limit does not pause the sub-agents", [...waitingParent, paused("budget")], []],
    ["a person's stop does not pause finished sub-agents", [...waitingParent, report(), paused("stopped")], []],
    [
      "a resume resumes the sub-agents",
      [...waitingParent, paused("stopped"), { type: "agent-resumed" }],
      [{ to: "foo-ann", message: { type: "go-on" } }],
    ],
    [
      "an ended agent reports what it spent",
      [created({ startedBy: origin }), paused("ended")],
      [{ to: "foo", message: { status: "ended", observation: null } }],
    ],
    [
      "an ended agent does not report before its sub-agents have ended",
      [
        created({ startedBy: origin }),
        startedAgent("me-bo"),
        { ...ended, agent: "me-bo" } as NewEvent,
        paused("ended"),
      ],
      [],
    ],
    [
      "an ended agent reports when its last sub-agent has ended",
      [
        created({ startedBy: origin }),
        startedAgent("me-bo"),
        { ...ended, agent: "me-bo" } as NewEvent,
        paused("ended"),
        report({ agent: "me-bo", status: "ended" }),
      ],
      [{ to: "foo", message: { status: "ended", spent: { steps: 3 } } }],
    ],
    [
      "a resting agent passes on changed sums",
      [
        created({ startedBy: origin }),
        startedAgent("me-bo"),
        { type: "turn-finished", outcome: "completed", reason: "" },
        report({ agent: "me-bo" }),
      ],
      [{ to: "foo", message: { status: "accounts", observation: null } }],
    ],
    [
      "a working agent does not pass on changed sums",
      [created({ startedBy: origin }), startedAgent("me-bo"), report({ agent: "me-bo" })],
      [],
    ],
    [
      "a task carries limits, text and taint",
      [...waitingParent, agentTold()],
      [
        {
          to: "foo-ann",
          key: "task/9",
          message: { type: "task", text: "more", limits: { stepLimit: 25 }, outside: [] },
        },
      ],
    ],
    [
      "a stricter approval mode is sent to all sub-agents, also finished ones",
      [...waitingParent, report(), { type: "settings-changed", approve: "always" }],
      [{ to: "foo-ann", message: { type: "policy", approve: "always" } }],
    ],
    [
      "a profile of commands is sent to all sub-agents",
      [...waitingParent, { type: "settings-changed", commands: "files,web" }],
      [{ to: "foo-ann", message: { type: "policy", commands: "files,web" } }],
    ],
    ["other settings are not sent to sub-agents", [...waitingParent, { type: "settings-changed", stepLimit: 500 }], []],
    [
      "a request to end carries its reason",
      [...waitingParent, ended],
      [{ to: "foo-ann", message: { type: "end", reason: "enough" } }],
    ],
  ])("%s", (_title, events, expected) => {
    const writes = sent(...events);
    expect(writes).toMatchObject(expected);
    expect(writes).toHaveLength(expected.length);
  });
});
