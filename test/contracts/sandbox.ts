/** sandbox.ts -- what every sandbox does, whatever runs the cells. A fake has a behaviour for each code. */
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Cell, CellBridge, CellOutcome, Sandbox, SavedNamespace } from "#core/ports/sandbox.ts";
import { cellOf } from "../helpers/fake-sandbox.ts";
import { PYTHON } from "../helpers/python-process.ts";

type Commands = Partial<CellBridge>;
/** The host of a cell that has no files, and whose commands and tasks give nothing. */
export const NOTHING_HERE: CellBridge = {
  call: async () => ({ value: null, changesFiles: false }),
  run: async () => ({ value: null }),
  listFiles: async () => ({ files: [], isComplete: true }),
  readFile: async () => ({ error: { code: "file-missing", text: "There is no such file." } }),
  saveFiles: async () => ({ value: null }),
};
const ALL_COMMANDS: CellBridge = {
  ...NOTHING_HERE,
  call: async (name, args) =>
    name === "echo"
      ? { value: args.text, changesFiles: false }
      : { error: { code: "refused", text: "It was refused." }, changesFiles: false },
  run: async () => ({ value: 41 }),
};
const parameter = (name: string) => ({ name, isRequired: true });
const FUNCTIONS = [
  { name: "echo", parameters: [parameter("text")], signature: "echo(text: str) -> str", doc: "Returns the text." },
  { name: "refuse", parameters: [], signature: "refuse() -> str", doc: "Fails." },
];

/** `open` returns a sandbox of at most two processes. */
export function describeSandbox(title: string, open: () => Sandbox | Promise<Sandbox>): void {
  describe(title, () => {
    let sandbox: Sandbox;
    let number = 0;
    const opened: Sandbox[] = [];
    const { signal } = new AbortController();
    const reopen = async (): Promise<void> => {
      sandbox = await open();
      opened.push(sandbox);
    };
    const cell = (code: string, saved: SavedNamespace | null, more: Partial<Cell> = {}): Cell => {
      number += 1;
      const own = { name: `cell c${number}`, version: `c${number}.1`, saved, functions: FUNCTIONS, hasStop: true };
      return cellOf(code, { ...own, ...more });
    };
    /** What the last cell saved, so that most tests need no new process. */
    let latest: SavedNamespace | null = null;
    const run = async (code: string, saved = latest, more: Partial<Cell> = {}, host: Commands = {}) => {
      const outcome = await sandbox.run(cell(code, saved, more), { ...ALL_COMMANDS, ...host }, signal);
      if (more.agent === undefined) latest = outcome.saved ?? latest;
      return outcome;
    };
    /** Runs code that must end well. */
    const done = async (...given: Parameters<typeof run>) => {
      const outcome = await run(...given);
      if (outcome.kind !== "done") throw new Error(`${outcome.problem.type}: ${outcome.problem.message}`);
      return outcome;
    };
    const resultOf = async (...given: Parameters<typeof run>) => (await done(...given)).value?.json;
    const failed = async (...given: Parameters<typeof run>) => {
      const outcome = await run(...given);
      if (outcome.kind !== "failed") throw new Error(`Expected a failure, not ${outcome.value?.text}.`);
      return outcome;
    };

    beforeEach(async () => {
      number += 100;
      if (opened.length === 0) await reopen();
    });
    afterAll(() => Promise.all(opened.map((one) => one.close())));

    it("keeps names from cell to cell, and goes back to the namespace that it is given", async () => {
      const before = await done(PYTHON.setX);
      expect(before.value).toBeNull();
      const second = await done(PYTHON.readX, before.saved);
      expect(second).toMatchObject({ value: { text: "42", json: 42 }, output: "" });
      const after = await failed(PYTHON.setXAndFail, before.saved);
      expect(await resultOf(PYTHON.readX, after.saved)).toBe(2);
      expect(await resultOf(PYTHON.readX, before.saved)).toBe(42);
    });

    it("keeps functions, and values, after the end of every process", async () => {
      const first = await done(PYTHON.setX);
      const second = await done(PYTHON.defineDouble, first.saved);
      await sandbox.close();
      await reopen();
      expect(await resultOf(PYTHON.readX, second.saved)).toBe(42);
      expect(await resultOf(PYTHON.callDouble, second.saved)).toBe(42);
    });

    it("starts with an empty namespace when nothing was saved, and gives each agent its own", async () => {
      const { saved } = await done(PYTHON.setX);
      expect((await failed(PYTHON.readX, null)).problem.missingName).toBe("x");
      expect((await failed(PYTHON.readX, null, { agent: "bob" })).problem.missingName).toBe("x");
      expect(await resultOf(PYTHON.readX, saved)).toBe(42);
    });

    it("runs a cell that is alone in a namespace that nothing comes into or out of, also inside a wait", async () => {
      const { saved } = await done(PYTHON.setX);
      const alone = { agent: "alice", isAlone: true };
      let missing: string | undefined;
      const host: Commands = {
        run: async () => {
          await done(PYTHON.setX, null, alone);
          missing = (await failed(PYTHON.readX, null, alone)).problem.missingName;
          return { value: 1 };
        },
      };
      expect(await resultOf(PYTHON.runNest, saved, {}, host)).toBe(1);
      expect(missing).toBe("x");
      expect((await failed(PYTHON.readX, null, alone)).problem.missingName).toBe("x");
      expect(await resultOf(PYTHON.readX)).toBe(2);
    });

    it("shows what code prints while it runs, to a host that watches", async () => {
      const lines: string[] = [];
      const outcome = await done(PYTHON.print, latest, {}, { show: (line) => void lines.push(line) });
      expect(lines).toEqual(["hello"]);
      expect(outcome.output).toBe("hello\n");
    });

    it("raises the failure of a command, which code may catch", async () => {
      const refusal = { code: "refused", text: "It was refused." };
      const { problem } = await failed(PYTHON.refuse);
      expect(problem).toMatchObject({ type: "CommandError", message: refusal.text, command: refusal });
      expect(await resultOf(PYTHON.catchRefusal)).toEqual([refusal.code, refusal.text]);
    });

    it("gives the model a task with a typed result", async () => {
      const asked: unknown[] = [];
      const host: Commands = {
        run: async (...given) => {
          asked.push(given);
          return { value: 41 };
        },
      };
      expect(await resultOf(PYTHON.runCount, latest, {}, host)).toBe(42);
      expect(asked).toEqual([["count", expect.objectContaining({ type: "number" }), null]]);
    });

    it("runs a nested cell in the same namespace, and redoes what that changed in a repeated cell", async () => {
      let nested: CellOutcome | undefined;
      const nest: Commands = {
        run: async () => {
          nested = await run(PYTHON.setX);
          return { value: 0 };
        },
      };
      const outer = await done(PYTHON.runNest, latest, {}, nest);
      expect([outer.value?.json, outer.change]).toEqual([41, undefined]);
      const change = nested?.change;
      expect(Object.keys(change?.values ?? {})).toEqual(["x"]);
      expect(await resultOf(PYTHON.readX, outer.saved)).toBe(42);
      await sandbox.close();
      await reopen();
      const redo: Commands = { run: async () => ({ value: 0, ...(change ? { change } : {}) }) };
      expect(await resultOf(PYTHON.runNest, null, {}, redo)).toBe(41);
      expect(await resultOf(PYTHON.runNest, latest, {}, { run: async () => ({ value: 0 }) })).toBe(1);
    });

    it("does not count the time of commands", async () => {
      const call: CellBridge["call"] = async (_name, { text }) => {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        return { value: text, changesFiles: false };
      };
      const first = await done(PYTHON.setX);
      expect(await resultOf(PYTHON.echo, first.saved, { timeLimitMs: 1_000 }, { call })).toBe("hi");
    });

    it("passes on what a method of the host rejects with, and the next cell works", async () => {
      const first = await done(PYTHON.setX);
      const reason = new Error("The store is gone.");
      await expect(run(PYTHON.echo, first.saved, {}, { call: () => Promise.reject(reason) })).rejects.toBe(reason);
      expect(await resultOf(PYTHON.readX, first.saved)).toBe(42);
    });

    it("ends a cell when its signal is aborted", async () => {
      const abort = new AbortController();
      const call = (): Promise<never> => {
        abort.abort(new Error("Enough."));
        return new Promise(() => undefined);
      };
      const host = { ...ALL_COMMANDS, call };
      await expect(sandbox.run(cell(PYTHON.echo, latest), host, abort.signal)).rejects.toThrow("Enough.");
      expect(await resultOf(PYTHON.echo)).toBe("hi");
    });

    it("does not end the work when only a nested cell asks for it", async () => {
      let nested: CellOutcome | undefined;
      const host: Commands = {
        run: async () => {
          nested = await run(PYTHON.stop);
          return { value: 0 };
        },
      };
      expect(await done(PYTHON.runNest, latest, {}, host)).toMatchObject({ value: { json: 1 }, stop: null });
      expect(nested).toMatchObject({ kind: "done", stop: { value: { done: true } } });
    });

    it("lets cells wait for a free process, and says so", async () => {
      const released = Promise.withResolvers<void>();
      const running = Promise.withResolvers<void>();
      let started = 0;
      const call: CellBridge["call"] = async () => {
        started += 1;
        if (started === 2) running.resolve();
        await released.promise;
        return { value: "hi", changesFiles: false };
      };
      const busy = ["bob", "carol"].map((agent) => resultOf(PYTHON.echo, null, { agent }, { call }));
      await running.promise;
      const waiting = resultOf(PYTHON.echo, null, { agent: "dave" });
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(sandbox.isCrowded).toBe(true);
      released.resolve();
      expect(await Promise.all([...busy, waiting])).toEqual(["hi", "hi", "hi"]);
      expect(sandbox.isCrowded).toBe(false);
    });
  });
}
