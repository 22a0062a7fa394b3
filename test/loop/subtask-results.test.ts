import { describe, expect, it } from "@jest/globals";
import { isFinished } from "#core/state.ts";
import { type CellBehaviour, CommandError, cellValue, createFakeSandbox, failedCell } from "../helpers/fake-sandbox.ts";
import { afterRun, cell, done, type Loop, loopWith, makeLoop, reply, resultOf } from "../helpers/loop.ts";
import { block } from "../helpers/models.ts";

const answer = (result: unknown): string => reply("task_complete", { result });
const INTEGER = { type: "integer" };
const LIST = { type: "array", items: { type: "integer" } };

/** A cell `outer` gives a sub-task, and its value is the result, or code and text of the error. */
const subtask =
  (returns: Readonly<Record<string, unknown>>, form: string | null = null): CellBehaviour =>
  async (_cell, _host, { run }) => {
    try {
      return { value: cellValue({ result: await run("Count it.", returns, form) }) };
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      return { value: cellValue(error.command) };
    }
  };

/** The script answers the sub-task, after the reply that runs `outer`. */
async function solve(behaviours: Readonly<Record<string, CellBehaviour>>, script: readonly string[]) {
  const loop = await makeLoop({ script: [cell("outer"), ...script, done()], sandbox: createFakeSandbox(behaviours) });
  const noted: unknown[] = [];
  Object.assign(loop.model, { noteReply: async (...given: unknown[]) => noted.push(given[2]) });
  expect(isFinished(await loop.run())).toBe(true);
  const { observation } = await resultOf(loop);
  const isJson = observation.text.startsWith("{");
  const value: unknown = isJson ? JSON.parse(observation.text) : observation.text;
  return { loop, value, requests: loop.model.requests.length, hasUnreadable: noted.includes(false) };
}
/** A check of any value would need 2 ** levels steps. */
const doubling = (levels: number) => {
  const twice = (level: number) => ({ allOf: [{ $ref: `#/$defs/l${level}` }, { $ref: `#/$defs/l${level}` }] });
  const defs = Array.from({ length: levels }, (_, level) => [`l${level}`, level === 0 ? {} : twice(level - 1)]);
  return { ...twice(levels - 1), $defs: Object.fromEntries(defs) };
};

describe("the result of a sub-task that a cell gave", () => {
  const wrong = answer("about 14 million");
  it.each<[title: string, script: readonly string[], expected: object]>([
    ["is the value, not text", [answer(14_284_000)], { result: 14_284_000 }],
    ["is asked for once more when it does not match", [wrong, answer(14)], { result: 14 }],
    ["is a typed error when it does not match twice", [wrong, wrong], { code: "bad-result" }],
    ["is not another mistake of a reply", ["nonsense", wrong, answer(5)], { result: 5 }],
  ])("%s", async (_title, script, expected) => {
    const { value, requests, loop, hasUnreadable } = await solve({ outer: subtask(INTEGER) }, script);
    expect(value).toMatchObject(expected);
    expect([requests, hasUnreadable]).toEqual([script.length + 2, script[0] === "nonsense"]);
    if (script[0] === wrong) expect(loop.prompt(2)).toContain("must be integer");
  });

  it("may refer to definitions of the schema", async () => {
    const point = { type: "object", properties: { x: { type: "number" } }, required: ["x"] };
    const returns = { type: "array", items: { $ref: "#/$defs/point" }, $defs: { point } };
    const { value } = await solve({ outer: subtask(returns) }, [answer([{ y: 1 }]), answer([{ x: 1 }])]);
    expect(value).toEqual({ result: [{ x: 1 }] });
  });

  const BAD_FORM = { code: "bad-form", text: expect.stringContaining("json, tools, plan, react, code") };
  it.each<[what: string, given: Parameters<typeof subtask>, refusal?: object]>([
    ["an unknown form", [INTEGER, "sonnet"], BAD_FORM],
    ["an unknown type", [{ type: "str" }]],
    ["a reference to nothing", [{ $ref: "#/$defs/nothing" }]],
    ["a reference to itself", [{ $ref: "#/$defs/a", $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } } }]],
    ["references that double twenty times", [doubling(20)]],
    ["an asynchronous schema", [{ $async: true, type: "string" }]],
  ])("is refused for %s, before the model is asked", async (_what, given, refusal = { code: "bad-schema" }) => {
    const { value, requests } = await solve({ outer: subtask(...given) }, []);
    expect(value).toMatchObject(refusal);
    expect(requests).toBe(2);
  });
});

it("a sub-task in the form `plan` ends with an action, has no plan, and needs a result", async () => {
  const act = (action: string, args: object = {}): string => JSON.stringify({ action, args });
  const script = [act("think", { thought: "Five of them." }), act("finish"), act("finish", { result: 5 })];
  const { value, loop } = await solve({ outer: subtask(INTEGER, "plan") }, script);
  expect(value).toEqual({ result: 5 });
  expect(loop.prompt(3)).toContain("RESPONSE FORMAT");
  expect(loop.prompt(3)).toContain('needs the argument \\"result\\"');
  expect(loop.prompt(3)).not.toContain('"id":"0"');
  // Control: the agent itself answers in JSON.
  expect(loop.prompt(0)).not.toContain("RESPONSE FORMAT");
});

describe("a sub-task in the form `code`", () => {
  it.each([
    ["14,284,000", INTEGER, 14_284_000],
    ["About this many:\n\n- 1,200\n- 3", LIST, [1200, 3]],
    ["```json\n[1, 2]\n```", LIST, [1, 2]],
    ["RESULT:\n```python\nprint(1)\n```", { type: "string" }, "```python\nprint(1)\n```"],
  ])("takes the answer %j as people write it, without a second request", async (text, returns, result) => {
    const { value, requests } = await solve({ outer: subtask(returns, "code") }, [text]);
    expect([value, requests]).toEqual([{ result }, 3]);
  });

  it("is told with an example what to send when its answer does not match", async () => {
    const { value, loop } = await solve({ outer: subtask(INTEGER, "code") }, ["about 14 million", "RESULT: 14000000"]);
    expect(value).toEqual({ result: 14_000_000 });
    expect(loop.prompt(2)).toContain("Give only the value as the result, such as 14284000.");
  });

  it("reads the reason when the value does not match, once", async () => {
    const wrong: CellBehaviour = () => ({ value: cellValue("many") });
    const { value, loop } = await solve({ outer: subtask(INTEGER, "code"), wrong }, [block("wrong"), block("wrong")]);
    expect(value).toMatchObject({ code: "bad-result" });
    expect(loop.prompt(2)).toContain("must be integer");
  });
});

const list: CellBehaviour = () => ({ value: { text: "a list of three", json: [1, 2, 3] } });
const five: CellBehaviour = () => ({ value: cellValue(5) });
const bad: CellBehaviour = () => failedCell({});
const stopWith =
  (value: unknown): CellBehaviour =>
  () => ({ stop: { value } });

it.each<[title: string, form: string | null, cells: object, script: readonly string[], result: unknown]>([
  ["ends it with its value, not its text, in the form code", "code", { list }, [block("list")], [1, 2, 3]],
  ["without a value does not end it", "code", { x: () => undefined, five }, [block("x"), block("five")], 5],
  ["that failed does not end it", "code", { bad, five }, [block("bad"), block("five")], 5],
  ["does not end it with its value in another form", null, { five }, [cell("five"), answer(7)], 7],
  ["ends it with stop(value) in any form", null, { end: stopWith(8) }, [cell("end")], 8],
  ["does not end it with stop of a wrong value", null, { end: stopWith("eight") }, [cell("end"), answer(8)], 8],
])("a cell of a sub-task %s", async (_title, form, cells, script, result) => {
  const returns = Array.isArray(result) ? LIST : INTEGER;
  const { value, requests } = await solve({ outer: subtask(returns, form), ...cells }, script);
  expect([value, requests]).toEqual([{ result }, script.length + 2]);
});

describe("sub-tasks within sub-tasks", () => {
  it("have the form of the one around them unless told", async () => {
    const inner: CellBehaviour = async (_cell, _host, { run }) => ({ value: cellValue(await run("Again.", INTEGER)) });
    const { value, loop } = await solve(
      { outer: subtask(INTEGER, "code"), inner, "2 + 2": () => ({ value: cellValue(4) }) },
      [block("inner"), block("2 + 2")],
    );
    expect(value).toEqual({ result: 4 });
    expect(loop.model.requests.map(({ mode }) => mode)).toEqual(["plain", "code", "code", "plain"]);
  });

  it("end at the depth limit with a typed error, after which the innermost code may use commands", async () => {
    const again: CellBehaviour = async (_cell, _host, { run, call }) => {
      try {
        return { value: cellValue(await run("Again.", {}, "code")) };
      } catch (error) {
        const { code } = (error as CommandError).command;
        return { value: cellValue({ code, file: await call("write_to_file", { file: "deep.txt", text: "x" }) }) };
      }
    };
    const { value, requests, loop } = await solve({ outer: again }, Array<string>(7).fill(block("outer")));
    expect([value, requests]).toEqual([{ code: "too-deep", file: "deep.txt" }, 9]);
    expect(loop.text("deep.txt")).toBe("x");
  });

  const dig: CellBehaviour = async (_cell, _host, { run }) => ({ value: cellValue(await run("Dig.", {}, "code")) });
  /** The model passes each sub-task on, whatever it reads. */
  const digEndlessly = async (outer: CellBehaviour): Promise<Loop> => {
    const script = ({ messages }: { readonly messages: readonly { readonly content: string }[] }, index: number) => {
      if (messages.at(-1)?.content.includes("Dig.")) return block("dig");
      return index === 0 ? cell("outer") : done();
    };
    const loop = await makeLoop({ script, sandbox: createFakeSandbox({ outer, dig }), settings: { stepLimit: 60 } });
    expect(isFinished(await loop.run())).toBe(true);
    return loop;
  };

  it("that pass their task on without end are ended with an error to the outermost code, after ten requests", async () => {
    const loop = await digEndlessly(dig);
    expect(loop.model.requests).toHaveLength(10 + 1);
    const { observation } = await resultOf(loop);
    expect(observation).toMatchObject({ status: "failed", code: "too-deep" });
    expect(observation.text).toMatch(
      /CommandError: The sub-task has no result: 3 pieces of code gave sub-tasks too deep/,
    );
  });

  it("end without a request when the same code gives further ones", async () => {
    const loop = await digEndlessly(async (_cell, _host, { run }) => {
      const codes: string[] = [];
      for (let time = 1; time <= 5; time++)
        await run("Dig.", {}, "code").catch(({ command }: CommandError) => codes.push(command.code));
      return { value: cellValue(codes) };
    });
    expect(JSON.parse((await resultOf(loop)).observation.text)).toEqual(Array<string>(5).fill("too-deep"));
    expect(loop.model.requests).toHaveLength(10 + 1);
  });

  it("control: go on when the innermost one does the work after two attempts", async () => {
    const digs = Array<string>(8).fill(block("dig"));
    const { value, requests } = await solve({ outer: dig, dig }, [...digs, "RESULT:\nFound it."]);
    expect(value).toBe("Found it.");
    expect(requests).toBe(11);
  });
});

it("a command that gives a sub-task may name the form", async () => {
  const options = { script: [reply("outer"), "12", done()], sandbox: createFakeSandbox({}) };
  const loop = await afterRun(loopWith((context) => context.run("Count it.", INTEGER, "code"), options));
  expect((await resultOf(loop)).observation.text).toBe("12");
  expect(await loop.of("frame-pushed")).toMatchObject([{ form: "code" }]);
});
