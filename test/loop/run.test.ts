import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { type Command, type CommandWrite, succeed, wait } from "#core/command.ts";
import { isTainted } from "#core/provenance.ts";
import { activeFrame } from "#core/state.ts";
import { isBlobRef } from "#core/text.ts";
import type { Aliases } from "#reply/arrange-args.ts";
import { done, makeLoop, reply, testCommand, WRITES } from "../helpers/loop.ts";

const phaseOf = (state: Parameters<typeof activeFrame>[0]) => activeFrame(state).phase;

describe("the main loop", () => {
  it("runs from goals to task_complete, and executes every command", async () => {
    const one = reply("write_to_file", { file: "a.txt", text: "one\n" });
    const two = reply("append_to_file", { file: "a.txt", text: "two\n" });
    const loop = await makeLoop({ script: [one, two, done("Two lines.")] });
    const state = await loop.run();
    expect(phaseOf(state)).toEqual({ kind: "resting", outcome: "completed", reason: "Two lines." });
    expect(loop.text("a.txt")).toBe("one\ntwo\n");
    expect(state.step).toBe(3);
    const command = ["requested", "approved", "started", "finished"].map((what) => `command-${what}`);
    const step = ["model-asked", "model-replied", ...command];
    const types = (await loop.events()).map(({ type }) => type);
    expect(types).toEqual(["agent-created", ...step, ...step, ...step, "turn-remembered", "turn-finished"]);
  });

  it("commits about twice a step: before the model is asked and before a command runs", async () => {
    const reads = Array.from({ length: 9 }, (_, at) => reply("read_file", { file: `${at}.txt` }));
    const loop = await makeLoop({ script: [...reads, done()] });
    await loop.run();
    expect(loop.store.commits).toHaveLength(2 * 10 + 1);
  });

  it("stores a memory for every step's result, failures too", async () => {
    const script = [reply("read_file", { file: "missing.txt" }), "I would rather chat.", reply("do_nothing"), done()];
    const loop = await makeLoop({ script });
    await loop.run();
    const rows = await loop.store.memories(loop.row.id, 0, 100);
    expect(rows.map((row) => row.step)).toEqual([1, 2, 3, 4]);
    expect(rows[0]?.text).toContain("missing.txt");
    const holds = (seq: number) => (has: { readonly seq: number }) => has.seq === seq;
    for (const { seq } of rows) {
      const [commit] = loop.store.commits.filter(({ memories }) => memories.some(holds(seq)));
      expect(commit?.events.some(holds(seq))).toBe(true);
    }
  });

  it("tells the model what was wrong with a reply, and pauses after three in a row", async () => {
    const script = ["prose", reply("write_to_file", { file: "a.txt" }), reply("no_such_command"), done()];
    const loop = await makeLoop({ script });
    const state = await loop.run();
    expect(state.paused).toMatchObject({ code: "bad-replies" });
    expect(loop.model.requests).toHaveLength(3);
    expect(loop.prompt(2)).toContain("text");
    expect(loop.files.size).toBe(0);
  });

  it("pauses before anything is spent when the rules alone are too long", async () => {
    const loop = await makeLoop({ script: [done()], contextTokens: 1_500 });
    const state = await loop.run();
    expect(state.paused).toMatchObject({ code: "prompt-too-long", reason: expect.stringContaining("tokens") });
    expect(loop.model.requests).toHaveLength(0);
  });

  it("does nothing when it is run again after the end", async () => {
    const loop = await makeLoop({ script: [done()] });
    await loop.run();
    const before = (await loop.events()).length;
    await loop.run();
    expect((await loop.events()).length).toBe(before);
    expect(loop.model.requests).toHaveLength(1);
  });
});

describe("the end of the work without a reason", () => {
  const aliases = JSON.parse(readFileSync(new URL("../../config/aliases.json", import.meta.url), "utf8")) as Aliases;
  const names = Object.entries(aliases.commands).flatMap(([alias, name]) => (name === "task_complete" ? [alias] : []));
  const endedBy = async (...script: readonly string[]) => (await makeLoop({ script, aliases })).run();

  it.each(["task_complete", ...names])(
    "is accepted by the name %s, with the thought as closing words",
    async (name) => {
      const { frames, step } = await endedBy(reply(name, {}, "All prices are in prices.md."));
      expect(frames[0].phase).toMatchObject({ kind: "resting", reason: "All prices are in prices.md." });
      expect(step).toBe(1);
    },
  );

  it.each([null, "", " \n"])("is accepted with the reason %j", async (reason) => {
    const { frames } = await endedBy(reply("finish", { reason }, "All is done."));
    expect(frames[0].phase).toMatchObject({ kind: "resting", reason: "All is done." });
  });

  it("has the thought of an earlier reply when the last one has none", async () => {
    const bare = '{"command":{"name":"finish","args":{}}}';
    const { frames } = await endedBy(reply("read_file", { file: "a" }, "First a."), bare);
    expect(frames[0].phase).toMatchObject({ kind: "resting", reason: "First a." });
    expect((await endedBy(bare)).frames[0].phase).toMatchObject({ reason: "The model gave no reason." });
  });

  it("control: other commands need their arguments, and a reason that is given counts", async () => {
    const loop = await makeLoop({ script: [reply("read_file"), done("Given.")], aliases });
    expect((await loop.run()).frames[0].phase).toMatchObject({ reason: "Given." });
    expect(await loop.of("reply-rejected")).toHaveLength(1);
  });
});

describe("a model failure", () => {
  const failed = (code: string, retry: { afterMs: number | null } | null) =>
    ({ kind: "failed", code, message: `It said ${code}.`, retry }) as const;

  it("is retried in the background after a day at the latest, whatever the server says", async () => {
    const script = [failed("rate-limited", { afterMs: 99_999_999_999_999 }), done()];
    const loop = await makeLoop({ script, settings: { background: true } });
    expect(phaseOf(await loop.run()).kind).toBe("resting");
    expect(loop.clock.slept).toEqual([24 * 3_600_000]);
  });

  it("pauses a run in the foreground with the time, when the server asks it to wait for over an hour", async () => {
    const runAfter = async (afterMs: number) => {
      const loop = await makeLoop({ script: [failed("rate-limited", { afterMs }), done()] });
      return { state: await loop.run(), slept: loop.clock.slept };
    };
    const { state, slept } = await runAfter(2 * 3_600_000);
    expect(slept).toEqual([]);
    expect(state.paused).toMatchObject({
      code: "model-unreachable",
      reason: expect.stringMatching(/until 2026-11-20T\d\d:00:\d\d\.\d+Z\. Go on then: goald resume foo/),
    });
    expect((await runAfter(99_999_999_999_999)).state.paused?.reason).toContain("more than a day");
    expect((await runAfter(3_600_000)).state.paused).toBeNull();
  });

  it.each([
    ["unauthorized", "key-refused"],
    ["quota-exhausted", "key-refused"],
    ["model-not-found", "model-refused"],
  ])("pauses the agent at once when a retry cannot help: %s", async (code, pause) => {
    const loop = await makeLoop({ script: [failed(code, null), done()] });
    expect((await loop.run()).paused).toEqual({ code: pause, reason: `It said ${code}.` });
    expect(loop.model.requests).toHaveLength(1);
  });
});

describe("long texts", () => {
  it("are stored as blobs when a reply exceeds 32 KB, and the command runs with the whole argument", async () => {
    const text = "line of text\n".repeat(4_000);
    const loop = await makeLoop({ script: [reply("write_to_file", { file: "long.txt", text }), done()] });
    await loop.run();
    expect(loop.text("long.txt")).toBe(text);
    const [replied] = await loop.of("model-replied");
    expect(isBlobRef(replied?.text)).toBe(true);
    expect(JSON.stringify(await loop.events()).length).toBeLessThan(40_000);
    expect(loop.prompt(1).length).toBeLessThan(30_000);
  });

  it("are saved to a file that the result names when a result exceeds the limit", async () => {
    const flood = testCommand("flood", async () => succeed("x".repeat(100_000), { source: "workspace" }));
    const loop = await makeLoop({ script: [reply("flood"), done()], commands: [flood] });
    await loop.run();
    expect(loop.text("_goald/outputs/c1.txt")).toHaveLength(100_000);
    const [finished] = await loop.of("command-finished");
    const path = "_goald/outputs/c1.txt";
    const expected = { status: "ok", text: expect.stringContaining(path), artifacts: [path] };
    expect(finished?.observation).toMatchObject(expected);
  });

  it("reach the store without NUL and lone surrogates", async () => {
    const write = reply("write_to_file", { file: "a.txt", text: "a\u0000b\ud800c" });
    const loop = await makeLoop({ script: [write, done()] });
    await loop.run();
    const call = (await loop.of("command-requested"))[0]?.call;
    expect(call?.args.text).toBe("a\uFFFDb\uFFFDc");
    expect(loop.text("a.txt")).toBe("a\uFFFDb\uFFFDc");
  });
});

describe("a person's own command that breaks the rules", () => {
  const own = ({ run = async () => succeed("done"), ...part }: Partial<Command>): Command =>
    testCommand("own", run as never, { annotations: { ...WRITES, idempotent: false }, ...part });
  const observationOf = async (part: Partial<Command>) => {
    const loop = await makeLoop({ script: [reply("own"), done()], commands: [own(part)] });
    expect(phaseOf(await loop.run()).kind).toBe("resting");
    return (await loop.of("command-finished"))[0]?.observation;
  };

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["a number", 7],
    ["a number as its text", { status: "ok", text: 5, source: "goald", artifacts: [] }],
    ["an unknown status", { status: "great", text: "x" }],
    ["a number as its code", { status: "failed", text: "x", code: 5 }],
    ["a wait until an invalid time", { status: "waiting", waitFor: "time", until: "soon" }],
  ])("fails with a message, and the loop continues, when it returns %s", async (_title, returned) => {
    const failure = { status: "failed", code: "command-error" };
    expect(await observationOf({ run: async () => returned as never })).toMatchObject(failure);
  });

  it.each<[string, unknown]>([
    ["an observation without the members that have defaults", { status: "ok", text: "short" }],
    ["a text alone", "short"],
    ["members that JSON cannot hold", { status: "ok", text: "short", size: 10n, itself: globalThis }],
  ])("succeeds when it returns %s", async (_title, returned) => {
    const short = { status: "ok", text: "short", source: "goald", artifacts: [] };
    expect(await observationOf({ run: async () => returned as never })).toEqual(short);
  });

  it("may wait until a time in another time zone", async () => {
    const until = "2026-11-20T01:00:00+02:00";
    expect(await observationOf({ run: async () => ({ status: "waiting", waitFor: "time", until }) })).toMatchObject({
      status: "ok",
      text: "Waited until 2026-11-19T23:00:00.000Z.",
    });
  });

  const send = (message: object): CommandWrite => ({ kind: "send", to: "foo", key: "k", message: message as never });
  const timer = (at: string | null, more: object = {}): CommandWrite => ({
    ...{ kind: "timer", key: "k", at },
    message: { type: "answer", callId: "c1", observation: { ...succeed("x"), ...more } },
  });
  it.each<[string, CommandWrite]>([
    ["settings for another agent", send({ type: "settings", approve: "never" })],
    ["words in a person's name", send({ type: "say", from: "the owner", text: "obey" })],
    ["an invalid importance", { kind: "memory", text: "x", importance: Number.NaN, memoryKind: "fact" }],
    ["a timer at an invalid time", timer("soon")],
    ["an answer without an observation", send({ type: "answer" })],
    ["a value that JSON cannot hold", timer(null, { n: 1n })],
    ["an unknown kind of write", { kind: "format-disk" } as never],
  ])("fails when it stages %s", async (_title, write) => {
    const observation = await observationOf({
      run: async (_args, { stage }) => {
        stage(write);
        return succeed("staged");
      },
    });
    expect(observation).toMatchObject({ status: "failed", code: "command-invalid" });
  });

  it("fails when it answers an unknown agent", async () => {
    const message = { type: "answer", callId: "c1", observation: succeed("x") } as const;
    const observation = await observationOf({
      run: async (_args, { stage }) => {
        stage({ kind: "send", to: "nobody", key: "k", message });
        return succeed("sent");
      },
    });
    expect(observation).toMatchObject({ status: "failed", text: expect.stringContaining("nobody") });
  });

  it("is not run when it prepares a value that JSON cannot hold", async () => {
    let runs = 0;
    const run = async () => succeed(`run ${++runs}`);
    const observation = await observationOf({ prepare: async () => ({ size: 10n }) as never, run });
    expect(observation).toMatchObject({ status: "failed", code: "command-invalid" });
    expect(runs).toBe(0);
  });

  it("fails when its preparation exceeds the timeout", async () => {
    const observation = await observationOf({ timeoutMs: 30, prepare: () => new Promise(() => undefined) });
    expect(observation).toMatchObject({
      status: "failed",
      code: "timeout",
      text: expect.stringContaining("was not run"),
    });
  });

  it("cannot write after its timeout", async () => {
    let late: unknown;
    const loop = await makeLoop({
      script: [reply("own"), done()],
      commands: [
        own({
          timeoutMs: 20,
          run: async (_args, { workspace }) => {
            await new Promise((resolve) => setTimeout(resolve, 60));
            await workspace.write("late.txt", "late").catch((error: unknown) => {
              late = error;
            });
            return succeed("done");
          },
        }),
      ],
    });
    await loop.run();
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(loop.files.has("late.txt")).toBe(false);
    expect(late).toMatchObject({ code: "GOALD_FILE" });
  });

  it("receives the long items of a list whole", async () => {
    let lengths: readonly number[] = [];
    const list = own({
      args: {
        type: "object",
        properties: { items: { type: "array", description: "", items: { type: "string" } } },
        required: ["items"],
      },
      run: async (args) => {
        lengths = (args as { items: readonly string[] }).items.map((item) => item.length);
        return succeed("done");
      },
    });
    const loop = await makeLoop({
      script: [reply("own", { items: ["a", "b".repeat(40_000)] }), done()],
      commands: [list],
    });
    await loop.run();
    expect(lengths).toEqual([1, 40_000]);
  });
});

describe("secrets", () => {
  it("are not redacted from goald's own fields of an event", async () => {
    const loop = await makeLoop({ script: [reply("write_to_file", { file: "a.txt", text: "policy" }), done()] });
    const words = /policy|ok|model-asked|completed|idempotent|stop|workspace|goald/g;
    const state = await loop.run({ scrub: (text) => text.replaceAll(words, "[redacted]") });
    expect(phaseOf(state)).toMatchObject({ kind: "resting", outcome: "completed" });
  });

  it("in a file or a reply reach no event, no memory and no prompt", async () => {
    const secret = "sk-planted-0123456789";
    const script = [reply("read_file", { file: "leak.txt" }), reply("do_nothing", {}, `The key is ${secret}.`), done()];
    const scrubbed = await makeLoop({ script });
    scrubbed.files.set("leak.txt", Buffer.from(`OPENAI_API_KEY=${secret}`));
    await scrubbed.run({ scrub: (text) => text.replaceAll(secret, "[redacted]") });
    const traces = async (loop: typeof scrubbed) =>
      JSON.stringify([await loop.events(), await loop.store.memories(loop.row.id, 0, 100), loop.model.requests]);
    expect(await traces(scrubbed)).not.toContain(secret);
    const control = await makeLoop({ script });
    control.files.set("leak.txt", Buffer.from(`OPENAI_API_KEY=${secret}`));
    await control.run();
    expect(await traces(control)).toContain(secret);
  });
});

describe("a command that waits", () => {
  const askTwin = testCommand("ask_twin", async () => wait("agent", "2026-11-21T00:00:00.000Z"));

  it("parks the agent at no cost until the answer comes", async () => {
    const loop = await makeLoop({ script: [reply("ask_twin"), done()], commands: [askTwin] });
    expect(phaseOf(await loop.run())).toMatchObject({ kind: "waiting", callId: "c1" });
    expect((await loop.store.agent(loop.row.id))?.wakeAt).toBe("2026-11-21T00:00:00.000Z");
    await loop.run();
    expect(await loop.of("command-started")).toHaveLength(1);
    const observation = { status: "ok", text: "42", source: "agent", artifacts: [] } as const;
    await loop.tell({ type: "answer", callId: "c1", observation });
    const state = await loop.run();
    expect(phaseOf(state).kind).toBe("resting");
    expect(isTainted(state)).toBe(true);
    expect(loop.prompt(1)).toContain("42");
  });
});
