import { describe, expect, it } from "@jest/globals";
import type { Line, Session } from "#cassette/format.ts";
import { playSandbox, recordSandbox } from "#cassette/record-cells.ts";
import { findLineProblem } from "#cassette/recording-file.ts";
import type { Cell, CellBridge } from "#core/ports/sandbox.ts";
import { type CellBehaviour, cellValue, createFakeSandbox } from "../helpers/fake-sandbox.ts";

const SECRET = "sk-very-secret";
const redact = (text: string): string => text.replaceAll(SECRET, "[secret]");
const signal = new AbortController().signal;
const cell = (code: string): Cell => ({
  agent: "a",
  code,
  name: "cell c1",
  version: "c1#1",
  saved: null,
  seed: 1,
  startedAt: "2026-01-01T00:00:00.000Z",
  timeLimitMs: 1_000,
  functions: [],
  modules: [],
  imports: "safe",
});

/** A host that notes what it is asked. */
function listeningHost(asked: unknown[]): CellBridge {
  const note = async <T>(what: unknown, answer: T): Promise<T> => {
    asked.push(what);
    return answer;
  };
  return {
    call: (name, args) => note(["call", name, args], { value: "called", changesFiles: false }),
    run: (task, returns, form) => note(["run", task, returns, form], { value: 7 }),
    listFiles: () => note(["list"], { files: [], isComplete: true }),
    readFile: (path) => note(["read", path], { value: new Uint8Array([1]) }),
    saveFiles: (changes) =>
      note(["save", changes.map(({ path, bytes }) => [path, bytes && Buffer.from(bytes).toString("latin1")])], {
        value: null,
      }),
  };
}

const asksForAll: CellBehaviour = async (_cell, host) => {
  await host.call("google", { input: `key ${SECRET}` });
  await host.run("count", { type: "number" }, "code");
  await host.listFiles();
  await host.readFile("a.txt");
  const picture = new Uint8Array([0x89, 0x50, 0xff, 0x00]);
  await host.saveFiles([
    { path: "a.txt", bytes: new TextEncoder().encode(`text ${SECRET}`) },
    { path: "a.png", bytes: picture },
    { path: "gone.txt", bytes: null },
  ]);
  return { value: cellValue(`end ${SECRET}`), lost: [{ name: "g", reason: "a generator cannot be kept" }] };
};

async function record(behaviour: CellBehaviour) {
  const lines: Line[] = [];
  const asked: unknown[] = [];
  const value = <T>(_name: string, compute: () => T): T => compute();
  const sandbox = recordSandbox(createFakeSandbox(behaviour), { redact, write: (line) => lines.push(line), value });
  const outcome = await sandbox.run(cell("x"), listeningHost(asked), signal);
  return { lines, asked, outcome };
}
const play = (lines: readonly Line[]) =>
  playSandbox(
    { lines } as unknown as Session,
    (what) => {
      throw new Error(what);
    },
    (_name, compute) => compute(),
  );

describe("a recorded cell", () => {
  it("is played with the same questions in the same order, and ends the same", async () => {
    const { lines, asked, outcome } = await record(asksForAll);
    const again: unknown[] = [];
    expect(await play(lines).run(cell("x"), listeningHost(again), signal)).toEqual(outcome);
    expect(again).toEqual(asked);
    expect(again.map((one) => (one as unknown[])[0])).toEqual(["call", "run", "list", "read", "save"]);
  });

  it("holds no secret: neither the recording, nor what the host was asked, nor the outcome", async () => {
    const { lines, asked, outcome } = await record(asksForAll);
    for (const kept of [lines, asked, outcome]) {
      expect(JSON.stringify(kept)).not.toContain(SECRET);
      expect(JSON.stringify(kept)).toContain("[secret]");
    }
  });

  it("is accepted when it is read again", async () => {
    const { lines } = await record(asksForAll);
    expect(lines.map((line) => findLineProblem(JSON.parse(JSON.stringify(line))))).toEqual(lines.map(() => undefined));
  });

  it("of a cell that failed is accepted too", async () => {
    const { lines } = await record(() => {
      throw new Error("boo");
    });
    expect(findLineProblem(JSON.parse(JSON.stringify(lines.at(-1))))).toBeUndefined();
  });

  it("ends the replay where a cell asks for more than was recorded", async () => {
    const { lines } = await record(asksForAll);
    const cut = play(lines.slice(0, 2));
    await expect(cut.run(cell("x"), listeningHost([]), signal)).rejects.toThrow("the recording of it ends");
  });

  it.each<[what: string, line: object]>([
    ["a question that no code can ask", { type: "cell-ask", version: "c1#1", ask: { what: "everything" } }],
    ["a call without arguments", { type: "cell-ask", version: "c1#1", ask: { what: "call", name: "google" } }],
    ["a file without content", { type: "cell-ask", version: "c1#1", ask: { what: "save", changes: [{ path: "a" }] } }],
    ["a path that is no text", { type: "cell-ask", version: "c1#1", ask: { what: "read", path: 3 } }],
    ["an end of no kind", { type: "cell-end", version: "c1#1", outcome: { kind: "other" } }],
  ])("is refused for %s", (_what, line) => {
    expect(findLineProblem(line)).toContain(`is a line of type ${(line as { type: string }).type}`);
  });
});
