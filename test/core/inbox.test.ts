import { describe, expect, it } from "@jest/globals";
import { listens } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { eventsForMessage } from "#core/inbox.ts";
import type { InboxMessage } from "#core/ports/store.ts";
import * as given from "../helpers/events.ts";

const { created, asked, replied, requested, approved, started, observed, waits, paused, turnEnded, stateOf } = given;
const awaiting = [created(), requested(), given.approvalAsked()];
const waiting = [created(), requested(), approved(), started(), waits("agent")];
const resting = [created(), turnEnded()];
const still = [created(), paused()];
const later = [created(), asked(), given.modelFailed()];
const approval = (callId: string, more: object = {}) =>
  ({ type: "approval", callId, verdict: "approved", ...more }) as InboxMessage;
const pause = (more: object = {}): InboxMessage => ({ type: "pause", reason: "lunch", ...more });
const say: InboxMessage = { type: "say", from: "ada", text: "hurry" };
const goals: InboxMessage = { type: "goals", goals: ["b"] };
const answer: InboxMessage = { type: "answer", callId: "c1", observation: observed("42") };
const FILE = { what: "file", path: "pages/a.md" } as const;
const no = approval("c1", { verdict: "denied", text: "rather not" });
/** What becomes of them. */
const said = given.said("hurry");
const yes = approved(1, "person");
const fourMore = given.approvalsGranted(4);
const denied = given.denied("rather not", "person");
const changed = { type: "goals-changed", goals: ["b"] };
const trusted = { type: "words-trusted", ...FILE };
const answered = { type: "command-finished", observation: { text: "42" } };
const turn2 = given.turnStarted();
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

describe("eventsForMessage", () => {
  it.each<[title: string, events: NewEvent[], message: InboxMessage, expected: object[]]>([
    ["records a person's words as a message", [created()], say, [said]],
    ["approves the command on a yes", awaiting, approval("c1"), [yes]],
    ["grants four more approvals on a yes for five", awaiting, approval("c1", { count: 5 }), [fourMore, yes]],
    ["denies the command on a no, with the person's words as the reason", awaiting, no, [denied]],
    ["ignores a yes for another call", awaiting, approval("c9"), []],
    ["ignores a yes when no command waits for one", [created()], approval("c1"), []],
    ["records that a person trusts the words of a file", [created()], { type: "trust", ...FILE }, [trusted]],
    ["pauses the agent on a pause", [created()], pause(), [paused("person", "lunch")]],
    ["pauses the agent with the code stopped", [created()], pause({ code: "stopped" }), [paused("stopped", "lunch")]],
    ["ignores a pause of a paused agent", still, pause(), []],
    ["resumes a paused agent on a resume", still, { type: "resume" }, [given.RESUMED]],
    ["ignores a resume of a running agent", [created()], { type: "resume" }, []],
    ["takes a resume of an agent that is to repeat its request later", later, { type: "resume" }, [given.RESUMED]],
    ["changes the goals", [created()], goals, [changed]],
    ["opens the next turn of a finished agent for a person's words", resting, say, [turn2, said]],
    ["opens the next turn of a finished agent for new goals", resting, goals, [turn2, changed]],
    ["records words for a paused agent and leaves it paused", still, say, [said]],
    ["ignores a pause of a finished agent", resting, pause(), []],
    ["finishes a waiting command with its answer", waiting, answer, [answered]],
    ["ignores an answer when no command waits for it", [created()], answer, []],
    ["changes the plan as a person asks, and ignores what does not fit it", [created()], edits, edited],
    ["changes the plan of a paused agent, and leaves it paused", still, edits, edited],
    ["changes the plan while a command waits for a yes, and leaves that open", awaiting, edits, edited],
    ["changes the plan while a command waits for an answer", waiting, edits, edited],
    ["ignores changes of the plan of a finished agent, which has none", resting, edits, []],
    ["ignores changes of a plan that the agent's profile leaves out", [created({ commands: "files,web" })], edits, []],
    ["changes a plan that the profile has (control)", [created({ commands: "files,plan" })], edits, edited],
  ])("%s", (_title, events, message, expected) => {
    expect(eventsForMessage(message, stateOf(...events))).toMatchObject(expected);
  });

  it("applies every setting that the message names, and keeps the others", () => {
    const named = { budgetUsd: 2, tokenLimit: null, deadline: null, model: "m", background: true };
    const before = created({ tokenLimit: 7, stepLimit: 3 });
    const { settings } = stateOf(before, ...eventsForMessage({ type: "settings", ...named }, stateOf(before)));
    expect(settings).toEqual({ ...stateOf(created()).settings, ...named, stepLimit: 3 });
  });
});

it.each<[string, NewEvent[], boolean]>([
  ["is true between steps", [created()], true],
  ["is true while the agent waits for an approval", awaiting, true],
  ["is true while the agent waits for an answer", waiting, true],
  ["is true when the agent is paused, in any phase", [created(), asked(), paused()], true],
  ["is true when the agent rests", resting, true],
  ["is true while the agent waits for the next attempt", [created(), asked(), given.modelFailed()], true],
  ["is false while the model is asked", [created(), asked()], false],
  ["is false while a reply is read", [created(), asked(), replied()], false],
  ["is false while a command is judged", [created(), requested()], false],
  ["is false between approval and start", [created(), requested(), approved()], false],
  ["is false while a command runs", [created(), requested(), approved(), started()], false],
  ["is false while the turn closes", [created(), requested(), { ...given.finished(), closesTurn: true }], false],
])("listens %s", (_title, events, expected) => {
  expect(listens(stateOf(...events))).toBe(expected);
});
