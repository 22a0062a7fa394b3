import { describe, expect, it } from "@jest/globals";
import { defineCommand, succeed } from "#core/command.ts";
import { listNested, type NestedNode, NestedTree } from "#views/nested.ts";
import { nestedLines } from "#views/step-text.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";

/** A command that does other work, as code in a cell does. */
const work = (act: (context: Parameters<ReturnType<typeof defineCommand>["run"]>[1]) => Promise<unknown>) =>
  defineCommand({
    name: "work",
    label: "Work",
    summary: "works.",
    args: { type: "object", properties: {} },
    annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
    effect: "transactional",
    timeoutMs: 600_000,
    run: async (_args, context) => succeed(JSON.stringify(await act(context))),
  });

async function nestedOf(loop: Loop, step: number) {
  const gathered = new NestedTree(step);
  for (const event of await loop.events()) gathered.add(event);
  return listNested(gathered.roots);
}
const write = (text: string) => ({ file: "a.txt", text });
const USAGE = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, estimated: false };
const INTEGER = { type: "integer" } as const;

describe("the calls inside a step", () => {
  it("are a tree of calls, sub-tasks and their steps, with status, time, tokens and US dollars", async () => {
    const loop = await makeLoop({
      script: [
        reply("work", {}),
        reply("write_to_file", write("in a sub-task")),
        reply("task_complete", { result: 5 }),
        done(),
      ],
      priceOf: () => ({ input: 1, cachedInput: 1, output: 10 }),
      commands: [
        work(async ({ call, run }) => {
          await call("read_file", { file: "missing.txt" });
          await call("write_to_file", write("x".repeat(5_000)));
          return run("Count the words of a.txt. Then return the count.", INTEGER);
        }),
      ],
    });
    await loop.run();
    const nested = await nestedOf(loop, 1);
    const shape = nested.rows.map(({ depth, callId, parent, kind, command, status }) => {
      return [depth, callId, parent, command === "" ? kind : command, status];
    });
    expect(shape).toEqual([
      [0, "c1.1", "c1", "read_file", "failed"],
      [0, "c1.2", "c1", "write_to_file", "ok"],
      [0, "c1.3", "c1", "sub-task", "ok"],
      [1, "c1.3.m1", "c1.3", "step", "ok"],
      [2, "c1.3.c1", "c1.3.m1", "write_to_file", "ok"],
      [1, "c1.3.m2", "c1.3", "step", "ok"],
      [2, "c1.3.c2", "c1.3.m2", "task_complete", "ok"],
    ]);
    const [missing, , task, first, , second] = nested.rows;
    expect(missing?.problem).toContain("missing.txt");
    expect([first?.step, second?.step]).toEqual([2, 3]);
    expect(first?.tokens).toBeGreaterThan(0);
    expect(first?.costUsd).toBeGreaterThan(0);
    expect(task?.tokens).toBe((first?.tokens ?? 0) + (second?.tokens ?? 0));
    expect(nested).toMatchObject({ calls: 4, steps: 2, tokens: task?.tokens, costUsd: task?.costUsd, leftOut: [] });
    expect(nestedLines(nested).join("\n")).toMatch(
      /^Other calls: 4 calls, 2 steps, \d+ tokens, \$0\.00\d+\nc1\.1 {2}read_file \{"file":"missing\.txt"\}: failed, \d+ ms\n {2}There is no file/,
    );
  });

  it("have one row for repeats: 1,000 calls are a few lines", async () => {
    const loop = await makeLoop({
      script: [reply("work", {}), done()],
      commands: [
        work(async ({ call }) => {
          await call("write_to_file", write("one"));
          for (let count = 0; count < 998; count++) await call("read_file", { file: "a.txt" });
          return call("write_to_file", write("two"));
        }),
      ],
    });
    await loop.run();
    const lines = nestedLines(await nestedOf(loop, 1));
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe("Other calls: 1000 calls");
    expect(lines[2]).toMatch(/^c1\.2 to c1\.999 {2}read_file ×998, first \{"file":"a\.txt"\}: ok, \d+ ms$/);
  });

  it("are at most 200 rows, also when no call repeats the one before, and the others are counted", () => {
    const node = (at: number, inside: readonly NestedNode[] = []): NestedNode => ({
      ...{
        kind: "call",
        callId: `c1.${at}`,
        step: 1,
        command: at % 2 === 0 ? "read_file" : "write_to_file",
        about: "",
      },
      ...{ status: "ok", problem: "", startedAt: "2026-11-20T08:00:00.000Z", durationMs: 1, tokens: 1, costUsd: 0.5 },
      inside: [...inside],
    });
    const first = { ...node(0), callId: "c1" };
    const nested = listNested([{ ...first, inside: Array.from({ length: 1_000 }, (_, at) => node(at + 1)) }]);
    expect(nested.rows).toHaveLength(200);
    expect(nested.leftOut).toEqual([
      { command: "write_to_file", times: 400 },
      { command: "read_file", times: 400 },
    ]);
    expect(nested).toMatchObject({ calls: 1_000, tokens: 1_000, costUsd: 500 });
    expect(nestedLines(nested).at(-1)).toBe("… and write_to_file ×400, read_file ×400");
    // The control: calls with something inside keep a row of their own.
    const deep = Array.from({ length: 5 }, (_, at) => node(2 * at, [node(100 + 2 * at)]));
    expect(listNested([{ ...first, inside: deep }]).rows).toHaveLength(10);
  });

  it("say which files a cell saved, by their paths", () => {
    const files = Array.from({ length: 7 }, (_, at) => ({ path: `${at}.svg`, sha256: "ab", bytes: 1 }));
    const gathered = new NestedTree(1);
    const stamp = { v: 1, frame: 0, at: "2026-11-20T08:00:00.000Z", step: 1 } as const;
    const requested = { type: "command-requested", thought: "", repaired: false } as const;
    gathered.add({ ...stamp, ...requested, seq: 1, callId: "c1", call: { name: "run_code", args: {} } });
    gathered.add({ ...stamp, ...requested, seq: 2, callId: "c1.1", call: { name: "save_files", args: { files } } });
    expect(nestedLines(listNested(gathered.roots))[1]).toBe(
      "c1.1  saves 0.svg, 1.svg, 2.svg, 3.svg, 4.svg and 2 more: under way",
    );
  });

  it("have no known price when a part has none, and no end while they run", () => {
    const gathered = new NestedTree(1);
    const stamp = { v: 1, frame: 0, at: "2026-11-20T08:00:00.000Z", step: 1 } as const;
    const call = { name: "work", args: {} };
    const requested = { type: "command-requested", call, thought: "", repaired: false } as const;
    const spent = { usage: { ...USAGE, inputTokens: 7 }, costUsd: null, modelCalls: 1 };
    gathered.add({ ...stamp, ...requested, seq: 1, callId: "c1" });
    gathered.add({ ...stamp, ...requested, seq: 2, callId: "c1.1" });
    gathered.add({ ...stamp, type: "command-waiting", seq: 3, callId: "c1.1", waitFor: "time", until: null, spent });
    const nested = listNested(gathered.roots);
    expect(nested.rows).toMatchObject([{ callId: "c1.1", status: null, durationMs: null, tokens: 7, costUsd: null }]);
    expect(nestedLines(nested)).toEqual([
      "Other calls: 1 call, 7 tokens, no known price",
      "c1.1  work: under way, 7 tokens, no known price",
    ]);
  });
});
