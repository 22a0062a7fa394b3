import { describe, expect, it } from "@jest/globals";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { listens, receive } from "#core/inbox.ts";
import type { InboxMessage } from "#core/ports.ts";
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
    ["a second pause means nothing", paused, { type: "pause", reason: "lunch" }, []],
    ["a resume resumes", paused, { type: "resume" }, [{ type: "agent-resumed" }]],
    ["a resume of a running agent means nothing", [created()], { type: "resume" }, []],
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
    expect(receive(message, replay(log(...events)))).toMatchObject(expected);
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
