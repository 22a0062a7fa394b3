import { describe, expect, it } from "@jest/globals";
import type { Rules } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";

import { eventsForMessage, listens } from "#core/inbox.ts";
import { activeFrame } from "#core/state.ts";
import * as given from "../helpers/events.ts";

const { approved, asked, created, FACTS, finished, replied, requested, started, stateOf } = given;
const decideAfter = (events: readonly NewEvent[], change: Partial<Rules> = {}) =>
  given.decided(events, { epoch: 1, facts: () => ({ annotations: FACTS, effect: "transactional" }), ...change });

const of = { step: 1, callId: "c1.1", frame: 1 };
const pushed: NewEvent = { type: "frame-pushed", kind: "call", ordinal: 1, hash: "h", ...of };
const popped: NewEvent = { type: "frame-popped", ordinal: 1, hash: "h", resultSeq: 9, ...of };
const OUTER = [created(), asked(), replied(), requested(), approved(), started()];
const INNER: readonly NewEvent[] = [
  ...[...OUTER, pushed, { ...requested("ask_user"), ...of }, { ...approved(), ...of }, { ...started(), ...of }],
];
const WAITING: NewEvent = { type: "command-waiting", waitFor: "person", until: null, ...of };
const END: NewEvent = { ...finished(), ...of };

describe("the queue of a frame", () => {
  const OTHERS = ["c1-2", "c1-3"].map((callId): NewEvent => ({ ...requested("read_file"), callId }));
  const THREE = [created(), asked(), replied(), requested(), ...OTHERS];
  const SECOND = { step: 1, callId: "c1-2" };

  it("holds the further calls of a reply, which are judged one after the other", () => {
    const judging = (callId: string, ...queue: string[]) => ({ phase: { kind: "judging", callId }, queue });
    expect(activeFrame(stateOf(...THREE))).toMatchObject(judging("c1", "c1-2", "c1-3"));
    const second = [...THREE, approved(), started(), finished()];
    expect(activeFrame(stateOf(...second))).toMatchObject(judging("c1-2", "c1-3"));
    expect(decideAfter(second)).toMatchObject({ events: [{ type: "command-approved", callId: "c1-2" }] });
    const third = [...second, { ...given.denied("no", "person"), ...SECOND }];
    expect(activeFrame(stateOf(...third))).toMatchObject(judging("c1-3"));
    const all = stateOf(...third, { ...finished(), callId: "c1-3" });
    expect(activeFrame(all)).toMatchObject({ phase: { kind: "thinking" }, queue: [] });
    expect(all).toMatchObject({ step: 1, open: [] });
  });

  it("lets a person's words and a pause in between two calls, and keeps both", () => {
    const between = [...THREE, approved(), started(), finished()];
    expect(listens(stateOf(...between))).toBe(true);
    expect(listens(stateOf(...THREE))).toBe(false);
    const said = [...between, ...eventsForMessage({ type: "say", from: "Ann", text: "Hi" }, stateOf(...between))];
    const paused = [...said, ...eventsForMessage({ type: "pause", reason: "Stop." }, stateOf(...said))];
    expect(decideAfter(paused)).toEqual({ kind: "rest" });
    expect(decideAfter([...paused, given.RESUMED])).toMatchObject({ events: [{ callId: "c1-2" }] });
  });

  it("is interrupted like a single call, and goes on behind it", () => {
    const running = [...THREE, approved(), started(), finished(), { ...approved(), ...SECOND }];
    const killed = [...running, { ...started("pure"), ...SECOND }];
    expect(decideAfter(killed, { epoch: 2 })).toMatchObject({ events: [{ type: "call-interrupted", callId: "c1-2" }] });
    const { phase } = activeFrame(stateOf(...killed, { ...finished(), ...SECOND }));
    expect(phase).toMatchObject({ kind: "judging", callId: "c1-3" });
  });
});

describe("the stack of frames", () => {
  it("leaves the outer frame as it is when a nested call ends", () => {
    const before = stateOf(...INNER).frames[0];
    const after = stateOf(...INNER, END).frames[0];
    expect(after).toEqual(before);
    expect(after.phase).toEqual({ kind: "executing", callId: "c1" });
  });

  it("pops the frame of a call that has ended, and keeps a reference to its result", () => {
    expect(decideAfter([...INNER, END])).toMatchObject({
      kind: "record",
      events: [{ type: "frame-popped", frame: 1, callId: "c1.1", ordinal: 1, hash: "h", resultSeq: 11 }],
    });
    const state = stateOf(...INNER, END, popped);
    expect(state.frames).toHaveLength(1);
    expect(state.open).toMatchObject([{ callId: "c1", results: [{ ordinal: 1, hash: "h", seq: 9 }] }]);
  });

  it("finds the call of an answer below the innermost frame", () => {
    const above: NewEvent = { ...pushed, frame: 2, callId: "c1.1.1" };
    const observation = { status: "ok", text: "Paris", source: "person", artifacts: [] } as const;
    const state = stateOf(...INNER, WAITING, above);
    const answered = eventsForMessage({ type: "answer", callId: "c1.1", observation }, state);
    expect(answered).toMatchObject([{ type: "command-finished", callId: "c1.1", observation }]);
    const told = eventsForMessage({ type: "say", from: "Ann", text: "Paris" }, state);
    expect(told).toMatchObject([{ callId: "c1.1", observation }]);
  });

  it("finds the call of an approval in any frame", () => {
    const waits: NewEvent = { type: "approval-asked", reason: "", ...of };
    const state = stateOf(...OUTER, pushed, { ...requested(), ...of }, waits);
    const events = eventsForMessage({ type: "approval", callId: "c1.1", verdict: "approved" }, state);
    expect(events).toMatchObject([{ type: "command-approved", callId: "c1.1" }]);
  });

  it("runs the lowest interrupted command first, and then goes on at the top", () => {
    const later = { epoch: 2 };
    expect(decideAfter(INNER, later)).toMatchObject({ events: [{ type: "call-interrupted", callId: "c1" }] });
    const seen: NewEvent = { type: "call-interrupted", step: 1, callId: "c1", epoch: 2 };
    expect(decideAfter([...INNER, seen], later)).toMatchObject({ kind: "execute", callId: "c1", attempt: 2 });
    const again = { ...started(), attempt: 2, epoch: 2 };
    const then = decideAfter([...INNER, seen, again], later);
    expect(then).toMatchObject({ events: [{ type: "call-interrupted", callId: "c1.1" }] });
  });

  it("counts one death once, whatever the number of frames", () => {
    const seen = (callId: string): NewEvent => ({ type: "call-interrupted", step: 1, callId, epoch: 2 });
    expect(stateOf(...INNER, seen("c1"), { ...seen("c1.1"), frame: 1 }).deaths).toBe(1);
  });

  it("drops the frames above a command that ends without them, and counts what they may have cost", () => {
    const inRun: NewEvent = { ...pushed, kind: "run" };
    const asking: NewEvent = { ...asked(2), callId: "c1.1.m1", frame: 1 };
    const state = stateOf(...OUTER, inRun, asking, finished());
    expect(state).toMatchObject({ frames: [{ id: 0, phase: { kind: "thinking" } }], open: [], lost: { tokens: 100 } });
  });

  it("counts unreadable replies of a sub-task in its own frame, and ends only the sub-task", () => {
    const rejected: NewEvent = { type: "reply-rejected", step: 2, problems: ["No JSON."], frame: 1 };
    const events = [...OUTER, { ...pushed, kind: "run" } as NewEvent, rejected, rejected, rejected];
    expect(stateOf(...events).frames.map(({ badReplies }) => badReplies)).toEqual([0, 3]);
    expect(decideAfter(events)).toMatchObject({
      events: [{ type: "frame-popped", resultSeq: null, problem: { code: "bad-replies" } }],
    });
  });

  it("gives a person's words to every frame that the model reads", () => {
    const said: NewEvent = { type: "message-received", from: "Ann", text: "Be brief." };
    const state = stateOf(...OUTER, { ...pushed, kind: "run" } as NewEvent, { ...said, frame: 1 });
    expect(state.frames.map(({ window }) => window.at(-1)?.text)).toEqual(["Be brief.", "Be brief."]);
    expect(activeFrame(state).id).toBe(1);
  });
});
