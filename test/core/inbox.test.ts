import { describe, expect, it } from "@jest/globals";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { listens, receive } from "#core/inbox.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import * as given from "../helpers/events.ts";

const { created, asked, replied, requested, approved, started, observed, log } = given;
const awaiting: NewEvent[] = [created(), requested(), { type: "approval-asked", step: 1, callId: "c1", reason: "" }];
const waiting: NewEvent[] = [
  created(),
  requested(),
  approved(),
  started(),
  { type: "command-waiting", step: 1, callId: "c1", waitFor: "agent", until: null },
];
const resting: NewEvent[] = [created(), { type: "turn-finished", outcome: "completed", reason: "done" }];
const paused: NewEvent[] = [created(), { type: "agent-paused", code: "person", reason: "" }];

describe("receive", () => {
  it.each<[title: string, events: NewEvent[], message: InboxMessage, expected: object[]]>([
    [
      "words become a message",
      [created()],
      { type: "say", from: "ada", text: "hurry" },
      [{ type: "message-received", from: "ada", text: "hurry" }],
    ],
    [
      "a yes approves",
      awaiting,
      { type: "approval", callId: "c1", verdict: "approved" },
      [{ type: "command-approved", by: "person" }],
    ],
    [
      "a yes for five grants four more",
      awaiting,
      { type: "approval", callId: "c1", verdict: "approved", count: 5 },
      [
        { type: "approvals-granted", count: 4 },
        { type: "command-approved", by: "person" },
      ],
    ],
    [
      "a no carries the person's words",
      awaiting,
      { type: "approval", callId: "c1", verdict: "denied", text: "rather not" },
      [{ type: "command-denied", by: "person", reason: "rather not" }],
    ],
    ["a yes for another call means nothing", awaiting, { type: "approval", callId: "c9", verdict: "approved" }, []],
    [
      "a yes that nobody waits for means nothing",
      [created()],
      { type: "approval", callId: "c1", verdict: "approved" },
      [],
    ],
    [
      "a pause pauses",
      [created()],
      { type: "pause", reason: "lunch" },
      [{ type: "agent-paused", code: "person", reason: "lunch" }],
    ],
    [
      "a stop is a pause with its own name",
      [created()],
      { type: "pause", reason: "enough", code: "stopped" },
      [{ type: "agent-paused", code: "stopped", reason: "enough" }],
    ],
    ["a second pause means nothing", paused, { type: "pause", reason: "lunch" }, []],
    ["a resume resumes", paused, { type: "resume" }, [{ type: "agent-resumed" }]],
    ["a resume of a running agent means nothing", [created()], { type: "resume" }, []],
    ["goals change", [created()], { type: "goals", goals: ["b"] }, [{ type: "goals-changed", goals: ["b"] }]],
    [
      "words open the next turn of an agent that has finished",
      resting,
      { type: "say", from: "ada", text: "one more" },
      [
        { type: "turn-started", turn: 2 },
        { type: "message-received", text: "one more" },
      ],
    ],
    [
      "so do goals",
      resting,
      { type: "goals", goals: ["b"] },
      [
        { type: "turn-started", turn: 2 },
        { type: "goals-changed", goals: ["b"] },
      ],
    ],
    [
      "a paused agent hears words and stays paused",
      paused,
      { type: "say", from: "ada", text: "hurry" },
      [{ type: "message-received", text: "hurry" }],
    ],
    ["a pause of an agent that has finished means nothing", resting, { type: "pause", reason: "lunch" }, []],
    [
      "settings change, the newer ones too",
      [created()],
      { type: "settings", budgetUsd: 2, tokenLimit: null, deadline: null, model: "m", background: true },
      [{ type: "settings-changed", budgetUsd: 2, tokenLimit: null, deadline: null, model: "m", background: true }],
    ],
    ["settings change", [created()], { type: "settings", stepLimit: 7 }, [{ type: "settings-changed", stepLimit: 7 }]],
    [
      "an answer ends the wait",
      waiting,
      { type: "answer", callId: "c1", observation: observed("42") },
      [{ type: "command-finished", observation: { text: "42" } }],
    ],
    [
      "an answer that nobody waits for means nothing",
      [created()],
      { type: "answer", callId: "c1", observation: observed("42") },
      [],
    ],
  ])("%s", (_title, events, message, expected) => {
    const received = receive(message, replay(log(...events)));
    expect(received).toHaveLength(expected.length);
    expect(received).toMatchObject(expected);
  });

  it("new settings are all taken, and what is not named stays", () => {
    const changed: InboxMessage = { type: "settings", budgetUsd: 2, model: "m", background: true };
    const before = created({ tokenLimit: 7, stepLimit: 3 });
    const { settings } = replay(log(before, ...receive(changed, replay(log(before)))));
    expect(settings).toEqual({
      approve: "never",
      windowBatch: 0,
      stepLimit: 3,
      tokenLimit: 7,
      budgetUsd: 2,
      deadline: null,
      model: "m",
      background: true,
    });
  });
});

describe("listens", () => {
  it.each<[string, NewEvent[], boolean]>([
    ["between steps", [created()], true],
    ["while it waits for an approval", awaiting, true],
    ["while it waits for an answer", waiting, true],
    [
      "when it is paused, wherever it stood",
      [created(), asked(), { type: "agent-paused", code: "person", reason: "" }],
      true,
    ],
    ["when it rests", [created(), { type: "turn-finished", outcome: "completed", reason: "" }], true],
    ["when it waits to ask again", [created(), asked(), given.modelFailed()], true],
    ["not while the model is asked", [created(), asked()], false],
    ["not while a reply is read", [created(), asked(), replied()], false],
    ["not while a command is judged", [created(), requested()], false],
    ["not between approval and start", [created(), requested(), approved()], false],
    ["not while a command runs", [created(), requested(), approved(), started()], false],
    ["not while the turn closes", [created(), requested(), { ...given.finished(), closesTurn: true }], false],
  ])("%s", (_title, events, expected) => {
    expect(listens(replay(log(...events)))).toBe(expected);
  });
});
