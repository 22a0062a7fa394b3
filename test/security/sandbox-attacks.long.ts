/**
 * sandbox-attacks.long.ts -- hostile cells, strict and degraded, with all imports allowed, so that only the walls are tested.
 *
 * Rows of files, shells and git in attacks.json belong to suites of the workspace and of git.
 */
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createSandbox } from "#app/sandbox.ts";
import { probeCage } from "#cage/find-cage.ts";
import type { Cell, CellBridge, CellOutcome, Sandbox, SavedNamespace } from "#core/ports/sandbox.ts";
import { type AttackGround, openAttackGround } from "../helpers/attack-ground.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";

interface Attack {
  readonly id: string;
  readonly language: string;
  readonly code: string;
  readonly must: string;
}
/** A long code is stored in pieces, some of which are repeated. */
type StoredCode = string | readonly (string | { readonly text: string; readonly times: number })[];
type StoredAttack = Omit<Attack, "code"> & { readonly code: StoredCode };
const joinCode = (code: StoredCode): string =>
  typeof code === "string"
    ? code
    : code.map((piece) => (typeof piece === "string" ? piece : piece.text.repeat(piece.times))).join("");
const readRows = (name: string): readonly Attack[] => {
  const rows = JSON.parse(readFileSync(new URL(`../data/${name}`, import.meta.url), "utf8")) as StoredAttack[];
  return rows.map((row) => ({ ...row, code: joinCode(row.code) }));
};
const ROWS = [...readRows("attacks.json"), ...readRows("more_attacks.json")];

const TIME_LIMIT_MS = 1_500;
/** Python's start is part of a cell's time. */
const HARMLESS_LIMIT_MS = 30_000;
const MAX_CALLS = 1_000;
const MAX_DEPTH = 8;
/** The aim is 100 ms. Code that blocks the host, or is not stopped, takes much longer than a busy machine does. */
const MAX_LATE_MS = 10_000;
const MAX_DELAY_MS = 10_000;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

for (const level of findLevelsHere().filter((one) => one !== "off"))
  describe(`attacks in Python, in a cage that is ${level}`, () => {
    const attacks = ROWS.filter((row) => row.language === "python");
    const delays = monitorEventLoopDelay({ resolution: 5 });
    const late: number[] = [];
    const worstDelays = new Map<string, number>();
    let ground: AttackGround;
    let sandbox: Sandbox;
    let saved: SavedNamespace | null = null;
    let [count, calls, depth] = [0, 0, 0];

    beforeAll(async () => {
      ground = await openAttackGround();
      const findCage = () => probeCage({ atMost: level });
      sandbox = createSandbox({ findCage, cacheFolder: ground.fill("{{OUT}}-cache"), memoryMegabytes: 256 });
      delays.enable();
    });
    afterAll(async () => {
      await sandbox.close();
      await ground.close();
      const spread = (given: number[]): string => {
        const sorted = given.toSorted((a, b) => a - b).map(Math.round);
        return `median ${sorted[sorted.length >> 1]}, most ${sorted.at(-1)} ms of ${sorted.length}`;
      };
      const [slowest] = [...worstDelays].toSorted(([, a], [, b]) => b - a);
      const delay = `delay of the host ${spread([...worstDelays.values()])} (${slowest?.[0]})`;
      console.info(`${level}: stopped late by ${spread(late)}; ${delay}`);
    });

    const run = async (code: string, timeLimitMs = TIME_LIMIT_MS): Promise<CellOutcome> => {
      count += 1;
      const cell: Cell = {
        ...{ agent: "mallory", code, name: `cell c${count}`, version: `c${count}`, saved, seed: count },
        ...{ startedAt: new Date().toISOString(), timeLimitMs, modules: [], imports: "all" },
        functions: [
          { name: "echo", parameters: [{ name: "value", isRequired: true }], signature: "echo(value)", doc: "" },
        ],
      };
      const outcome = await sandbox.run(cell, host(), new AbortController().signal);
      saved = outcome.saved ?? saved;
      return outcome;
    };
    const host = (): CellBridge => ({
      ...ground.files,
      call: async (_name, args) => {
        calls += 1;
        if (calls > MAX_CALLS)
          return { error: { code: "too-many-calls", text: "Too many calls." }, changesFiles: false };
        return { value: Object.values(args)[0] ?? null, changesFiles: false };
      },
      run: async (task) => {
        if (!task.includes("recurse")) return { value: "ok" };
        if (depth === MAX_DEPTH) return { error: { code: "too-deep", text: "Too deep." } };
        depth += 1;
        const inner = await run("agent.run('recurse forever')");
        depth -= 1;
        return inner.kind === "done" ? { value: "ok" } : { error: { code: "failed", text: inner.problem.message } };
      },
    });

    it.each(attacks)("$id: $must", async ({ id, code }) => {
      calls = 0;
      delays.reset();
      const outcome = await run(ground.fill(code));
      if (outcome.kind === "failed" && outcome.problem.message.includes("ran longer"))
        late.push(outcome.durationMs - TIME_LIMIT_MS);
      worstDelays.set(id, delays.max / 1e6);
      const { saved: _, ...told } = outcome;
      const text = JSON.stringify(told);
      expect(text).not.toContain(ground.secret);
      expect(text).not.toContain("root:x:0");
      expect(readable(outcome)).not.toMatch(CONTROLS);
      expect(text.length).toBeLessThan(400_000);
      expect(ground.findHarm()).toEqual([]);
      expect(delays.max / 1e6).toBeLessThan(MAX_DELAY_MS);
      expect(await run("20 + 22", HARMLESS_LIMIT_MS)).toMatchObject({ kind: "done", value: { json: 42 } });
      expect(ground.findHarm()).toEqual([]);
    });

    it("stops code in time", () => {
      expect(Math.max(...late)).toBeLessThan(MAX_LATE_MS);
    });
  });

/** All that a person or a model reads of it. */
function readable(outcome: CellOutcome): string {
  const { output, lost } = outcome;
  const rest = outcome.kind === "done" ? [outcome.value?.text] : Object.values(outcome.problem).map(String);
  return [output, ...rest, ...lost.flatMap(({ name, reason }) => [name, reason])].join(" ").replaceAll("\n", " ");
}

describe("the attack ground", () => {
  it("sees what an attack does", async () => {
    const ground = await openAttackGround();
    const { port } = JSON.parse(ground.fill('{"port":{{PORT}}}')) as { readonly port: number };
    await fetch(`http://127.0.0.1:${port}/`).then((answer) => answer.text());
    expect(ground.findHarm()).toEqual(["something connected to this machine"]);
    process.kill(Number(ground.fill("{{DECOY}}")), "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(ground.findHarm()).toEqual(["another process was killed"]);
    await ground.close();
  });
});
