import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Observation } from "#core/call.ts";
import { evolve } from "#core/evolve.ts";
import { describeArguments, listLongArguments } from "#core/remembered-input.ts";
import { listSucceeded, turnMemoryOf } from "#core/remembered-turn.ts";
import { type AgentState, initialState } from "#core/state.ts";
import type { TurnMemory } from "#core/turn-event.ts";
import * as given from "../helpers/events.ts";

describe("the arguments of a remembered call", () => {
  it("are written without quotes and escapes, short ones first", () => {
    const args = { code: 'a = "x\\n"\nb = 1', deep: { list: [1, "two"] }, nothing: null };
    expect(describeArguments(args)).toBe('deep: {"list":[1,"two"]}\nnothing: null\ncode:\na = "x\\n"\nb = 1');
  });

  it("are whole up to 8,000 characters, and then the long ones have only their beginning", () => {
    const whole = { text: "y".repeat(7_900), file: "a.txt" };
    expect(listLongArguments(whole)).toEqual([]);
    expect(describeArguments(whole)).toBe(`text: ${whole.text}\nfile: a.txt`);
    const long = { file: "a.txt", text: "y".repeat(8_001), other: "z".repeat(900) };
    expect(listLongArguments(long)).toEqual([{ name: "text", text: long.text }]);
    const cut = describeArguments(long, new Map([["text", "a.txt"]]));
    expect(cut).toBe(
      `file: a.txt\nother: ${long.other}\ntext:\n${"y".repeat(1_000)}\n[… the beginning of 8001 characters; the whole is in a.txt …]`,
    );
    const many = Object.fromEntries(Array.from({ length: 90 }, (_none, at) => [`a${at}`, "w".repeat(500)]));
    expect(describeArguments(many).length).toBeLessThanOrEqual(8_000);
  });

  it("name the size of a text that is in a blob", () => {
    const blob = { blob: "a".repeat(64), bytes: 90_000, head: `${"h".repeat(4_000)}` };
    expect(listLongArguments({ code: blob })).toEqual([{ name: "code", text: blob }]);
    expect(describeArguments({ code: blob, list: [blob] })).toContain("[… the beginning of 90000 bytes …]");
  });
});

interface Link {
  readonly status: Observation["status"];
  readonly code: string;
  readonly result: string;
}
const THOUGHT = "I should think about this for a while, because it is not clear what to do, and then decide. ";

/** Events of one step for each link: a reply with a thought, a call, and its result. */
function memoryOf(chain: readonly Link[], output: string): { readonly memory: TurnMemory; readonly chars: number } {
  const events = given.log(
    given.created(),
    ...chain.flatMap(({ status, code, result }, at) => {
      const step = at + 1;
      const reply = JSON.stringify({ thoughts: { text: THOUGHT }, command: { name: "run_code", args: { code } } });
      return [
        ...[given.asked(step), given.replied(step, reply)],
        { ...given.requested("run_code", step, { code }), thought: THOUGHT },
        ...[given.approved(step), given.started("transactional", step)],
        given.finished(step, given.observed(result, { status })),
      ];
    }),
  );
  const state: AgentState = events.reduce(evolve, initialState);
  const succeeded = listSucceeded(events);
  const calls = succeeded.map(({ name, args }) => ({ name, input: describeArguments(args) }));
  const texts = events.flatMap((event) =>
    event.type === "model-replied" ? [event.text] : event.type === "command-finished" ? [event.observation.text] : [],
  );
  return { memory: turnMemoryOf(state, succeeded, calls, output), chars: texts.join("").length };
}

describe("C4: the memory of any chain of calls", () => {
  const link = fc.record({
    status: fc.constantFrom("ok", "failed", "denied", "cancelled", "unknown"),
    code: fc.nat().map((number) => `run(${number})`),
    result: fc.constantFrom("An error? No: all is well.", "Error: no such file", "done"),
  }) satisfies fc.Arbitrary<Link>;

  it("has exactly the calls that succeeded, in their order, no thought, no failed input, and is shorter than the chain", () => {
    fc.assert(
      fc.property(fc.array(link, { minLength: 1, maxLength: 30 }), (chain) => {
        const { memory, chars } = memoryOf(chain, "The end.");
        const inputs = chain.flatMap(({ status, code }) => (status === "ok" ? [`code: ${code}`] : []));
        expect(memory.calls.map(({ input }) => input)).toEqual(inputs);
        expect(JSON.stringify(memory)).not.toContain("think");
        expect([...memory.calls.map(({ input }) => input), memory.output].join("").length).toBeLessThan(chars);
      }),
    );
  });

  it("would lose calls, and keep failures, if words decided: a control", () => {
    const chain: Link[] = [
      { status: "ok", code: "a()", result: "There was no error." },
      { status: "failed", code: "b()", result: "It did not work." },
    ];
    const byWords = chain.filter(({ result }) => !/error/i.test(result)).map(({ code }) => code);
    expect(byWords).toEqual(["b()"]);
    expect(memoryOf(chain, "").memory.calls.map(({ input }) => input)).toEqual(["code: a()"]);
  });
});

describe("the memory of a turn", () => {
  it("leaves out plans, thoughts and the end, and bounds what was asked, the files and the closing words", () => {
    const names = ["think", "do_nothing", "add_task", "modify_task", "write_to_file", "task_complete"];
    const events = given.log(
      given.created(),
      ...names.flatMap((name, at) => [
        given.requested(name, at + 1),
        { ...given.finished(at + 1), ...(name === "task_complete" ? { closesTurn: true } : {}) },
      ]),
    );
    const succeeded = listSucceeded(events);
    expect(succeeded.map(({ name }) => name)).toEqual(["write_to_file"]);
    const [call] = succeeded as [(typeof succeeded)[number]];
    const artifacts = ["_goald/outputs/c1.txt", ...Array.from({ length: 60 }, (_none, at) => `${at}.txt`), "59.txt"];
    const memory = turnMemoryOf(
      { ...initialState, goals: ["g".repeat(5_000)] },
      [{ ...call, artifacts }],
      [],
      "o".repeat(9_000),
    );
    expect([memory.asked[0]?.length, memory.output.length, memory.callsLeftOut]).toEqual([1_000, 4_000, 1]);
    expect(memory.artifacts).toEqual(Array.from({ length: 50 }, (_none, at) => `${at + 10}.txt`));
  });

  it("shrinks when it is older: the oldest calls go, and then whole memories", () => {
    const memory = (turn: number, chars: number): TurnMemory => ({
      ...{ turn, step: turn, asked: ["do it"], callsLeftOut: 0, artifacts: [], output: "done" },
      calls: Array.from({ length: 4 }, (_none, at) => ({ name: "try", input: `${at}`.repeat(chars / 4) })),
    });
    const left = (...turns: readonly TurnMemory[]) =>
      given
        .log(given.created(), ...turns.map((turn) => ({ type: "turn-remembered" as const, ...turn })))
        .reduce(evolve, initialState).turns;
    const big = left(memory(1, 20_000), memory(2, 20_000));
    expect(big.map(({ turn, calls, callsLeftOut }) => [turn, calls.length, callsLeftOut])).toEqual([
      [1, 3, 1],
      [2, 4, 0],
    ]);
    expect(big[0]?.calls[0]?.input[0]).toBe("1");
    expect(
      left(memory(1, 12_000), memory(2, 12_000), memory(3, 400)).map(({ turn, calls }) => [turn, calls.length]),
    ).toEqual([
      [1, 1],
      [2, 4],
      [3, 4],
    ]);
    const many = left(...Array.from({ length: 60 }, (_none, at) => memory(at + 1, 40)));
    expect(many.map(({ turn }) => turn)).toEqual(Array.from({ length: 21 }, (_none, at) => at + 40));
  });
});
