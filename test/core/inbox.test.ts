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
const edits: InboxMessage = {
  type: "plan",
  edits: [
    { kind: "add", parent: "0", goal: "Bake" },
    { kind: "add", parent: "0.2", goal: "Knead" },
    { kind: "set", id: "0.2.0", state: "in_progress" },
    { kind: "set", id: "0.5", state: "open" },
    { kind: "set", id: "0.1", state: "verified" },
    { kind: "add", parent: "0.1", goal: "Too late" },
    { kind: "add", parent: "0", goal: "" },
  ],
};
/** Edits that fit the plan of two goals, each as the one before left it. */
const edited = [
  { type: "task-added", parent: "0", task: { goal: "Bake" }, by: "person" },
  { type: "task-added", parent: "0.2", task: { goal: "Knead" }, by: "person" },
  { type: "task-changed", id: "0.2.0", state: "in_progress", by: "person" },
  { type: "task-changed", id: "0.1", state: "verified", by: "person" },
];
const paused: NewEvent[] = [created(), { type: "agent-paused", code: "person", reason: "" }];

describe("receive", () => {
  it.each<[title: string, events: NewEvent[], message: InboxMessage, expected: object[]]>([
    [
      "records a person's words as a message",
      [created()],
      { type: "say", from: "ada", text: "hurry" },
      [{ type: "message-received", from: "ada", text: "hurry" }],
    ],
    [
      "approves the command on a yes",
      awaiting,
      { type: "approval", callId: "c1", verdict: "approved" },
      [{ type: "command-approved", by: "person" }],
    ],
    [
      "grants four more approvals on a yes for five",
      awaiting,
      { type: "approval", callId: "c1", verdict: "approved", count: 5 },
      [
        { type: "approvals-granted", count: 4 },
        { type: "command-approved", by: "person" },
      ],
    ],
    [
      "denies the command on a no, with the person's words as the reason",
      awaiting,
      { type: "approval", callId: "c1", verdict: "denied", text: "rather not" },
      [{ type: "command-denied", by: "person", reason: "rather not" }],
    ],
    ["ignores a yes for another call", awaiting, { type: "approval", callId: "c9", verdict: "approved" }, []],
    [
      "ignores a yes when no command waits for one",
      [created()],
      { type: "approval", callId: "c1", verdict: "approved" },
      [],
    ],
    [
      "records that a person trusts the words of a file",
      [created()],
      { type: "trust", what: "file", path: "pages/a.md" },
      [{ type: "words-trusted", what: "file", path: "pages/a.md" }],
    ],
    [
      "pauses the agent on a pause",
      [created()],
      { type: "pause", reason: "lunch" },
      [{ type: "agent-paused", code: "person", reason: "lunch" }],
    ],
    [
      "pauses the agent with the code stopped on a stop",
      [created()],
      { type: "pause", reason: "enough", code: "stopped" },
      [{ type: "agent-paused", code: "stopped", reason: "enough" }],
    ],
    ["ignores a pause of a paused agent", paused, { type: "pause", reason: "lunch" }, []],
    ["resumes a paused agent on a resume", paused, { type: "resume" }, [{ type: "agent-resumed" }]],
    ["ignores a resume of a running agent", [created()], { type: "resume" }, []],
    ["changes the goals", [created()], { type: "goals", goals: ["b"] }, [{ type: "goals-changed", goals: ["b"] }]],
    [
      "opens the next turn of a finished agent for a person's words",
      resting,
      { type: "say", from: "ada", text: "one more" },
      [
        { type: "turn-started", turn: 2 },
        { type: "message-received", text: "one more" },
      ],
    ],
    [
      "opens the next turn of a finished agent for new goals",
      resting,
      { type: "goals", goals: ["b"] },
      [
        { type: "turn-started", turn: 2 },
        { type: "goals-changed", goals: ["b"] },
      ],
    ],
    [
      "records words for a paused agent and leaves it paused",
      paused,
      { type: "say", from: "ada", text: "hurry" },
      [{ type: "message-received", text: "hurry" }],
    ],
    ["ignores a pause of a finished agent", resting, { type: "pause", reason: "lunch" }, []],
    [
      "changes the settings, including budget, deadline and model",
      [created()],
      { type: "settings", budgetUsd: 2, tokenLimit: null, deadline: null, model: "m", background: true },
      [{ type: "settings-changed", budgetUsd: 2, tokenLimit: null, deadline: null, model: "m", background: true }],
    ],
    [
      "changes the step limit",
      [created()],
      { type: "settings", stepLimit: 7 },
      [{ type: "settings-changed", stepLimit: 7 }],
    ],
    [
      "finishes a waiting command with its answer",
      waiting,
      { type: "answer", callId: "c1", observation: observed("42") },
      [{ type: "command-finished", observation: { text: "42" } }],
    ],
    ["changes the plan as a person asks, and ignores what does not fit it", [created()], edits, edited],
    ["changes the plan of a paused agent, and leaves it paused", paused, edits, edited],
    ["changes the plan while a command waits for a yes, and leaves that open", awaiting, edits, edited],
    ["changes the plan while a command waits for an answer", waiting, edits, edited],
    ["ignores changes of the plan of a finished agent, which has none", resting, edits, []],
    ["ignores changes of a plan that the agent's profile leaves out", [created({ commands: "files,web" })], edits, []],
    ["changes a plan that the profile has (control)", [created({ commands: "files,plan" })], edits, edited],
    [
      "ignores an answer when no command waits for it",
      [created()],
      { type: "answer", callId: "c1", observation: observed("42") },
      [],
    ],
  ])("%s", (_title, events, message, expected) => {
    const received = receive(message, replay(log(...events)));
    expect(received).toHaveLength(expected.length);
    expect(received).toMatchObject(expected);
  });

  it("applies every setting that the message names, and keeps the others", () => {
    const changed: InboxMessage = { type: "settings", budgetUsd: 2, model: "m", background: true };
    const before = created({ tokenLimit: 7, stepLimit: 3 });
    const { settings } = replay(log(before, ...receive(changed, replay(log(before)))));
    expect(settings).toEqual({
      approve: "never",
      windowBatch: 0,
      form: "json",
      plan: "free",
      commands: null,
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
    ["is true between steps", [created()], true],
    ["is true while the agent waits for an approval", awaiting, true],
    ["is true while the agent waits for an answer", waiting, true],
    [
      "is true when the agent is paused, in any phase",
      [created(), asked(), { type: "agent-paused", code: "person", reason: "" }],
      true,
    ],
    ["is true when the agent rests", [created(), { type: "turn-finished", outcome: "completed", reason: "" }], true],
    ["is true while the agent waits for the next attempt", [created(), asked(), given.modelFailed()], true],
    ["is false while the model is asked", [created(), asked()], false],
    ["is false while a reply is read", [created(), asked(), replied()], false],
    ["is false while a command is judged", [created(), requested()], false],
    ["is false between approval and start", [created(), requested(), approved()], false],
    ["is false while a command runs", [created(), requested(), approved(), started()], false],
    ["is false while the turn closes", [created(), requested(), { ...given.finished(), closesTurn: true }], false],
  ])("%s", (_title, events, expected) => {
    expect(listens(replay(log(...events)))).toBe(expected);
  });
});
