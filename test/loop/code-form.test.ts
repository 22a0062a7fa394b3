import { afterEach, describe, expect, it } from "@jest/globals";
import { isFinished } from "#core/state.ts";
import { type CellBehaviour, cellValue, failedCell } from "../helpers/fake-sandbox.ts";
import { closeProseLoops, makeProseLoop, python } from "../helpers/prose-loop.ts";

afterEach(closeProseLoops);

const POWER = "0.99 ** 1000";
const power: CellBehaviour = () => ({ value: cellValue(4.317124741065786e-5) });
const block = (code: string, words = "I compute."): string => `${words}\n\n${python(code)}`;

describe("an agent in the form code", () => {
  it("runs the code of a reply, reads its result, and ends with a reply without code", async () => {
    const { loop, server, request } = await makeProseLoop(
      "code",
      [`${block(POWER)}\nThat will be small.`, "It is 4.317124741065786e-05."],
      { [POWER]: power },
    );
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect(server.violations).toEqual([]);
    expect(server.chats[0]).not.toHaveProperty("response_format");
    expect(server.chats[0]).not.toHaveProperty("tools");
    expect(server.chats[1]?.messages.slice(1, 3)).toEqual([
      { role: "assistant", content: block(POWER) },
      { role: "user", content: expect.stringMatching(/Your code of step 1 was run[\s\S]*\n0\.00004317124741065786\n/) },
    ]);
    expect(request(2)).toHaveLength(4);
    const [end] = await loop.of("turn-finished");
    expect(end).toMatchObject({ reason: "It is 4.317124741065786e-05." });
  });

  it("shows signature and words of each function in the first request, and of none in the form json (control)", async () => {
    const { loop, request } = await makeProseLoop("code", ["Done."], {});
    await loop.run();
    expect(request(1)[0]).toMatch(/`read_file\(file: str[^)]*\) -> \w+`: \S+/);
    expect(request(1)[0]).toMatch(/`write_to_file\(file: str, text: str[^)]*\)[^`]*`: \S+/);
    expect(request(1)[0]).not.toMatch(/`(?:run_code|task_complete|save_files)\(/);
    const json = await makeProseLoop("json", ['{"command":{"name":"task_complete","args":{"reason":"x"}}}'], {});
    await json.loop.run();
    expect(json.request(1)[0]).not.toMatch(/`read_file\(/);
  });

  it("offers only the functions that its profile names", async () => {
    const code = 'write_to_file("a.txt", "abc")';
    const { loop, request } = await makeProseLoop(
      "code",
      [block(code), "Done."],
      { [code]: async (_cell, _host, { call }) => void (await call("write_to_file", { file: "a.txt", text: "abc" })) },
      { settings: { commands: "write_to_file" } },
    );
    expect(isFinished(await loop.run())).toBe(true);
    expect(loop.text("a.txt")).toBe("abc");
    expect(request(1)[0]).toContain("`write_to_file(");
    expect(request(1)[0]).not.toContain("`read_file(");
  });

  it("mends its code by the error that it reads", async () => {
    const cells = {
      "print(1": () =>
        failedCell({
          kind: "syntax",
          type: "SyntaxError",
          message: "'(' was never closed",
          line: 1,
          source: "print(1",
        }),
      "a\nprint(b)": () =>
        failedCell({ type: "NameError", message: "name 'b' is not defined", line: 2, source: "print(b)" }),
      good: power,
    };
    const { loop, lastResult } = await makeProseLoop(
      "code",
      [block("print(1"), block("a\nprint(b)"), block("good"), "Done."],
      cells,
    );
    expect(isFinished(await loop.run())).toBe(true);
    expect(lastResult(2)).toMatch(/status failed[\s\S]*SyntaxError: '\(' was never closed\nLine 1: print\(1/);
    expect(lastResult(3)).toMatch(/NameError: name 'b' is not defined\nLine 2: print\(b\)/);
    expect(lastResult(4)).toMatch(/status ok/);
  });

  it("pauses after three errors in a row, and not when one in between worked (control)", async () => {
    const cells = { bad: () => failedCell({}), good: power };
    const bad = ["bad", "bad", "bad", "bad"].map((code) => block(code));
    const paused = await makeProseLoop("code", bad, cells);
    expect((await paused.loop.run()).paused).toMatchObject({ code: "failing-cells" });
    expect(paused.server.chats).toHaveLength(3);
    const mended = ["bad", "bad", "good", "bad", "bad"].map((code) => block(code));
    const { loop } = await makeProseLoop("code", [...mended, "Done."], cells);
    expect(isFinished(await loop.run())).toBe(true);
  });

  it("gets the value of a sub-task as its type, and none of its messages", async () => {
    const code = 'n = agent.run("Extract the number", int)\nprint(n + 1)';
    const outer: CellBehaviour = async (_cell, _host, { run, print }) =>
      print(String(Number(await run("Extract the number", { type: "integer" })) + 1));
    const { loop, request, lastResult } = await makeProseLoop(
      "code",
      [block(code), block(POWER, "I look first."), "14284000", "Done."],
      { [code]: outer, [POWER]: () => undefined },
    );
    expect(isFinished(await loop.run())).toBe(true);
    expect(request(2).at(-1)).toMatch(/Extract the number[\s\S]*If you know the result, send it alone/);
    expect(request(2)[0]).toMatch(/do not pass it on as a whole/);
    expect(lastResult(4)).toMatch(/\n14284001\n/);
    expect(request(4)).toHaveLength(4);
    expect(request(4).join()).not.toMatch(/Extract the number[\s\S]*Extract the number|I look first/);
  });

  it("is asked once more for a result of another type", async () => {
    const code = "outer";
    const { loop, server, request, lastResult } = await makeProseLoop(
      "code",
      [block(code), "about 14 million", "14000000", "Done."],
      {
        [code]: async (_cell, _host, { run }) => ({
          value: cellValue(Number(await run("Extract", { type: "integer" })) + 1),
        }),
      },
    );
    expect(isFinished(await loop.run())).toBe(true);
    expect(request(3).at(-2)).toMatch(/integer/);
    expect(lastResult(4)).toMatch(/\n14000001\n/);
    expect(server.chats).toHaveLength(4);
  });

  it("is asked again when it wants a shell", async () => {
    const { loop, lastResult } = await makeProseLoop("code", ["```bash\nls\n```", "Done."], {});
    expect(isFinished(await loop.run())).toBe(true);
    expect(lastResult(2)).toMatch(/could not be used[\s\S]*"bash" cannot run/);
  });
});

describe("an agent whose form changes", () => {
  it("sees its earlier replies in the new form", async () => {
    const json = JSON.stringify({
      thoughts: { text: "I write." },
      command: { name: "write_to_file", args: { file: "a.txt", text: "abc" } },
    });
    const { loop, request, server } = await makeProseLoop("json", [json, "Done."], {}, { settings: { stepLimit: 1 } });
    expect((await loop.run()).paused).toMatchObject({ code: "step-limit" });
    await loop.tell({ type: "settings", form: "code", stepLimit: 9 });
    await loop.tell({ type: "resume" });
    expect(isFinished(await loop.run())).toBe(true);
    expect(request(2)[1]).toBe(`I write.\n\n${python('write_to_file(file="a.txt", text="abc")')}`);
    expect(server.violations).toEqual([]);
  });
});
