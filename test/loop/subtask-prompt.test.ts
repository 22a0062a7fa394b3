import { describe, expect, it } from "@jest/globals";
import type { CommandContext } from "#core/command.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";
import { loopWith, outerCommand } from "../helpers/outer-command.ts";

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
