import { utimes } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import type { Observation } from "#core/call.ts";
import type { CellBridge } from "#core/ports/sandbox.ts";
import { isFinished } from "#core/state.ts";
import { openCellBridge } from "#loop/cell-bridge.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { bytesOf } from "../helpers/events.ts";
import { type CellBehaviour, cellValue, createFakeSandbox, failedCell } from "../helpers/fake-sandbox.ts";
import { useFolder } from "../helpers/folder.ts";
import { afterRun, cell, done, type Loop, type LoopOptions, makeLoop, outerCommand, reply } from "../helpers/loop.ts";
import { cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";

async function makeCells(
  behaviours: Readonly<Record<string, CellBehaviour>>,
  codes: readonly string[] = Object.keys(behaviours),
  options: Partial<LoopOptions> = {},
) {
  const sandbox = createFakeSandbox(behaviours);
  const script = [...codes.map(cell), done()];
  return { sandbox, loop: await makeLoop({ script, sandbox, ...options }) };
}

/** Results of all calls of the model, in order. */
const results = async (loop: Loop): Promise<readonly Observation[]> =>
  (await loop.of("command-finished")).flatMap(({ callId, observation }) =>
    /^c\d+$/.test(callId) ? [observation] : [],
  );
/** Runs the agent; before each step all processes of cells end. */
const runWithoutProcesses = ({ loop, sandbox }: Awaited<ReturnType<typeof makeCells>>) =>
  loop.run({
    prepare: (prepare) => (move, journal) => {
      sandbox.endProcesses();
      return prepare(move, journal);
    },
  });
const bad: CellBehaviour = () => failedCell({});
const textsOf = async (loop: Loop): Promise<readonly string[]> => (await results(loop)).map(({ text }) => String(text));

describe("the result of a cell", () => {
  it("is the last expression, else what was printed, else a hint to show something", async () => {
    const cells: Readonly<Record<string, CellBehaviour>> = {
      "1 + 1": () => ({ value: cellValue(2) }),
      "print(3)": (_cell, _host, { print }) => print("3"),
      "x = 4": () => undefined,
    };
    const { loop } = await makeCells(cells);
    expect(isFinished(await loop.run())).toBe(true);
    const [value, printed, nothing] = await results(loop);
    expect(value).toMatchObject({ status: "ok", text: "2", source: "workspace" });
    expect(printed?.text).toBe("3");
    expect(nothing?.text).toContain("showed nothing");
  });

  it("is told line by line to whoever watches, and then as a whole", async () => {
    const lines: string[] = [];
    const two: CellBehaviour = (_cell, _host, { print }) => ["one", "two"].forEach(print);
    const { loop } = await makeCells({ two }, ["two"], { cells: { onPrinted: (line) => void lines.push(line) } });
    await loop.run();
    expect(lines).toEqual(["one", "two"]);
    expect((await results(loop))[0]?.text).toBe("one\ntwo");
  });

  it.each(["error", "syntax"] as const)(
    "shows the line that failed (%s), the message and what had been printed",
    async (kind) => {
      const problem = { type: "ZeroDivisionError", message: "division by zero", line: 2, source: "  y = 1 / 0" };
      const broken: CellBehaviour = (_cell, _host, { print }) => {
        print("before");
        return failedCell({ kind, ...problem });
      };
      const { loop } = await afterRun(makeCells({ broken }));
      const text = "ZeroDivisionError: division by zero\nLine 2: y = 1 / 0\nIt had printed:\nbefore";
      expect((await results(loop))[0]).toMatchObject({ status: "failed", code: "cell-failed", text });
    },
  );

  it("says what the sandbox lacks instead of time zones", async () => {
    const broken: CellBehaviour = () => failedCell({ kind: "error", type: "ZoneInfoNotFoundError", message: "None." });
    const { loop } = await afterRun(makeCells({ broken }));
    expect((await textsOf(loop))[0]).toMatch(
      /\nThe sandbox has no time zones: use datetime\.timezone with an offset\.$/,
    );
  });

  it("names only names that were not lost before", async () => {
    const lost = [{ name: "gen", reason: "a generator cannot be kept" }];
    const { loop } = await afterRun(makeCells({ one: () => ({ lost }), two: () => ({ lost }) }, ["one", "two"]));
    const [first, second] = await textsOf(loop);
    expect(first).toContain("gen (a generator cannot be kept)");
    expect(second).not.toContain("gen");
  });

  it("names the variables that are gone, and the next cell starts without them", async () => {
    const gone = ["x", "y"];
    const saved = { version: "c2#1", definitions: [], values: {} };
    const made = await makeCells(
      {
        set: (_cell, _host, { names }) => void names.set("x", 1),
        died: () => ({ ...failedCell({ kind: "died", message: "The process ended." }), saved, gone }),
        next: (_cell, _host, { names }) => ({ value: cellValue([...names.keys()]) }),
      },
      ["set", "died", "next"],
    );
    await runWithoutProcesses(made);
    const [, died, next] = await textsOf(made.loop);
    expect(died).toContain("Your variables could not be loaded and are gone: x and y.");
    expect(died).not.toContain("The names are those from before");
    expect(next).toBe("[]");
  });

  it("ends the work when the code calls stop", async () => {
    const { loop } = await makeCells({ end: () => ({ stop: {}, value: cellValue("All done.") }) });
    const state = await loop.run();
    expect(isFinished(state)).toBe(true);
    expect(loop.model.requests).toHaveLength(1);
  });
});

describe("cells that fail", () => {
  const good: CellBehaviour = () => ({ value: cellValue(1) });
  const lacks =
    (type: string): CellBehaviour =>
    () =>
      failedCell({ type, message: "It is not available in the sandbox." });
  const missing = lacks("ModuleNotFoundError");
  const os = lacks("ImportError");
  const refused: CellBehaviour = () =>
    failedCell({ type: "CommandError", command: { code: "denied", text: "It was not run." } });

  const [FAILED, IMPORT, DENIED] = ["cell-failed", "import-failed", "cell-denied"];
  it.each<[when: string, cells: Readonly<Record<string, CellBehaviour>>, codes: readonly unknown[]]>([
    ["one in between worked", { a: bad, b: bad, good, c: bad, d: bad }, [FAILED, FAILED, undefined, FAILED, FAILED]],
    ["they failed at an import", { a: bad, missing, os, again: os, b: bad }, [FAILED, IMPORT, IMPORT, IMPORT, FAILED]],
    [
      "they were refused",
      { a: bad, refused, b: refused, c: refused, d: bad },
      [FAILED, DENIED, DENIED, DENIED, FAILED],
    ],
  ])("do not pause the agent when %s", async (_when, cells, codes) => {
    const { loop } = await makeCells(cells);
    expect(isFinished(await loop.run())).toBe(true);
    expect((await results(loop)).map(({ code }) => code)).toEqual([...codes, undefined]);
  });

  it("pause the agent when three in a row failed, imports apart, and the second of them warns of the third", async () => {
    const cells = { a: bad, pandas: lacks("ImportError"), b: bad, c: bad };
    const { loop } = await makeCells(cells);
    expect((await loop.run()).paused).toMatchObject({ code: "failing-cells" });
    const warned = (await textsOf(loop)).map((text) => text.includes("One more failure in a row pauses you."));
    expect(warned).toEqual([false, false, true, false]);
  });

  it("pause the agent when the same one comes five times in a row", async () => {
    const codes = Array.from({ length: 6 }, () => "pandas");
    const { loop } = await makeCells({ pandas: missing }, codes);
    expect((await loop.run()).paused).toMatchObject({ code: "loop" });
  });

  it.each(["json", "tools", "plan", "code", "react"] as const)(
    "are foreseen: the prompt of the form %s says once what the machine has",
    async (form) => {
      const { loop } = await afterRun(makeCells({}, [], { settings: { form, stepLimit: 1 } }));
      const { messages, tools } = loop.model.requests[0] ?? {};
      const told = JSON.stringify({ messages, tools });
      const words = form === "react" ? /Nothing can be imported/g : /standard library[,;] (?:there are )?no packages/g;
      expect(told.match(words)).toHaveLength(1);
      expect(told.match(/no network(?: or|,? and no) shell|no packages, network or shell/g)).toHaveLength(1);
    },
  );
});

describe("a namespace", () => {
  const counting: CellBehaviour = (_cell, _host, { names }) => {
    names.set("x", Number(names.get("x") ?? 40) + 1);
    return { value: cellValue(names.get("x")) };
  };

  it("lasts from cell to cell, also when the process has ended", async () => {
    const cells = { count: counting, end: () => undefined, again: counting };
    const made = await makeCells(cells);
    await runWithoutProcesses(made);
    expect((await textsOf(made.loop))[2]).toBe("42");
    expect(made.sandbox.cells.map(({ saved }) => saved?.version ?? null)).toEqual([null, "c1#1", "c2#1"]);
  });

  it("is that from before a cell whose process died", async () => {
    const die: CellBehaviour = () => ({ ...failedCell({ kind: "died" }), saved: null });
    const { loop } = await afterRun(makeCells({ count: counting, die, again: counting }, ["count", "die", "again"]));
    const texts = await textsOf(loop);
    expect(texts[1]).toContain("The names are those from before this code.");
    expect(texts[2]).toBe("42");
  });
});

describe("a call from code", () => {
  it("is a call of its own in the log, and code gets its value", async () => {
    const write: CellBehaviour = async (_cell, _host, { call }) => ({
      value: cellValue(await call("write_to_file", { file: "a.txt", text: "abc" })),
    });
    const { loop } = await afterRun(makeCells({ write }));
    expect([loop.text("a.txt"), (await textsOf(loop))[0]]).toEqual(["abc", "a.txt"]);
    const nested = (await loop.events()).filter((event) => "callId" in event && event.callId === "c1.1");
    const call = ["requested", "approved", "started", "finished"].map((what) => `command-${what}`);
    expect(nested.map(({ type }) => type)).toEqual(["frame-pushed", ...call, "frame-popped"]);
  });

  it("raises an error with the command's code, which code may catch", async () => {
    const caught: unknown[] = [];
    const read: CellBehaviour = async (_cell, _host, { call }) => {
      await call("read_file", { file: "none.txt" }).catch((error) => caught.push(error.command));
      return { value: cellValue("went on") };
    };
    const { loop } = await afterRun(makeCells({ read }));
    expect(caught).toEqual([{ code: "file-missing", text: expect.stringContaining("none.txt") }]);
    expect((await textsOf(loop))[0]).toBe("went on");
  });

  it.each(["save_files", "task_complete", "nothing"])("does not reach %s", async (name) => {
    const told: unknown[] = [];
    const go: CellBehaviour = async (_cell, host) => void told.push(await host.call(name, { files: [] }));
    await afterRun(makeCells({ go }));
    expect(told).toMatchObject([{ error: { code: "no-such-command" } }]);
  });

  it("may be made 1,000 times by one cell, and then fails in words", async () => {
    const answers: string[] = [];
    const many: CellBehaviour = async (_cell, host) => {
      for (let made = 0; made < 1_001; made++) {
        const answer = await host.call("do_nothing", {});
        answers.push("error" in answer ? `${answer.error.code} ${answer.error.text}` : "ok");
      }
      await host.saveFiles([{ path: "made.txt", bytes: bytesOf("made") }]);
    };
    const { loop } = await afterRun(makeCells({ many }));
    expect(answers.filter((answer) => answer === "ok")).toHaveLength(1_000);
    expect(answers.at(-1)).toMatch(/^too-many A command may nest 1000 calls/);
    // What it wrote is saved none the less.
    expect(loop.text("made.txt")).toBe("made");
  });
});

describe("save_files", () => {
  it("is not offered to the model, and is refused when a reply names it", async () => {
    const { loop } = await afterRun(makeCells({}, [], { script: [reply("save_files", { files: [] }), done()] }));
    expect(JSON.stringify(loop.model.requests[0])).not.toContain("save_files");
    expect(await loop.of("reply-rejected")).toHaveLength(1);
  });

  it("does nothing for a command that is not a cell", async () => {
    const sneak = outerCommand(({ call }) => call("save_files", { files: [{ path: "a.txt", removed: true }] }));
    const { loop } = await makeCells({}, [], { script: [reply("outer"), done()], commands: [sneak] });
    loop.files.set("a.txt", Buffer.from("kept"));
    await loop.run();
    expect((await textsOf(loop))[0]).toContain("a step of a cell");
    expect(loop.text("a.txt")).toBe("kept");
  });
});

describe("files that a cell changes", () => {
  const saveAll =
    (paths: readonly string[]): CellBehaviour =>
    async (_cell, host) =>
      void (await host.saveFiles(paths.map((path) => ({ path, bytes: bytesOf("new") }))));
  const save =
    (path: string, text: string | null): CellBehaviour =>
    async (_cell, host: CellBridge) => {
      const saved = await host.saveFiles([{ path, bytes: text === null ? null : bytesOf(text) }]);
      return { value: cellValue("error" in saved ? saved.error : "saved") };
    };

  it.each(["never", "risky", "always"] as const)("are saved without a further question in %s", async (approve) => {
    const { loop } = await makeCells({ save: save("out/a.txt", "new") }, ["save"], { settings: { approve } });
    loop.files.set("out/a.txt", Buffer.from("old"));
    const state = await loop.run({ ask: async () => ({ kind: "approved", count: 1 }) });
    expect(loop.text("out/a.txt")).toBe("new");
    const asked = (await loop.of("approval-asked")).map(({ callId }) => callId);
    expect(asked).toEqual(approve === "always" ? ["c1", "c2"] : []);
    expect(isFinished(state)).toBe(true);
    const versions = await loop.store.files(loop.row.id);
    expect(versions.map(({ operation }) => operation)).toEqual(["found", "write"]);
  });

  it("are artifacts, and a picture is named", async () => {
    const { loop } = await afterRun(makeCells({ plot: save("chart.svg", "<svg/>") }));
    const text = expect.stringContaining("Pictures: chart.svg.");
    expect((await results(loop))[0]).toMatchObject({ artifacts: ["chart.svg"], text });
  });

  it("are removed when code removes them", async () => {
    const { loop } = await makeCells({ remove: save("a.txt", null) });
    loop.files.set("a.txt", Buffer.from("old"));
    await loop.run();
    expect(loop.text("a.txt")).toBeUndefined();
  });

  it("ask a person when others run them, and are refused when nobody can be asked", async () => {
    const { loop } = await afterRun(makeCells({ save: save(".envrc", "rm -rf /") }));
    expect(loop.text(".envrc")).toBeUndefined();
    expect((await textsOf(loop))[0]).toContain("direnv");

    const settings = { approve: "risky" } as const;
    const asking = await afterRun(makeCells({ save: save(".envrc", "export A=1") }, ["save"], { settings }));
    const [asked] = await asking.loop.of("approval-asked");
    expect(asked).toMatchObject({ callId: "c1.1", reason: expect.stringContaining("direnv") });

    const harmless = await afterRun(makeCells({ save: save("package.json", '{"name":"a"}') }));
    expect((await harmless.loop.of("command-requested"))[1]).toMatchObject({ call: { name: "save_files" } });
  });

  it("are refused where the workspace refuses them, and the others are saved", async () => {
    const told: unknown[] = [];
    const files = [".git/hooks/pre-commit", "../up.txt", "fine.txt"].map((path) => ({ path, bytes: bytesOf("x") }));
    const { loop } = await makeCells({ save: async (_cell, host) => void told.push(await host.saveFiles(files)) }, [
      "save",
    ]);
    await loop.run();
    const text = expect.stringMatching(/\.git\/hooks[\s\S]*up\.txt[\s\S]* Use a relative path inside the workspace/);
    expect(told).toMatchObject([{ error: { code: "files-not-saved", text } }]);
    expect([...loop.files.keys()]).toEqual(["fine.txt"]);
  });

  it("keep what they held, up to 2,000 files", async () => {
    const paths = Array.from({ length: 2_003 }, (_, at) => `f${String(at).padStart(4, "0")}.txt`);
    const { loop } = await makeCells({ save: saveAll(paths) });
    for (const path of paths) loop.files.set(path, Buffer.from("old"));
    await loop.run();
    expect((await textsOf(loop))[0]).toContain(
      "What they held before cannot be restored: f2000.txt, f2001.txt, f2002.txt.",
    );
    const kept = (await loop.store.files(loop.row.id)).filter(({ operation }) => operation === "found");
    expect(kept).toHaveLength(2_000);
  });

  it("keep what they held, up to 64 MB, and the result says what cannot be restored", async () => {
    const paths = ["a.bin", "b.bin", "c.bin"];
    const { loop } = await makeCells({ save: saveAll(paths) });
    for (const path of paths) loop.files.set(path, Buffer.alloc(30 * 1024 * 1024, path));
    await loop.run();
    expect((await textsOf(loop))[0]).toContain("What it held before cannot be restored: c.bin.");
    expect(loop.text("c.bin")).toBe("new");
  });
});

it("three failing cells of a sub-task end it with a typed error, and the agent goes on", async () => {
  const caught: unknown[] = [];
  const ask: CellBehaviour = async (_cell, _host, { run }) => {
    await run("Compute it.").catch((error) => caught.push(error.command));
    return { value: cellValue("went on") };
  };
  const { loop } = await makeCells({ ask, a: bad, b: bad, c: bad });
  expect(isFinished(await loop.run())).toBe(true);
  expect(caught).toMatchObject([{ code: "failing-cells" }]);
  const failed = (await loop.results()).filter(({ status }) => status === "failed");
  const warned = failed.map(({ text }) => String(text).includes("One more failure in a row ends this sub-task."));
  expect(warned).toEqual([false, true, false]);
});

it.each([
  ["strict", false],
  ["degraded", true],
] as const)("a cell in a cage that is %s asks in risky: %s", async (level, isAsked) => {
  const sandbox = createFakeSandbox({ x: () => undefined }, { finding: { level, reason: "It is so." } });
  const settings = { approve: "risky" } as const;
  const loop = await afterRun(makeLoop({ script: [cell("x"), done()], sandbox, settings }));
  const asked = (await loop.of("approval-asked")).map(({ reason }) => reason);
  expect(asked).toEqual(isAsked ? ["It runs code that only goald's own checks hold. It is so."] : []);
});

const folder = useFolder();

it("files that code sees have another stamp after a write of the same size within a millisecond", async () => {
  const workspace = openLocalWorkspace(folder());
  const commands = { functionsFor: () => ({ all: [], callOf: () => undefined }) };
  const parts = { context: { workspace }, commands, cells: {} };
  const host = openCellBridge(parts as unknown as Parameters<typeof openCellBridge>[0]);
  const time = new Date("2026-01-01T00:00:00.000Z");
  const write = async (text: string): Promise<string | undefined> => {
    await workspace.write("a.txt", text);
    await utimes(folder("a.txt"), time, time);
    return (await host.listFiles()).files[0]?.stamp;
  };
  const first = await write("one");
  // A second write could get the inode that the first one has freed.
  await workspace.write("b.txt", "");
  expect(await write("two")).not.toBe(first);
});

/** Appends three lines by commands, saves a file, and counts its own runs in the namespace. */
const work: CellBehaviour = async ({ seed, startedAt }, host, { call, names }) => {
  names.set("runs", Number(names.get("runs") ?? 0) + 1);
  for (const line of ["one", "two", "three"]) await call("append_to_file", { file: "lines.txt", text: `${line}\n` });
  await host.saveFiles([{ path: "made.txt", bytes: bytesOf(`${seed} ${startedAt}`) }]);
  await call("append_to_file", { file: "lines.txt", text: "four\n" });
  return { value: cellValue("This is the end.") };
};

/** The model runs `code` until the prompt shows its end. */
async function start(code: string, behaviour: CellBehaviour) {
  const sandbox = createFakeSandbox({ [code]: behaviour });
  const loop = await makeLoop({
    sandbox,
    script: ({ messages }) => (messages.some(({ content }) => content.includes("is the end")) ? done() : cell(code)),
  });
  return { sandbox, loop };
}

/** False when the run ended before that commit. */
async function survives(at: number, when: When): Promise<boolean> {
  const { sandbox, loop } = await start("work", work);
  const isCut = await loop.run({ store: cutPowerAt(at, when) }).then(
    () => false,
    (error) => error instanceof PowerCut,
  );
  sandbox.endProcesses();
  const state = await loop.run();
  expect([at, when, isFinished(state)]).toEqual([at, when, true]);
  expect(loop.text("lines.txt")).toBe("one\ntwo\nthree\nfour\n");
  const starts = new Set(sandbox.cells.map(({ seed, startedAt }) => `${seed} ${startedAt}`));
  expect([...starts]).toEqual([loop.text("made.txt")]);
  expect((await loop.of("namespace-saved")).at(-1)).toMatchObject({ values: { runs: "1" } });
  return isCut;
}

it("a cell whose process was killed runs again without repeating an effect, at every commit, with the same seed, time and namespace", async () => {
  let at = 1;
  for (let isCut = true; isCut; at++)
    isCut = [await survives(at, "before"), await survives(at, "after")].includes(true);
  expect(at).toBeGreaterThan(9);
});
