import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import type { NewEvent } from "#core/event.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { createLoopMeter, createProblems } from "#host/host-status.ts";
import { createLiveText, createStepLog } from "#host/observer.ts";
import { createLogWatch } from "#host/supervisor.ts";
import type { Log } from "#util/log.ts";
import {
  asked,
  created,
  denied,
  finished,
  log,
  modelFailed,
  observed,
  paused,
  rejected,
  replied,
  requested,
  turnEnded,
  wholeStep,
} from "../helpers/events.ts";
import { settle } from "../helpers/fake-clock.ts";

type Line = Record<string, unknown> & { readonly level: string; readonly msg: string };

function linesOf(...events: readonly NewEvent[]): readonly Line[] {
  const lines: Line[] = [];
  const at = (level: string) => (fields: object, msg: string) => lines.push({ ...fields, level, msg });
  const fake = { info: at("info"), warn: at("warn"), debug: at("debug") } as unknown as Log;
  const add = createStepLog(fake, "foo");
  for (const event of log(...events)) add(event);
  return lines.filter(({ level }) => level !== "debug");
}

describe("goald's own log of an agent", () => {
  it("has one line for a step: command, status, model, durations, tokens, cost", () => {
    const priced = { ...replied(1), costUsd: 0.002 };
    expect(linesOf(asked(1), priced, requested("read_file", 1), finished(1, observed("x", { code: "odd" })))).toEqual([
      {
        level: "info",
        msg: "step",
        agent: "foo",
        seq: 4,
        step: 1,
        command: "read_file",
        status: "ok",
        code: "odd",
        model: "test-model",
        attempts: 1,
        modelMs: 20,
        commandMs: 3,
        inputTokens: 10,
        outputTokens: 5,
        cachedTokens: 2,
        costUsd: 0.002,
      },
    ]);
  });

  it("has a line for what a person changed in the plan, and for checks of goals, but none for the agent's own changes", () => {
    const result = { check: 0, isPassed: true, proof: "a.md exists." };
    const by = { by: "agent", step: 1, callId: "c1" } as const;
    const lines = linesOf(
      { type: "task-added", parent: "0", task: { goal: "a" }, ...by },
      { type: "task-changed", id: "0.0", state: "open", ...by },
      { type: "task-added", parent: "0", task: { goal: "b" }, by: "person" },
      { type: "task-changed", id: "0.1", state: "abandoned", by: "person" },
      { type: "goals-checked", step: 1, callId: "c1.1", results: [result, { ...result, isPassed: false }] },
      { type: "goals-checked", step: 1, callId: "c1.1", results: [result] },
    );
    expect(lines).toEqual([
      { level: "info", msg: "task-added", agent: "foo", seq: 3 },
      { level: "info", msg: "task-changed", agent: "foo", seq: 4 },
      { level: "warn", msg: "goals-checked", agent: "foo", seq: 5, step: 1, passed: 1, failed: 1 },
      { level: "info", msg: "goals-checked", agent: "foo", seq: 6, step: 1, passed: 1, failed: 0 },
    ]);
  });

  it("has exactly one line for each of many steps, without fields of an earlier step", () => {
    const lines = linesOf(
      created(),
      ...wholeStep(1),
      ...[asked(2), replied(2), rejected(2)],
      ...[asked(3), modelFailed(3), asked(3, 2), replied(3), requested("x", 3)],
      denied("no", "person", 3),
      ...wholeStep(4),
      turnEnded(),
    );
    const steps = lines.filter(({ msg }) => msg === "step");
    expect(steps.map(({ step, status, attempts }) => [step, status, attempts])).toEqual([
      [1, "ok", 1],
      [2, "bad-reply", 1],
      [3, "denied", 2],
      [4, "ok", 1],
    ]);
    expect(steps[1]).not.toHaveProperty("command");
    expect(steps).toMatchObject([{ level: "info" }, { level: "warn", problems: "No JSON object was found." }, {}, {}]);
    expect(lines.filter(({ msg }) => msg !== "step").map(({ level, msg }) => [level, msg])).toEqual([
      ["info", "agent-created"],
      ["warn", "The server answered 500."],
      ["info", "turn-finished"],
    ]);
  });

  it("has a line for each further call of a reply, and the model's figures once", () => {
    const second = { ...requested("search_files", 1), callId: "c1-2" };
    const lines = linesOf(
      ...[asked(1), replied(1), requested("read_file", 1), second],
      ...[finished(1), { ...finished(1, observed("x", { status: "failed" })), callId: "c1-2" }],
    );
    expect(lines).toMatchObject([
      { step: 1, command: "read_file", status: "ok", inputTokens: 10 },
      { step: 1, command: "search_files", status: "failed", why: "x" },
    ]);
    expect(lines[0]).not.toHaveProperty("why");
    expect(lines[1]).not.toHaveProperty("inputTokens");
  });

  it.each([
    ["TypeError: no number\nLine 2: sum(x)\nIt had printed:\nsecret", "TypeError: no number"],
    [`${"word ".repeat(70)}\nmore`, "word ".repeat(60)],
    ["Kid (key foo-kid):\nIt cannot finish: no key.\nmore", "Kid (key foo-kid): It cannot finish: no key."],
    ["x".repeat(400), ""],
    ["", ""],
  ])("has the first line of why a command failed, in whole words: %j", (text, why) => {
    const observation = observed(text, { status: "failed", code: "cell-failed" });
    expect(linesOf(asked(1), replied(1), requested("run_code", 1), finished(1, observation))).toMatchObject([
      { command: "run_code", code: "cell-failed", why },
    ]);
  });

  it("contains what this process knows about a step that another process started, and warns of every pause", () => {
    expect(linesOf(finished(7), paused("budget", "Nothing is left."))).toEqual([
      expect.objectContaining({ step: 7, status: "ok", commandMs: 3 }),
      { level: "warn", msg: "Nothing is left.", agent: "foo", seq: 2, code: "budget" },
    ]);
  });
});

/** Makes a log whose head the test moves; `undefined` means that the agent is gone. */
function watched(start: number) {
  let head: number | undefined = start;
  const watch = createLogWatch({ agent: async () => (head === undefined ? undefined : ({ head } as AgentRow)) });
  const move = (to: number | undefined): void => {
    head = to;
    watch.tell("foo");
  };
  const wait = (after: number, signal = new AbortController().signal) => {
    const waiting = { isOver: false };
    void watch.whenLonger("foo", after, signal).then(() => {
      waiting.isOver = true;
    });
    return waiting;
  };
  return { move, wait };
}

it("waiting until any log has changed ends with the next commit of any agent, and with its signal", async () => {
  const watch = createLogWatch({ agent: async () => undefined });
  const over: string[] = [];
  const wait = (name: string, signal = new AbortController().signal): void =>
    void watch.whenChanged(signal).then(() => over.push(name));
  const leaving = new AbortController();
  wait("first");
  wait("second", leaving.signal);
  wait("at once", AbortSignal.abort());
  await settle();
  expect(over).toEqual(["at once"]);
  leaving.abort();
  await settle();
  watch.tell("foo");
  await settle();
  wait("later");
  await settle();
  expect(over).toEqual(["at once", "second", "first"]);
});

describe("waiting until a log is longer than a number", () => {
  it("continues while the log is shorter or exactly as long, and ends at once when it is longer", async () => {
    const { move, wait } = watched(5);
    const [far, near] = [wait(8), wait(4)];
    for (const head of [6, 7, 8]) {
      await settle();
      expect([far.isOver, near.isOver]).toEqual([false, true]);
      move(head);
    }
    await settle();
    expect(far.isOver).toBe(false);
    move(9);
    await settle();
    expect(far.isOver).toBe(true);
  });

  it("ends when the agent is gone, when another one has its name, and with its signal", async () => {
    const leaving = new AbortController();
    const [gone, other, left] = [watched(5), watched(5), watched(5)];
    const waiting = [gone.wait(8), other.wait(8), left.wait(8, leaving.signal)];
    await settle();
    gone.move(undefined);
    other.move(1);
    left.move(6);
    await settle();
    expect(waiting.map(({ isOver }) => isOver)).toEqual([true, true, false]);
    leaving.abort();
    await settle();
    expect(waiting[2]?.isOver).toBe(true);
  });
});

describe("the problems that a host reports", () => {
  const logged: [object, string][] = [];
  const problems = createProblems({ warn: (about, text) => void logged.push([about, text]) }, (text) =>
    text.replaceAll("secret", "[redacted]"),
  );

  it("are the last one of each agent and of the host, without secrets", () => {
    problems.tell("foo", "The disk is full.");
    problems.tell("foo", "The secret is out.");
    problems.tell("", "No report.");
    expect(problems.all).toEqual(["foo: The [redacted] is out.", "No report."]);
    problems.forget("foo");
    expect(problems.all).toEqual(["No report."]);
  });

  it("are shown as messages, with the place in the program only in the log", () => {
    const { stack = "" } = new Error("It broke.\nIn two lines.");
    problems.tell("", `A request could not be answered: ${stack}`);
    expect(problems.all).toEqual(["A request could not be answered: Error: It broke.\nIn two lines."]);
    expect(logged.at(-1)).toEqual([{}, expect.stringContaining("observer.test.ts")]);
  });
});

it("what a cell has printed is the last line, until something is committed, and leaves a reply that arrives as it is", () => {
  const live = createLiveText();
  let heard = 0;
  const stop = live.listen("foo", () => {
    heard += 1;
  });
  live.print("foo", "one");
  live.print("foo", "two");
  expect([live.of("foo")?.printed, heard]).toEqual(["two", 2]);
  const [first] = log(asked(1));
  if (first) live.committed("foo", [first]);
  expect(live.of("foo")?.printed).toBeUndefined();
  live.tell("foo", "A reply");
  live.print("foo", "three");
  expect(live.of("foo")).toEqual({ seq: first?.seq, text: "A reply", printed: "three" });
  stop();
  live.print("foo", "four");
  expect([heard, live.of("bar")]).toEqual([4, undefined]);
});

it("the time in which a host has nothing to do is no delay of its event loop", async () => {
  const meter = createLoopMeter();
  for (const isBusy of [true, false, true]) {
    meter.setBusy(isBusy);
    await sleep(isBusy ? 40 : 900);
  }
  expect(meter.read().max).toBeLessThan(900);
});
