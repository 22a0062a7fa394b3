import { describe, expect, it } from "@jest/globals";
import type { Command } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import type { EventOf } from "#core/event.ts";
import type { TurnMemory } from "#core/turn-event.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";
import { cutPowerAfter, cutPowerAt, PowerCut } from "../helpers/power-cut.ts";

const tell = (loop: Loop, text: string) =>
  loop.store.deliver(loop.row.id, text, { type: "say", from: "ada", text }, loop.clock.now().toISOString());
const write = (file: string, text: string) => reply("write_to_file", { file, text });

/** A command that succeeds or fails as its argument says. */
const TRY = {
  name: "try",
  label: "Try",
  summary: "tries.",
  args: { type: "object", properties: { what: { type: "string" }, ok: { type: "boolean" } }, required: ["what", "ok"] },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  async run({ what, ok }: { what: string; ok: boolean }) {
    return ok
      ? { status: "ok", text: `There is no error in ${what}.`, source: "goald", artifacts: [] }
      : { status: "failed", text: `${what} went wrong.`, source: "goald", artifacts: [] };
  },
} as unknown as Command;
const attempt = (what: string, ok: boolean) => reply("try", { what, ok }, `SECRET THOUGHT about ${what}`);

async function memoriesOf(loop: Loop): Promise<readonly TurnMemory[]> {
  const events = await loop.events();
  return events.filter(
    (event): event is Extract<typeof event, { type: "turn-remembered" }> => event.type === "turn-remembered",
  );
}

describe("the memory of a turn", () => {
  it("has what was asked, the calls that succeeded with their arguments, the files and the closing words", async () => {
    const script = [write("a.txt", "one\n  two\n"), reply("do_nothing"), write("b.txt", "b"), done("Both are there.")];
    const loop = await makeLoop({ script, goals: ["Write a", "Write b"] });
    const state = await loop.run();
    expect(state.turns).toEqual([
      {
        turn: 1,
        step: 4,
        asked: ["Write a", "Write b"],
        calls: [
          { name: "write_to_file", input: "file: a.txt\ntext:\none\n  two\n" },
          { name: "write_to_file", input: "file: b.txt\ntext: b" },
        ],
        callsLeftOut: 0,
        artifacts: ["a.txt", "b.txt"],
        output: "Both are there.",
      },
    ]);
  });

  it("drops failures by their status: of fail, fail and ok one call is left, and no thought", async () => {
    const script = [attempt("A", false), attempt("B", false), attempt("C", true), done("It worked.")];
    const loop = await makeLoop({ script, commands: [TRY] });
    await loop.run();
    const [memory] = await memoriesOf(loop);
    expect(memory?.calls).toEqual([{ name: "try", input: "what: C\nok: true" }]);
    expect(JSON.stringify(memory)).not.toMatch(/THOUGHT|went wrong/);
    // A filter by words loses the call, because its result has the word "error".
    const results = await loop.of("command-finished");
    const byWords = results.filter(
      ({ observation, closesTurn }) => !closesTurn && !/error/i.test(String(observation.text)),
    );
    expect(byWords.map(({ step }) => step)).toEqual([1, 2]);
  });

  it("drops calls that a person denied and calls whose outcome is unknown", async () => {
    const risk: Command = {
      ...TRY,
      name: "risk",
      effect: "at-most-once",
      annotations: { ...TRY.annotations, readOnly: false },
    };
    const script = [reply("risk", { what: "x", ok: true }), write("a.txt", "a"), done()];
    const loop = await makeLoop({ script, commands: [risk], settings: { approve: "always" } });
    const ask = async ({ name }: { name: string }) =>
      name === "write_to_file"
        ? ({ kind: "feedback", text: "no" } as const)
        : ({ kind: "approved", count: 1 } as const);
    await expect(loop.run({ ask, prepare: cutPowerAfter("execute") })).rejects.toThrow(PowerCut);
    await loop.run({ ask });
    const statuses = (await loop.events()).flatMap((event) =>
      event.type === "command-finished"
        ? [event.observation.status]
        : event.type === "command-denied"
          ? ["denied"]
          : [],
    );
    expect(statuses).toEqual(["unknown", "denied", "ok"]);
    expect((await memoriesOf(loop))[0]?.calls).toEqual([]);
  });

  it("has the words that opened a later turn, and none of the calls before it", async () => {
    const loop = await makeLoop({ script: [write("a.txt", "a"), done("first"), write("b.txt", "b"), done("second")] });
    await loop.run();
    await tell(loop, "And the second part?");
    const state = await loop.run();
    expect(state.turns.map(({ turn, step }) => [turn, step])).toEqual([
      [1, 2],
      [2, 4],
    ]);
    expect(state.turns[1]).toMatchObject({ asked: ["And the second part?"], artifacts: ["b.txt"], output: "second" });
    expect(state.turns[1]?.calls.map(({ input }) => input)).toEqual(["file: b.txt\ntext: b"]);
  });

  it("is in the commit that ends the turn: a power cut at any commit leaves the same memory", async () => {
    const script = { 1: write("a.txt", "a".repeat(9_000)), 2: done("It is there.") };
    const byWindow = ({ messages }: { messages: readonly { content: string }[] }) =>
      messages.some(({ content }) => content.includes("Wrote a.txt")) ? script[2] : script[1];
    const whole = await makeLoop({ script: byWindow });
    const expected = (await whole.run()).turns;
    const commits = whole.store.commits.length;
    expect(commits).toBeGreaterThan(4);
    for (let at = 1; at <= commits; at++) {
      const loop = await makeLoop({ script: byWindow });
      await loop.run({ store: cutPowerAt(at, "before") }).catch(() => undefined);
      const { turns } = await loop.run();
      expect(turns.map(({ step: _step, ...memory }) => memory)).toEqual(
        expected.map(({ step: _step, ...memory }) => memory),
      );
      expect(await memoriesOf(loop)).toHaveLength(1);
    }
    const last = whole.store.commits.at(-1)?.events.map(({ type }) => type);
    expect(last?.slice(-2)).toEqual(["turn-remembered", "turn-finished"]);
  });

  it("names the file and the beginning of a long text that was written", async () => {
    const text = `BEGIN ${"word ".repeat(3_000)}END`;
    const loop = await makeLoop({ script: [write("long.txt", text), done()] });
    const [memory] = (await loop.run()).turns;
    expect(memory?.calls[0]?.input).toMatch(
      /^file: long\.txt\ntext:\nBEGIN word [\s\S]*\n\[… the beginning of 15009 characters; the whole is in long\.txt …\]$/,
    );
    expect(memory?.calls[0]?.input.length).toBeLessThan(1_200);
  });

  it.each([9_000, 40_000])("keeps another long argument of %i characters in a file of goald's", async (length) => {
    const what = `BEGIN ${"x".repeat(length)} END`;
    const loop = await makeLoop({ script: [reply("try", { what, ok: true }), done()], commands: [TRY] });
    const [memory] = (await loop.run()).turns;
    expect(memory?.calls[0]?.input).toMatch(
      /^ok: true\nwhat:\nBEGIN x+\n\[… .*; the whole is in _goald\/inputs\/c1-what\.txt …\]$/,
    );
    expect(loop.text("_goald/inputs/c1-what.txt")).toBe(what);
    expect(await loop.store.lastFileVersion(loop.row.id, "_goald/inputs/c1-what.txt")).toMatchObject({ callId: "c1" });
    expect(memory?.artifacts).toEqual([]);
  });

  it("has only the beginning of a long argument when no file can hold it", async () => {
    const full = () => Promise.reject(new GoaldError("GOALD_FILE", "The folder is full."));
    const script = [reply("try", { what: "x".repeat(9_000), ok: true }), done()];
    const loop = await makeLoop({ script, commands: [TRY] });
    const [memory] = (await loop.run({ keepText: full })).turns;
    expect(memory?.calls[0]?.input).toMatch(/x\n\[… the beginning of 9000 characters …\]$/);
    const lost = () => Promise.reject(new GoaldError("GOALD_STORE_FULL", "The disk is full."));
    const other = await makeLoop({ script, commands: [TRY] });
    await expect(other.run({ keepText: lost })).rejects.toThrow("The disk is full.");
  });

  it("stays small: the oldest calls of many are left out and counted", async () => {
    let step = 0;
    const loop = await makeLoop({
      script: () => (++step > 60 ? done() : reply("try", { what: `${step} ${"y".repeat(1_500)}`, ok: true })),
      commands: [TRY],
    });
    const [memory] = (await loop.run()).turns as [TurnMemory];
    expect(memory.calls.length + memory.callsLeftOut).toBe(60);
    expect(memory.callsLeftOut).toBeGreaterThan(20);
    expect(memory.calls.at(-1)?.input).toContain("what: 60 y");
    expect(JSON.stringify(memory).length).toBeLessThan(48_000);
  });

  it("is redacted like all events", async () => {
    const loop = await makeLoop({ script: [write("a.txt", "the key is k-123456"), done("k-123456 is in it")] });
    await loop.run({ scrub: (text) => text.replaceAll("k-123456", "[secret]") });
    const [memory] = await memoriesOf(loop);
    expect(JSON.stringify(memory)).not.toContain("k-123456");
    expect(memory).toMatchObject({
      output: "[secret] is in it",
      calls: [{ input: "file: a.txt\ntext: the key is [secret]" }],
    });
  });

  it("belongs to the turn of the agent alone: calls of a command's code are part of the command", async () => {
    const outer: Command = {
      ...TRY,
      name: "outer",
      async run(_args: unknown, context: Parameters<Command["run"]>[1]) {
        await context.call("try", { what: "inner", ok: true });
        return { status: "ok", text: "done", source: "goald", artifacts: [] };
      },
    } as never;
    const loop = await makeLoop({ script: [reply("outer", { what: "w", ok: true }), done()], commands: [TRY, outer] });
    const [memory] = (await loop.run()).turns;
    expect(memory?.calls.map(({ name }) => name)).toEqual(["outer"]);
    const requests = (await loop.events()).filter(
      (event): event is typeof event & EventOf<"command-requested"> => event.type === "command-requested",
    );
    expect(requests.map(({ call }) => call.name)).toContain("try");
  });
});
