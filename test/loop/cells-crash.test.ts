import { describe, expect, it } from "@jest/globals";
import type { SavedNamespace } from "#core/ports/sandbox.ts";
import { isFinished } from "#core/state.ts";
import { type CellBehaviour, cellValue, createFakeSandbox } from "../helpers/fake-sandbox.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";
import { cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const cell = (code: string): string => reply("run_code", { code });

/** Appends three lines by commands, saves a file, and counts its own runs in the namespace. */
const work: CellBehaviour = async ({ seed, startedAt }, host, { call, names }) => {
  names.set("runs", Number(names.get("runs") ?? 0) + 1);
  for (const line of ["one", "two", "three"]) await call("append_to_file", { file: "lines.txt", text: `${line}\n` });
  await host.saveFiles([{ path: "made.txt", bytes: bytes(`${seed} ${startedAt}`) }]);
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

async function lastNamespace(loop: Loop): Promise<SavedNamespace | undefined> {
  const saved = (await loop.of("namespace-saved")).at(-1);
  return saved as SavedNamespace | undefined;
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
  expect((await lastNamespace(loop))?.values).toEqual({ runs: "1" });
  return isCut;
}

describe("a cell whose process was killed", () => {
  it("runs again without repeating an effect, at every commit, with the same seed, time and namespace", async () => {
    let at = 1;
    for (; ; at++) {
      const cuts: boolean[] = [];
      for (const when of ["before", "after"] as const) cuts.push(await survives(at, when));
      if (!cuts.some((isCut) => isCut)) break;
    }
    expect(at).toBeGreaterThan(8);
  });

  it("has an unknown outcome when it takes another way the second time", async () => {
    const statuses = new Set<string>();
    let isCut = true;
    for (let at = 1; isCut; at++) {
      let runs = 0;
      const { sandbox, loop } = await start("fickle", async (_cell, _host, { call }) => {
        await call("append_to_file", { file: "lines.txt", text: `run ${++runs}\n` });
        await call("append_to_file", { file: "lines.txt", text: "end\n" });
        return { value: cellValue("This is the end.") };
      });
      isCut = await loop.run({ store: cutPowerAt(at, "after") }).then(
        () => false,
        () => true,
      );
      sandbox.endProcesses();
      // The model calls it again after an unknown outcome.
      await loop.run();
      const ends = (await loop.events()).filter((event) => event.type === "command-finished" && event.callId === "c1");
      expect(ends).toHaveLength(1);
      for (const end of ends) if (end.type === "command-finished") statuses.add(end.observation.status);
      const [first] = (loop.text("lines.txt") ?? "").split("\n");
      expect(first).toMatch(/^run \d$/);
    }
    expect([...statuses].sort()).toEqual(["ok", "unknown"]);
  });
});
