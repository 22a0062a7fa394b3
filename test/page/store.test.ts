import { describe, expect, it } from "@jest/globals";
import { isShort, sinceLine } from "../../src/page/home.ts";
import { applyChanges } from "../../src/page/store.ts";
import type { Agent, Waiting } from "../../src/page/types.ts";

const agent = (id: string, cause: string, costUsd = 0): Agent =>
  ({ id, costUsd, standing: { kind: cause === "" ? "running" : "over", cause } }) as Agent;

describe("changes of the host", () => {
  it("replace, add and remove agents", () => {
    const agents = [agent("a", ""), agent("b", "")];
    const now = applyChanges(agents, { agents: [agent("b", "completed"), agent("c", "")], removed: ["a"] });
    expect(now.map(({ id, standing }) => [id, standing.kind])).toEqual([
      ["b", "over"],
      ["c", "running"],
    ]);
  });
});

describe("what happened since a person looked", () => {
  const seen = { at: 0, agents: { a: [false, 0.5], b: [true, 1] } } as const;
  const HOUR_MS = 3_600_000;

  it("is how many agents finished and what was spent", () => {
    const agents = [agent("a", "completed", 0.75), agent("b", "completed", 1), agent("c", "stopped", 0.25)];
    expect(sinceLine(agents, seen, HOUR_MS)).toBe("Since you looked 1 h 0 min ago: 2 agents finished, $0.50 spent.");
  });

  it("is nothing when nothing happened, or a moment later", () => {
    const agents = [agent("a", "", 0.5), agent("b", "completed", 1)];
    expect(sinceLine(agents, seen, HOUR_MS)).toBe("");
    expect(sinceLine([agent("a", "completed", 9)], seen, 5_000)).toBe("");
  });
});

describe("a command that may be approved from its card", () => {
  type Item = Pick<Waiting, "command" | "code" | "files">;
  const waiting = (args: Record<string, unknown>, more: Partial<Item> = {}): Item => ({
    ...{ command: { name: "x", args }, code: null, files: [] },
    ...more,
  });

  it("is shown whole there", () => {
    expect(isShort(waiting({ file: "a.md", count: 2 }))).toBe(true);
  });

  it.each([
    ["it runs code", waiting({ file: "a.py" }, { code: { file: "a.py", sha256: "", text: "x" } })],
    ["a file of it holds words from outside", waiting({ file: "a.md" }, { files: [{ path: "a.md", outside: [] }] })],
    ["its arguments are long", waiting({ text: "x".repeat(160) })],
    ["an argument has parts", waiting({ options: { force: true } })],
  ])("is reviewed on its own screen when %s", (_, item) => expect(isShort(item)).toBe(false));
});
