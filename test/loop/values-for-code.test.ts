import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { type Command, type CommandContext, succeed } from "#core/command.ts";
import { isFinished } from "#core/state.ts";
import { done, loopWith, makeLoop, outerCommand, READS, reply, resultOf, testCommand } from "../helpers/loop.ts";
import { cutPowerAt, PowerCut, replaceCommit } from "../helpers/power-cut.ts";

const LINE = "a line of some length\n";
const write = (context: CommandContext, file: string, text: string) => context.call("write_to_file", { file, text });
const read = (context: CommandContext, file: string) => context.call("read_file", { file });

/** A command whose result has this text and value. */
const tellCommand = (text: string, value?: unknown): Command =>
  testCommand("tell", async () => succeed(text, value === undefined ? {} : { value }), { effect: "pure" });

const told = async (command: Command, act: (context: CommandContext) => Promise<unknown>) => {
  const loop = await makeLoop({ script: [reply("outer"), done()], commands: [command, outerCommand(act)] });
  await loop.run();
  return loop;
};

describe("the value of a nested call", () => {
  it("is the whole text of a file that the model reads in parts", async () => {
    const content = LINE.repeat(5_000);
    const loop = await loopWith(async (context) => {
      await write(context, "a.txt", content);
      return (await read(context, "a.txt")).value === content;
    });
    await loop.run();
    expect((await resultOf(loop)).observation.text).toBe("true");
  });

  it("is the same after a crash, from the log", async () => {
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
    const command = tellCommand("short", value);
    const seen: unknown[] = [];
    const outer = outerCommand(async (context) => seen.push((await context.call("tell", {})).value));
    const loop = await makeLoop({ script: [reply("outer"), done()], commands: [command, outer] });
    await loop.run({ scrub: (text) => text.replaceAll("secret", "[redacted]") });
    expect(seen).toEqual([{ list: [1, { deep: "the [redacted] word" }], blob: "0".repeat(64) }]);
  });

  it("comes back from a blob when it is long in all", async () => {
    const value = Array.from({ length: 5_000 }, (_, index) => `item ${index}`);
    const seen: unknown[] = [];
    const loop = await told(tellCommand("many", value), async (context) =>
      seen.push((await context.call("tell", {})).value),
    );
    expect(seen).toEqual([value]);
    const event = (await loop.events()).find((one) => one.type === "command-finished" && one.callId === "c1.1");
    expect(JSON.stringify(event).length).toBeLessThan(10_000);
  });

  it("is not kept for a call that the model made", async () => {
    const loop = await makeLoop({ script: [reply("tell"), done()], commands: [tellCommand("short", [1, 2])] });
    await loop.run();
    expect((await resultOf(loop)).observation).not.toHaveProperty("value");
  });

  it("is left out when it is not JSON, and code gets the text", async () => {
    const seen: unknown[] = [];
    const circle: unknown[] = [];
    circle.push(circle);
    await told(tellCommand("round", circle), async (context) => seen.push(await context.call("tell", {})));
    expect(seen).toMatchObject([{ status: "ok", text: "round" }]);
    expect(seen[0]).not.toHaveProperty("value");
  });
});

describe("a long text of a nested call", () => {
  const text = LINE.repeat(2_000);

  it("reaches code whole, and no file holds it", async () => {
    const seen: unknown[] = [];
    const loop = await told(tellCommand(text), async (context) => seen.push((await context.call("tell", {})).text));
    expect(seen).toEqual([text]);
    expect([...loop.files.keys()]).toEqual([]);
  });

  it("becomes a file when the model made the call", async () => {
    const loop = await makeLoop({ script: [reply("tell"), done()], commands: [tellCommand(text)] });
    await loop.run();
    expect([...loop.files.keys()]).toEqual(["_goald/outputs/c1.txt"]);
  });
});

describe("pure calls of a command", () => {
  const CALLS = 1_000;
  /** Counts commits; `cutAt`: the commit after which the power fails. */
  const counted = (cutAt = Number.POSITIVE_INFINITY) => {
    const counts = { commits: 0 };
    const store: NonNullable<Parameters<Awaited<ReturnType<typeof makeLoop>>["run"]>[0]>["store"] = (real) =>
      replaceCommit(real, async (...given) => {
        counts.commits++;
        await real.commit(...given);
        if (counts.commits === cutAt) throw new PowerCut();
      });
    return { counts, store };
  };
  const reading = (count: number) => async (context: CommandContext) => {
    for (let index = 0; index < count; index++) await read(context, "a.txt");
    return "done";
  };

  it("are committed in batches", async () => {
    const { counts, store } = counted();
    const loop = await loopWith(reading(CALLS));
    loop.files.set("a.txt", Buffer.from("x"));
    expect(isFinished(await loop.run({ store }))).toBe(true);
    const finished = await loop.of("command-finished");
    expect(finished.length).toBe(CALLS + 2);
    expect(counts.commits).toBeLessThan(30);
  });

  it("have a commit each when they reach outside", async () => {
    const { counts, store } = counted();
    const reaching = { ...tellCommand("far"), annotations: { ...READS, openWorld: true } };
    const outer = outerCommand(async (context) => {
      for (let index = 0; index < 50; index++) await context.call("tell", {});
    });
    const loop = await makeLoop({ script: [reply("outer"), done()], commands: [reaching, outer] });
    await loop.run({ store });
    expect(counts.commits).toBeGreaterThan(50);
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
      store: (real) =>
        replaceCommit(real, async (...given) => {
          if (loop.shown.length > stored) early.push(loop.shown.length);
          await real.commit(...given);
          stored += given[2].events.length;
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
    await expect(loop.run({ store: counted(4).store })).rejects.toThrow(PowerCut);
    loop.files.set("a.txt", Buffer.from("2"));
    expect(isFinished(await loop.run())).toBe(true);
    expect(loop.text("b.txt")).toMatch(/^1{50,249}2+$/);
    expect(loop.text("b.txt")).toHaveLength(250);
  });
});
