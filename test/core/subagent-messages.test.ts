import { describe, expect, it } from "@jest/globals";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { initialState } from "#core/state.ts";
import type { Origin } from "#core/subagent.ts";
import { stageMessages } from "#core/subagent-messages.ts";
import { asked, finished, log, observed, paused, RESUMED, replied, requested, turnEnded } from "../helpers/events.ts";
import { agentTold, child, created, ended, report, startedAgent, waitingParent } from "../helpers/subagent-events.ts";

describe("messages sent with an event", () => {
  const origin: Origin = { agent: "foo", depth: 1, outside: [] };
  const subagent = created({ startedBy: origin });
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
        ...{ kind: "spawn", key: "agent/7" },
        spec: { ...child(), id: "foo-ann", startedBy: { agent: "me", depth: 1, outside: [] } },
      },
    ]);
    const page: NewEvent = finished(1, observed("page", { source: "web" }));
    expect(sent(subagent, page, startedAgent("me-bo", 2))).toMatchObject([
      { spec: { startedBy: { agent: "me", depth: 2, outside: [{ from: "web", name: "" }] } } },
    ]);
  });

  it("the end of a turn sends the reason, the files as seen by the parent, the spending and the number of tasks", () => {
    const wrote = finished(1, observed("", { artifacts: ["notes/a.md"] }));
    expect(sent(subagent, asked(), replied(), requested(), wrote, turnEnded("counted"))).toEqual([
      {
        ...{ kind: "send", to: "foo", key: "report/6" },
        message: {
          ...{ type: "report", agent: "me", status: "finished", tasksReceived: 1 },
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

  /** A message to the parent or the sub-agent. */
  const to = (agent: string, message: object) => [{ to: agent, message }];
  const bo = [subagent, startedAgent("me-bo")];
  const boEnds = { ...ended, agent: "me-bo" } as NewEvent;
  it.each<[title: string, events: readonly NewEvent[], expected: object[]]>([
    [
      "a pause is reported to the parent, with its reason",
      [subagent, paused("budget", "why")],
      to("foo", { status: "paused", observation: { status: "failed", text: expect.stringContaining("why") } }),
    ],
    ["a pause that the parent caused is not reported back", [subagent, paused("parent")], []],
    ["an agent that a person created reports to nobody", [created(), paused("budget")], []],
    ["a fork reports to nobody", [created({ startedBy: { ...origin, agent: null } }), paused("budget")], []],
    [
      "a person's stop pauses working sub-agents",
      [...waitingParent, paused("stopped")],
      to("foo-ann", { type: "halt" }),
    ],
    ["a limit does not pause the sub-agents", [...waitingParent, paused("budget")], []],
    ["a person's stop does not pause finished sub-agents", [...waitingParent, report(), paused("stopped")], []],
    ["a resume resumes them", [...waitingParent, paused("stopped"), RESUMED], to("foo-ann", { type: "go-on" })],
    [
      "an ended agent reports what it spent",
      [subagent, paused("ended")],
      to("foo", { status: "ended", observation: null }),
    ],
    ["an ended agent does not report before its sub-agents have ended", [...bo, boEnds, paused("ended")], []],
    [
      "an ended agent reports when its last sub-agent has ended",
      [...bo, boEnds, paused("ended"), report({ agent: "me-bo", status: "ended" })],
      to("foo", { status: "ended", spent: { steps: 3 } }),
    ],
    [
      "a resting agent passes on changed sums",
      [...bo, turnEnded(), report({ agent: "me-bo" })],
      to("foo", { status: "accounts", observation: null }),
    ],
    ["a working agent does not pass on changed sums", [...bo, report({ agent: "me-bo" })], []],
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
      to("foo-ann", { type: "policy", approve: "always" }),
    ],
    [
      "a profile of commands is sent to all sub-agents",
      [...waitingParent, { type: "settings-changed", commands: "files,web" }],
      to("foo-ann", { type: "policy", commands: "files,web" }),
    ],
    ["other settings are not sent to sub-agents", [...waitingParent, { type: "settings-changed", stepLimit: 500 }], []],
    [
      "a request to end carries its reason",
      [...waitingParent, ended],
      to("foo-ann", { type: "end", reason: "enough" }),
    ],
  ])("%s", (_title, events, expected) => {
    const writes = sent(...events);
    expect(writes).toMatchObject(expected);
    expect(writes).toHaveLength(expected.length);
  });
});
