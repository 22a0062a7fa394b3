import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import type { Observation } from "#core/call.ts";
import { type Command, type CommandContext, succeed } from "#core/command.ts";
import { MAX_FRAMES } from "#core/frames.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { isFinished } from "#core/state.ts";
import {
  afterRun,
  done,
  loopWith,
  makeLoop,
  outerCommand,
  READS,
  type RunChange,
  reply,
  resultOf,
  testCommand,
} from "../helpers/loop.ts";
import { textIn } from "../helpers/models.ts";
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

  it("fails its command in words when the command does not catch the error", async () => {
    const wrong = answer("many");
    const loop = await afterRun(loopWith(population, { script: [reply("outer"), wrong, wrong, done()] }));
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
    const counts = loop.model.requests.map((request) => textIn(request).split("BE BRIEF").length - 1);
    expect(counts).toEqual([0, 0, 1, 1]);
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

  it.each([
    ["something else", 5, "run 1\n"],
    ["less", 5, "run 1\n"],
    ["something else, and the first call was under way", 4, undefined],
  ])("has an unknown outcome when its second run asks for %s", async (what, at, text) => {
    let runs = 0;
    const loop = await loopWith(async (context) => {
      runs++;
      if (runs === 2 && what === "less") return "nothing";
      await context.call("append_to_file", { file: "a.txt", text: `run ${runs}\n` });
      return context.call("append_to_file", { file: "a.txt", text: "second\n" });
    });
    await expect(loop.run({ store: cutPowerAt(at, "after") })).rejects.toThrow(PowerCut);
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect((await resultOf(loop)).observation).toMatchObject({ status: "unknown" });
    expect(loop.text("a.txt")).toBe(text);
  });
});

const TEXT = { type: "string" };
const isNested = (request: ModelRequest): boolean => request.messages.at(-1)?.content.includes("CHAPTER") === true;
/** Number of the chapter that the request is about. */
const chapterOf = ({ messages }: ModelRequest): string =>
  /CHAPTER (\d+)/.exec(messages.at(-1)?.content ?? "")?.[1] ?? "";

const placeOf = ({ messages }: ModelRequest, words: string): number =>
  messages.findIndex(({ content }) => content.includes(words));

/** Gives a sub-task per chapter. The model thinks once in each, and then returns its text. */
const book = async (chapters: number) => {
  const loop = await loopWith(
    async (context: CommandContext) => {
      for (let chapter = 1; chapter <= chapters; chapter++) await context.run(`Write CHAPTER ${chapter}.`, TEXT);
    },
    {
      script: (request) => {
        if (!isNested(request))
          return textIn(request).includes("Command outer") ? done() : reply("outer", {}, "THE CODE");
        const chapter = chapterOf(request);
        return textIn(request).includes(`THINKING ${chapter};`)
          ? reply("task_complete", { result: `TEXT ${chapter}; ${"word ".repeat(100)}` })
          : reply("do_nothing", {}, `THINKING ${chapter};`);
      },
    },
  );
  await loop.run();
  return loop.model.requests.filter(isNested);
};

describe("the prompt of a sub-task", () => {
  it("has the messages of the larger task up to the reply whose code runs, and its own behind them", async () => {
    const nested = await book(1);
    const [first, second] = nested as [ModelRequest, ModelRequest];
    expect(textIn(first)).toContain("THE CODE");
    const roles = first.messages.map(({ role }) => role);
    expect(roles).toEqual(["system", "assistant", "user", "user"]);
    expect(first.messages[2]?.content).toContain("the larger task");
    expect(first.messages.at(-1)?.content).toContain("Write CHAPTER 1.");
    expect(["THE CODE", "the larger task", "THINKING 1;"].map((words) => placeOf(second, words))).toEqual([1, 2, 3]);
  });

  it("has tasks and results of the last four sub-tasks, and none of their messages", async () => {
    const nested = await book(7);
    const last = textIn(nested.findLast((request) => chapterOf(request) === "7") as ModelRequest);
    const seen = [1, 2, 3, 4, 5, 6].filter((chapter) => last.includes(`TEXT ${chapter};`));
    expect(seen).toEqual([3, 4, 5, 6]);
    expect([1, 2, 3, 4, 5, 6].filter((chapter) => last.includes(`THINKING ${chapter};`))).toEqual([]);
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
    expect(textIn(loop.model.requests[3] as ModelRequest)).toMatch(/Result: No result: 2 results in a row/);
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
      const text = textIn(loop.model.requests[3] as ModelRequest);
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
    const loop = await afterRun(makeLoop({ script: [...script, ...ends], commands: [again, inner] }));
    const request = loop.model.requests[2] as ModelRequest;
    expect(["THE OUTER CODE", "THE INNER CODE"].map((words) => placeOf(request, words))).toEqual([1, 2]);
  });
});

const LINE = "a line of some length\n";
const write = (context: CommandContext, file: string, text: string) => context.call("write_to_file", { file, text });
const read = (context: CommandContext, file: string) => context.call("read_file", { file });

/** A command whose result has this text and value. */
const tellCommand = (text: string, value?: unknown): Command =>
  testCommand("tell", async () => succeed(text, value === undefined ? {} : { value }), { effect: "pure" });

/** Runs code that calls this command. Returns what the code got. */
async function told(command: Command, change: RunChange = {}) {
  const seen: Observation[] = [];
  const outer = outerCommand(async ({ call }) => seen.push(await call("tell", {})));
  const loop = await makeLoop({ script: [reply("outer"), done()], commands: [command, outer] });
  await loop.run(change);
  return { loop, seen };
}

describe("the value of a nested call", () => {
  it("is the whole text of a file that the model reads in parts, also after a crash, from the log", async () => {
    const values: unknown[] = [];
    const content = LINE.repeat(5_000);
    const loop = await loopWith(async (context) => {
      await write(context, "a.txt", content);
      values.push((await read(context, "a.txt")).value);
      await write(context, "a.txt", "other");
      return "done";
    });
    await expect(loop.run({ store: cutPowerAt(5, "after") })).rejects.toThrow(PowerCut);
    expect(loop.text("a.txt")).not.toBe(undefined);
    await loop.run();
    expect(values).toEqual([content, content]);
  });

  it("is any JSON, without the secrets of the settings", async () => {
    const value = { list: [1, { deep: "the secret word" }], blob: "0".repeat(64) };
    const { seen } = await told(tellCommand("short", value), {
      scrub: (text) => text.replaceAll("secret", "[redacted]"),
    });
    expect(seen[0]?.value).toEqual({ list: [1, { deep: "the [redacted] word" }], blob: "0".repeat(64) });
  });

  it("comes back from a blob when it is long in all", async () => {
    const value = Array.from({ length: 5_000 }, (_, index) => `item ${index}`);
    const { loop, seen } = await told(tellCommand("many", value));
    expect(seen[0]?.value).toEqual(value);
    const event = (await loop.of("command-finished")).find(({ callId }) => callId === "c1.1");
    expect(JSON.stringify(event).length).toBeLessThan(10_000);
  });

  it("is not kept for a call that the model made", async () => {
    const loop = await makeLoop({ script: [reply("tell"), done()], commands: [tellCommand("short", [1, 2])] });
    await loop.run();
    expect((await resultOf(loop)).observation).not.toHaveProperty("value");
  });

  it("is left out when it is not JSON, and code gets the text with a sentence about it", async () => {
    const circle: unknown[] = [];
    circle.push(circle);
    const { seen } = await told(tellCommand("round", circle));
    const text = "round\n[tell returned a value that is not JSON of at most 8000000 characters. It is left out.]";
    expect(seen).toMatchObject([{ status: "ok", text }]);
    expect(seen[0]).not.toHaveProperty("value");
  });
});

it("a long text of a nested call reaches code whole, and no file holds it", async () => {
  const { loop, seen } = await told(tellCommand(LINE.repeat(2_000)));
  expect(seen[0]?.text).toBe(LINE.repeat(2_000));
  expect([...loop.files.keys()]).toEqual([]);
});

describe("pure calls of a command", () => {
  const CALLS = 1_000;
  const reading = (count: number) => async (context: CommandContext) => {
    for (let index = 0; index < count; index++) await read(context, "a.txt");
    return "done";
  };

  it("are committed in batches", async () => {
    const loop = await loopWith(reading(CALLS));
    loop.files.set("a.txt", Buffer.from("x"));
    expect(isFinished(await loop.run())).toBe(true);
    expect(await loop.of("command-finished")).toHaveLength(CALLS + 2);
    expect(loop.store.commits.length).toBeLessThan(30);
  });

  it("have a commit each when they reach outside", async () => {
    const reaching = { ...tellCommand("far"), annotations: { ...READS, openWorld: true } };
    const outer = outerCommand(async (context) => {
      for (let index = 0; index < 50; index++) await context.call("tell", {});
    });
    const loop = await afterRun(makeLoop({ script: [reply("outer"), done()], commands: [reaching, outer] }));
    expect(loop.store.commits.length).toBeGreaterThan(50);
  });

  it("are durable before the next call that changes something begins", async () => {
    const loop = await loopWith(async (context) => {
      for (let index = 0; index < 5; index++) await read(context, "a.txt");
      return write(context, "b.txt", "x");
    });
    loop.files.set("a.txt", Buffer.from("x"));
    const durable: number[] = [];
    await loop.run({
      prepare: (prepare) => async (move, journal) => {
        const work = await prepare(move, journal);
        return {
          ...work,
          perform: (enter) => {
            if (move.kind === "execute" && move.callId === "c1.6") durable.push(journal.head - journal.durable);
            return work.perform(enter);
          },
        };
      },
    });
    expect(durable).toEqual([0]);
  });

  it("are shown only when they are durable", async () => {
    const loop = await loopWith(reading(150));
    loop.files.set("a.txt", Buffer.from("x"));
    let stored = 0;
    const early: number[] = [];
    await loop.run({
      store: (real) => ({
        ...real,
        commit: async (...given) => {
          if (loop.shown.length > stored) early.push(loop.shown.length);
          await real.commit(...given);
          stored += given[2].events.length;
        },
      }),
    });
    expect(early).toEqual([]);
    expect(loop.shown.length).toBe((await loop.events()).length - 1);
  });

  it("are durable after a second at the latest", async () => {
    const isDurable = (callId: string): boolean =>
      loop.shown.some((event) => "callId" in event && event.callId === callId);
    const loop = await loopWith(
      async (context) => {
        await read(context, "a.txt");
        const before = isDurable("c1.1");
        await setTimeout(1_300);
        return [before, isDurable("c1.1")];
      },
      { timeoutMs: 10_000 },
    );
    await loop.run();
    expect(JSON.parse((await resultOf(loop)).observation.text)).toEqual([false, true]);
  });

  it("are made again after a crash when they were not durable, and no other", async () => {
    const reads: string[] = [];
    const act = async (context: CommandContext) => {
      for (let index = 0; index < 250; index++) {
        const { value } = await read(context, "a.txt");
        reads.push(String(value));
      }
      return write(context, "b.txt", reads.slice(-250).join(""));
    };
    const loop = await loopWith(act);
    loop.files.set("a.txt", Buffer.from("1"));
    await expect(loop.run({ store: cutPowerAt(4, "after") })).rejects.toThrow(PowerCut);
    loop.files.set("a.txt", Buffer.from("2"));
    expect(isFinished(await loop.run())).toBe(true);
    expect(loop.text("b.txt")).toMatch(/^1{50,249}2+$/);
    expect(loop.text("b.txt")).toHaveLength(250);
  });
});
