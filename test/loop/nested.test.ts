import { describe, expect, it } from "@jest/globals";
import type { CommandContext } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import { MAX_FRAMES } from "#core/frames.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { isFinished } from "#core/state.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import { done, loopWith, makeLoop, outerCommand, reply, resultOf } from "../helpers/loop.ts";
import { cutPowerAt, PowerCut } from "../helpers/power-cut.ts";

const typesOf = (events: readonly { readonly type: string; readonly callId?: string }[]) =>
  events.flatMap(({ type, callId }) => (callId?.startsWith("c1") ? [`${type} ${callId}`] : []));
describe("a command that calls another command", () => {
  const write = (context: CommandContext) => context.call("write_to_file", { file: "a.txt", text: "hello" });

  it("gets its observation, and the agent reads only its own result", async () => {
    const loop = await loopWith(write);
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect(loop.text("a.txt")).toBe("hello");
    expect(typesOf(await loop.events())).toEqual([
      "command-requested c1",
      "command-approved c1",
      "command-started c1",
      "frame-pushed c1.1",
      "command-requested c1.1",
      "command-approved c1.1",
      "command-started c1.1",
      "command-finished c1.1",
      "frame-popped c1.1",
      "command-finished c1",
    ]);
    expect((await resultOf(loop)).observation.text).toContain('"status":"ok"');
    const second = loop.prompt(1);
    expect(second.match(/Command outer/g)).toHaveLength(1);
    expect(second).not.toContain("Command write_to_file");
    expect(state).toMatchObject({ step: 2, frames: [{ id: 0 }], open: [] });
  });

  it("is judged by the policy for each call: a person's no is an observation, and the words reach the agent", async () => {
    const loop = await loopWith(write, { settings: { approve: "always" } });
    const asked: string[] = [];
    await loop.run({
      ask: async ({ name }) => {
        asked.push(name);
        return name === "outer" ? { kind: "approved", count: 1 } : { kind: "feedback", text: "Not that file." };
      },
    });
    expect(asked).toEqual(["outer", "write_to_file", "task_complete"]);
    expect(loop.text("a.txt")).toBeUndefined();
    expect((await resultOf(loop)).observation.text).toContain('"status":"denied"');
    expect(loop.prompt(1)).toContain("Not that file.");
  });

  it("reads unknown and closed names, wrong arguments and task_complete as failures, and logs no call", async () => {
    const act = async (context: CommandContext) => [
      (await context.call("no_such", {})).text,
      (await context.call("google", {})).text,
      (await context.call("write_to_file", { file: "a.txt" })).text,
      (await context.call("write_to_file", { file: 5, text: "x" })).code,
      (await context.call("task_complete", { reason: "x" })).code,
    ];
    const loop = await loopWith(act, { services: { search: { ready: true } }, settings: { commands: "files,outer" } });
    await loop.run();
    const [unknown, closed, missing, typed, closing] = JSON.parse((await resultOf(loop)).observation.text);
    expect(unknown).toMatch(/There is no .*no_such/);
    expect(closed).toMatch(/^You may not use google/);
    expect(missing).toContain("text");
    expect([typed, closing]).toEqual(["bad-arguments", "not-nested"]);
    expect(typesOf(await loop.events()).filter((line) => line.includes("c1."))).toEqual([]);
  });

  it("runs calls in the order in which it asked for them, also when it does not wait", async () => {
    const append = (context: CommandContext, text: string) => context.call("append_to_file", { file: "a.txt", text });
    const loop = await loopWith((context) => Promise.all(["1", "2", "3"].map((text) => append(context, text))));
    await loop.run();
    expect(loop.text("a.txt")).toBe("123");
  });

  it("stops at the depth limit with an observation", async () => {
    const again = (context: CommandContext) => context.call("outer", {});
    const loop = await loopWith(async (context) => {
      const { status, code, text } = await again(context);
      return status === "ok" ? JSON.parse(String(text)) : code;
    });
    await loop.run();
    expect(JSON.parse((await resultOf(loop)).observation.text)).toBe("too-deep");
    const pushed = await loop.of("frame-pushed");
    expect(pushed).toHaveLength(MAX_FRAMES);
  });
});

describe("a sub-task", () => {
  const population = (context: CommandContext) => context.run("Extract the population.", { type: "integer" });
  const answer = (result: unknown): string => reply("task_complete", { result });

  it("returns a typed value; its messages do not reach the agent", async () => {
    const script = [reply("outer"), reply("do_nothing", {}, "NESTED THOUGHT"), answer(14_284_000), done()];
    const loop = await loopWith(async (context) => (await population(context)) === 14_284_000, { script });
    const state = await loop.run();
    expect((await resultOf(loop)).observation.text).toBe("true");
    const [, first, , outer] = loop.model.requests.map(({ messages }) => messages.map(({ content }) => content));
    expect(first?.at(-1)).toContain("Extract the population.");
    expect(first?.[0]).toContain('{"type":"integer"}');
    expect(first?.join("\n")).toContain("do not pass it on as a whole");
    expect(outer?.join("\n")).not.toContain("NESTED THOUGHT");
    expect(outer?.join("\n")).toContain("Command outer");
    expect(state.step).toBe(4);
    const ids = (await loop.of("model-asked")).map(({ callId }) => callId);
    expect(ids).toEqual(["m1", "c1.1.m1", "c1.1.m2", "m4"]);
  });

  it("asks once more after a value of another type", async () => {
    const loop = await loopWith(population, {
      script: [reply("outer"), answer("about 14 million"), answer(14), done()],
    });
    await loop.run();
    expect((await resultOf(loop)).observation.text).toBe("14");
    expect(loop.model.requests).toHaveLength(4);
  });

  it("throws a typed error when no value fits, and the agent goes on", async () => {
    const wrong = answer("many");
    const caught = async (context: CommandContext) =>
      population(context).catch((error: unknown) => (error instanceof GoaldError ? error.code : "other"));
    const loop = await loopWith(caught, { script: [reply("outer"), wrong, wrong, done()] });
    const state = await loop.run();
    expect((await resultOf(loop)).observation.text).toBe('"GOALD_SUBTASK"');
    expect(isFinished(state)).toBe(true);
    expect(state.frames).toHaveLength(1);
  });

  it("fails its command in words when the command does not catch the error", async () => {
    const wrong = answer("many");
    const loop = await loopWith(population, { script: [reply("outer"), wrong, wrong, done()] });
    await loop.run();
    expect((await resultOf(loop)).observation).toMatchObject({ status: "failed", code: "subtask" });
  });

  it("ends with an error when it repeats itself, and does not pause the agent", async () => {
    const script = [reply("outer"), ...Array(5).fill(reply("do_nothing")), done()];
    const loop = await loopWith(population, { script });
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect((await resultOf(loop)).observation.text).toContain("five times in a row".slice(4));
  });

  it("pauses the agent at a limit in the middle, and goes on there without asking again for what it has", async () => {
    const script = [reply("outer"), reply("list_agents"), answer(7), done()];
    const loop = await loopWith(population, { script, settings: { stepLimit: 2 } });
    const paused = await loop.run();
    expect(paused.paused?.code).toBe("step-limit");
    expect(paused.frames).toHaveLength(2);
    await loop.tell({ type: "settings", stepLimit: 20 });
    await loop.tell({ type: "resume" });
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect((await resultOf(loop)).observation.text).toBe("7");
    expect(loop.model.requests).toHaveLength(4);
  });

  it("hears a person inside the sub-task, and the agent keeps the words", async () => {
    const script = async (_request: unknown, index: number) => {
      if (index === 1) await loop.tell({ type: "say", from: "Ann", text: "BE BRIEF" });
      return [reply("outer"), reply("list_agents"), answer(1), done()][index] ?? done();
    };
    const loop = await loopWith(population, { script });
    await loop.run();
    const texts = loop.model.requests.map(({ messages }) => messages.map(({ content }) => content).join("\n"));
    expect(texts.map((text) => text.includes("BE BRIEF"))).toEqual([false, false, true, true]);
  });
});

describe("an interrupted command with nested work", () => {
  it("has an unknown outcome when it may run only once; its unfinished work is dropped", async () => {
    const loop = await loopWith((context) => context.call("write_to_file", { file: "a.txt", text: "x" }), {
      effect: "at-most-once",
    });
    await expect(loop.run({ store: cutPowerAt(4, "before") })).rejects.toThrow(PowerCut);
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect((await resultOf(loop)).observation.status).toBe("unknown");
    expect(state).toMatchObject({ frames: [{ id: 0 }], open: [] });
  });

  it.each(["something else", "less"])("has an unknown outcome when its second run asks for %s", async (what) => {
    let runs = 0;
    const loop = await loopWith(async (context) => {
      runs++;
      if (runs === 2 && what === "less") return "nothing";
      await context.call("append_to_file", { file: "a.txt", text: `run ${runs}\n` });
      return context.call("append_to_file", { file: "a.txt", text: "second\n" });
    });
    await expect(loop.run({ store: cutPowerAt(5, "after") })).rejects.toThrow(PowerCut);
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect((await resultOf(loop)).observation).toMatchObject({ status: "unknown" });
    expect(loop.text("a.txt")).toBe("run 1\n");
  });
});

const TEXT = { type: "string" };
const textOf = ({ messages }: ModelRequest): string => messages.map(({ content }) => content).join("\n");
const isNested = (request: ModelRequest): boolean => request.messages.at(-1)?.content.includes("CHAPTER") === true;
/** Number of the chapter that the request is about. */
const chapterOf = ({ messages }: ModelRequest): string =>
  /CHAPTER (\d+)/.exec(messages.at(-1)?.content ?? "")?.[1] ?? "";

/** Gives a sub-task per chapter. The model thinks once in each, and then returns its text. */
const book = async (chapters: number, options: Partial<Parameters<typeof loopWith>[1]> = {}) => {
  const loop = await loopWith(
    async (context: CommandContext) => {
      for (let chapter = 1; chapter <= chapters; chapter++) await context.run(`Write CHAPTER ${chapter}.`, TEXT);
    },
    {
      script: (request) => {
        if (!isNested(request))
          return textOf(request).includes("Command outer") ? done() : reply("outer", {}, "THE CODE");
        const chapter = chapterOf(request);
        return textOf(request).includes(`THINKING ${chapter};`)
          ? reply("task_complete", { result: `TEXT ${chapter}; ${"word ".repeat(100)}` })
          : reply("do_nothing", {}, `THINKING ${chapter};`);
      },
      ...options,
    },
  );
  await loop.run();
  const requests = loop.model.requests;
  return { loop, requests, nested: requests.filter(isNested) };
};

describe("the prompt of a sub-task", () => {
  it("has the messages of the larger task up to the reply whose code runs", async () => {
    const { nested } = await book(1);
    const [first] = nested as [ModelRequest];
    expect(textOf(first)).toContain("THE CODE");
    const roles = first.messages.map(({ role }) => role);
    expect(roles).toEqual(["system", "assistant", "user", "user"]);
    expect(first.messages[2]?.content).toContain("the larger task");
    expect(first.messages.at(-1)?.content).toContain("Write CHAPTER 1.");
  });

  it("has its own messages behind them", async () => {
    const { nested } = await book(1);
    const second = nested[1] as ModelRequest;
    const places = ["THE CODE", "the larger task", "THINKING 1;"].map((words) =>
      second.messages.findIndex(({ content }) => content.includes(words)),
    );
    expect(places).toEqual([1, 2, 3]);
  });

  it("has tasks and results of the last four sub-tasks, and none of their messages", async () => {
    const { nested } = await book(7);
    const last = textOf(nested.findLast((request) => chapterOf(request) === "7") as ModelRequest);
    const seen = [1, 2, 3, 4, 5, 6].filter((chapter) => last.includes(`TEXT ${chapter};`));
    expect(seen).toEqual([3, 4, 5, 6]);
    expect([1, 2, 3, 4, 5, 6].filter((chapter) => last.includes(`THINKING ${chapter};`))).toEqual([]);
  });

  it("does not grow with the number of sub-tasks", async () => {
    const { nested } = await book(14);
    const sizes = nested.map((request) => estimateTokens(textOf(request)));
    const [fifth = 0, ...later] = sizes.slice(8).filter((_size, index) => index % 2 === 0);
    for (const size of later) expect(Math.abs(size - fifth)).toBeLessThan(40);
  });

  it("says why an earlier sub-task has no result", async () => {
    const wrong = reply("task_complete", { result: [5] });
    const loop = await loopWith(
      async (context) => {
        await context.run("Write CHAPTER 1.", TEXT).catch(() => undefined);
        await context.run("Write CHAPTER 2.", TEXT);
      },
      { script: [reply("outer"), wrong, wrong, reply("task_complete", { result: "x" }), done()] },
    );
    await loop.run();
    expect(textOf(loop.model.requests[3] as ModelRequest)).toMatch(/Result: No result: 2 results in a row/);
  });

  it("has a person's words once", async () => {
    const words = { type: "say", from: "person", text: "BE BRIEF" } as const;
    const loop = await loopWith((context) => context.run("Write CHAPTER 1.", TEXT), {
      script: (_request, index) => {
        if (index === 1) void loop.tell(words);
        return [reply("outer"), reply("list_agents"), reply("task_complete", { result: "x" }), done()][index] ?? done();
      },
    });
    await loop.run();
    expect(textOf(loop.model.requests[2] as ModelRequest).split("BE BRIEF")).toHaveLength(2);
  });

  it("loses messages of the larger task before any of its own", async () => {
    const long = "larger ".repeat(2_000);
    const own = "own ".repeat(1_500);
    const script = [
      reply("do_nothing", {}, `FIRST ${long}`),
      reply("outer", {}, "THE CODE"),
      reply("do_nothing", {}, `OWN ${own}`),
      reply("task_complete", { result: "x" }),
      done(),
    ];
    const run = async (contextTokens: number) => {
      const loop = await loopWith((context) => context.run("Write CHAPTER 1.", TEXT), { script, contextTokens });
      await loop.run();
      const text = textOf(loop.model.requests[3] as ModelRequest);
      return [text.includes(long), text.includes("THE CODE"), text.includes(own)];
    };
    expect(await run(32_000)).toEqual([true, true, true]);
    expect(await run(7_500)).toEqual([false, true, true]);
  });

  it("has the messages of all frames below it, outermost first", async () => {
    const again = outerCommand(async (context) => context.run("Write CHAPTER 1.", TEXT));
    const script = [reply("outer", {}, "THE OUTER CODE"), reply("inner", {}, "THE INNER CODE")];
    const ends = [reply("task_complete", { result: "x" }), reply("task_complete", { result: "y" }), done()];
    const inner = { ...again, name: "inner" };
    const loop = await makeLoop({ script: [...script, ...ends], commands: [again, inner] });
    await loop.run();
    const { messages } = loop.model.requests[2] as ModelRequest;
    const place = (words: string): number => messages.findIndex(({ content }) => content.includes(words));
    expect([place("THE OUTER CODE"), place("THE INNER CODE")]).toEqual([1, 2]);
  });
});

describe("the prompt after a sub-task", () => {
  it("has the code and its result, and none of the messages of the sub-tasks", async () => {
    const { requests } = await book(3);
    const last = textOf(requests.at(-1) as ModelRequest);
    expect(last).toContain("THE CODE");
    expect(last).toContain("Command outer");
    expect(last).not.toMatch(/THINKING|TEXT \d|CHAPTER/);
  });
});
