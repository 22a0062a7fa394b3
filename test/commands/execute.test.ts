import { describe, expect, it } from "@jest/globals";
import { checkWrite } from "#commands/call-result.ts";
import { type CallContext, prepareCall, probeCall, runCall } from "#commands/execute.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import { MAX_OBSERVATION_CHARS } from "#core/call.ts";
import { type Command, type CommandContext, succeed } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import { FACTS } from "../helpers/events.ts";
import { READS, testCommand } from "../helpers/loop.ts";
import { type Files, MemoryWorkspace } from "../helpers/memory-workspace.ts";

const command = (part: Partial<Command>): RegisteredCommand => ({
  ...testCommand("act", async () => succeed("done"), { annotations: FACTS, ...part }),
  group: "own",
  effect: "at-most-once",
  timeoutMs: part.timeoutMs ?? 5_000,
  needs: [],
});

function frame(of: RegisteredCommand, signal = new AbortController().signal): CallContext & { readonly files: Files } {
  const files: Files = new Map();
  return {
    command: of,
    args: {},
    callId: "c7",
    step: 7,
    agent: { id: "foo", name: "Foo", goals: [], checks: [] },
    folder: "/nowhere",
    openWorkspace: (_folder, onChange) => new MemoryWorkspace({ files, onChange }),
    openOwnWorkspace: (_folder, onChange) => new MemoryWorkspace({ files, onChange, own: true }),
    services: {},
    signal,
    files,
  };
}
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

describe("a command that fails returns an observation", () => {
  const missing = new GoaldError("GOALD_FILE_MISSING", "No a.txt.", { hint: "There is b.txt." });
  const stack = "Error: boom\n    at run (file:///home/commands/act.ts?changed=1:7:3)\n    at act.ts:9:1";
  it.each<[title: string, thrown: unknown, expected: object]>([
    ["an error with a code", missing, { code: "file-missing", text: "No a.txt. There is b.txt." }],
    ["a plain error", new Error("boom"), { code: "command-error", text: "act failed: boom" }],
    ["an error of its file", Object.assign(new Error("boom"), { stack }), { text: "act failed: boom (act.ts:7)" }],
    ["something that is not an error", "a string", { text: "act failed: a string" }],
  ])("%s", async (_title, thrown, expected) => {
    const { result } = await runCall(frame(command({ run: () => Promise.reject(thrown) })), null);
    expect(result).toMatchObject({ status: "failed", ...expected });
  });

  it("except that a full disk stops the agent", async () => {
    const full = command({ run: async () => Promise.reject(new GoaldError("GOALD_STORE_FULL", "No space.")) });
    await expect(runCall(frame(full), null)).rejects.toMatchObject({ code: "GOALD_STORE_FULL" });
  });
});

describe("the time limit", () => {
  it.each<[title: string, annotations: Command["annotations"], run: Command["run"], status: string]>([
    ["a reader that obeys its signal", READS, (_args, { signal }) => untilAborted(signal), "failed"],
    ["a reader that ignores its signal", READS, () => new Promise(() => undefined), "failed"],
    ["a writer, whose outcome is then unknown", FACTS, () => new Promise(() => undefined), "unknown"],
  ])("applies to %s", async (_title, annotations, run, status) => {
    const slow = command({ annotations, timeoutMs: 30, run });
    expect((await runCall(frame(slow), null)).result).toMatchObject({ status, code: "timeout" });
  });

  it("is cut short when the host aborts", async () => {
    const controller = new AbortController();
    const running = runCall(frame(command({ run: () => new Promise(() => undefined) }), controller.signal), null);
    controller.abort(new Error("going down"));
    await expect(running).rejects.toThrow("going down");
  });
});

describe("the output of a call", () => {
  it("contains its files with their content, and its staged writes", async () => {
    const writer = command({
      run: async (_args, { workspace, stage }) => {
        await workspace.write("a.txt", "one");
        stage({ kind: "memory", text: "noted", importance: 1, memoryKind: "fact" });
        return succeed("done");
      },
    });
    const { files, staged } = await runCall(frame(writer), null);
    expect(files).toMatchObject([{ path: "a.txt", operation: "write", bytes: 3 }]);
    expect(staged).toHaveLength(1);
  });

  it("goes to a file when it is too long, and shows its beginning and end", async () => {
    const text = `begin${"x".repeat(MAX_OBSERVATION_CHARS)}end`;
    const call = frame(command({ run: async () => succeed(text) }));
    const { result, files } = await runCall(call, null);
    expect(Buffer.from(call.files.get("_goald/outputs/c7.txt") ?? []).toString()).toBe(text);
    expect(files.map((file) => file.path)).toEqual(["_goald/outputs/c7.txt"]);
    expect(result).toMatchObject({
      text: expect.stringMatching(/^begin[\s\S]*end\n\[20,?008|^begin[\s\S]*_goald\/outputs\/c7\.txt/),
    });
    expect("text" in result && (result.text as string).length).toBeLessThanOrEqual(MAX_OBSERVATION_CHARS);
  });
});

describe("preparing and probing", () => {
  it("records what prepare returns, without a promise too, and null without one", async () => {
    for (const prepare of [async () => ({ bytes: 3 }), (() => ({ bytes: 3 })) as unknown as () => Promise<unknown>])
      expect((await prepareCall(frame(command({ prepare })))).result).toEqual({ prepared: { bytes: 3 } });
    expect((await prepareCall(frame(command({})))).result).toEqual({ prepared: null });
    // What prepare refuses does not start.
    const refusing = command({ prepare: () => Promise.reject(new GoaldError("GOALD_PATH_REFUSED", "Not there.")) });
    const refused = { status: "failed", code: "path-refused" };
    expect((await prepareCall(frame(refusing))).result).toMatchObject({ refused });
  });
  it.each<[Command["probe"], string]>([
    [async () => "done", "done"],
    [async () => "not-done", "not-done"],
    [async () => Promise.reject(new Error("cannot look")), "unknown"],
    [undefined, "unknown"],
  ])("case %#: a probe returns %s", async (probe, expected) => {
    expect((await probeCall(frame(command(probe ? { probe } : {})), null)).result.found).toBe(expected);
  });

  const CHANGES: [title: string, change: (context: CommandContext) => unknown][] = [
    ["write", ({ workspace }) => workspace.write("a.txt", "new")],
    ["append", ({ workspace }) => workspace.append("a.txt", "new")],
    ["truncate", ({ workspace }) => workspace.truncate("a.txt", 0)],
    ["remove", ({ workspace }) => workspace.remove("a.txt")],
    ["move", ({ workspace }) => workspace.move("a.txt", "b.txt")],
    ["place a folder", ({ workspace }) => workspace.place("folder", async () => undefined)],
    ["stage a write", ({ stage }) => stage({ kind: "memory", text: "x", importance: 1, memoryKind: "fact" })],
  ];

  it.each(CHANGES)(
    "prepare and probe cannot %s: the command does not run, its outcome is unknown, and both name the rule",
    async (_title, change) => {
      const act = async (_args: unknown, context: CommandContext) => {
        await change(context);
        return "done" as const;
      };
      const call = frame(command({ prepare: act, probe: act }));
      call.files.set("a.txt", Buffer.from("old"));
      const [prepared, probed] = [await prepareCall(call), await probeCall(call, null)];
      const text = expect.stringMatching(/in prepare, which may only read/);
      expect(prepared.result).toMatchObject({ refused: { status: "failed", code: "command-invalid", text } });
      const problem = expect.stringMatching(/in probe, which may only read/);
      expect(probed.result).toEqual({ found: "unknown", problem });
      for (const { files, staged } of [prepared, probed]) expect([files, staged]).toEqual([[], []]);
      expect([call.files.size, call.files.get("a.txt")?.toString()]).toEqual([1, "old"]);
    },
  );

  it("prepare and probe may preserve a file", async () => {
    const preserve = async (_args: unknown, { workspace }: CommandContext) => workspace.preserve("a.txt");
    const probe = async (args: unknown, context: CommandContext) => {
      await preserve(args, context);
      return "done" as const;
    };
    const call = frame(command({ prepare: preserve, probe }));
    call.files.set("a.txt", Buffer.from("old"));
    expect((await prepareCall(call)).files).toHaveLength(1);
    expect(await probeCall(call, null)).toMatchObject({ result: { found: "done" }, files: [{}] });
  });
});

const check = (write: object) => () => checkWrite("mine", write as never);

describe("a change of the plan that a command stages", () => {
  it.each<[string, object]>([
    ["a task", { kind: "task-added", parent: "0", task: { goal: "x".repeat(500) } }],
    ["a task with subtasks", { kind: "task-added", parent: "0.1", task: { goal: "a", subtasks: [{ goal: "b" }] } }],
    ["a state", { kind: "task-changed", id: "0.1", state: "abandoned" }],
    ["proofs", { kind: "goals-checked", results: [{ check: 0, isPassed: false, proof: "It is missing." }] }],
  ])("is accepted: %s", (_title, write) => {
    expect(check(write)).not.toThrow();
  });

  it.each<[string, object]>([
    ["a task without a parent", { kind: "task-added", task: { goal: "a" } }],
    ["no task", { kind: "task-added", parent: "0" }],
    [
      "a goal that is too long for the log's events",
      { kind: "task-added", parent: "0", task: { goal: "x".repeat(501) } },
    ],
    ["subtasks that are no list", { kind: "task-added", parent: "0", task: { goal: "a", subtasks: { goal: "b" } } }],
    ["a subtask without a goal", { kind: "task-added", parent: "0", task: { goal: "a", subtasks: [{}] } }],
    ["an id that is no text", { kind: "task-changed", id: 0, state: "open" }],
    ["an unknown state", { kind: "task-changed", id: "0", state: "done" }],
    ["results that are no list", { kind: "goals-checked", results: null }],
    ["a result without a proof", { kind: "goals-checked", results: [{ check: 0, isPassed: true }] }],
  ])("is refused: %s", (_title, write) => {
    expect(check(write)).toThrow(/^mine staged an invalid write: .{10}/);
  });
});
