import { describe, expect, it } from "@jest/globals";
import type { MemoryRow, RecallQuery } from "#core/ports/memory.ts";
import { IMPORTANCE } from "#memory/remember/remember.ts";
import { memoryRows, openRecall } from "../helpers/memory-rows.ts";

const QUESTION = "What about the lamp?";

/** A memory whose rows all fit the question; recalls are given as sorted ids. */
function openLamps() {
  const store = memoryRows();
  const { recall, memory } = openRecall({ store });
  const add = (step: number, seq: number, change: Partial<MemoryRow> = {}) =>
    store.add("foo", `The lamp ${"abcdefghij"[seq % 10]}${"klmnopqrst"[Math.floor(seq / 10) % 10]} is lit.`, {
      step,
      seq,
      ...change,
    } as never);
  const ask = async (change: Partial<RecallQuery> = {}): Promise<readonly string[]> =>
    (await recall([QUESTION], change))
      .map(({ id }) => id.replace("foo/", ""))
      .toSorted((a, b) => Number(a) - Number(b));
  return { store, memory, add, ask };
}

describe("the steps of a sub-task", () => {
  /** Step 1, a command of step 2 whose sub-task takes steps 3 and 4, and its row. */
  function addNested({ add }: ReturnType<typeof openLamps>) {
    add(1, 5);
    add(3, 20);
    add(3, 21, { kind: "piece" });
    add(4, 30, { trust: "web" });
    return () => add(2, 40);
  }

  it("are recalled while the command runs, and not when its row has come, also after a restart", async () => {
    const lamps = openLamps();
    const end = addNested(lamps);
    expect(await lamps.ask()).toEqual(["5", "20", "21", "30"]);
    end();
    expect(await lamps.ask()).toEqual(["5", "40"]);
    await lamps.memory.release("foo");
    expect(await lamps.ask()).toEqual(["5", "40"]);
    lamps.add(5, 50);
    expect(await lamps.ask()).toEqual(["5", "40", "50"]);
  });

  it("are left out of the next sub-task of the same command, whose own steps are recalled", async () => {
    const lamps = openLamps();
    addNested(lamps);
    lamps.add(5, 35);
    expect(await lamps.ask({ waiting: [{ step: 2, seq: 33 }] })).toEqual(["5", "35"]);
    expect(await lamps.ask()).toEqual(["5", "20", "21", "30", "35"]);
  });

  it("leave facts, a person's words and pinned rows behind, and come back when a person pins them", async () => {
    const lamps = openLamps();
    const end = addNested(lamps);
    lamps.add(4, 31, { kind: "fact" });
    lamps.add(4, 32, { trust: "person" });
    lamps.store.change("foo", "foo/20", { pinned: true });
    expect(await lamps.ask()).toEqual(["5", "20", "21", "30", "31", "32"]);
    end();
    expect(await lamps.ask()).toEqual(["5", "20", "31", "32", "40"]);
    lamps.store.change("foo", "foo/30", { pinned: true });
    expect(await lamps.ask()).toEqual(["5", "20", "30", "31", "32", "40"]);
  });

  it("are not taken for older steps that a person changed later", async () => {
    const lamps = openLamps();
    for (const step of [1, 2, 3]) lamps.add(step, 10 * step);
    await lamps.ask();
    lamps.store.change("foo", "foo/10", { pinned: true });
    expect(await lamps.ask()).toEqual(["10", "20", "30"]);
  });
});

describe("a step that failed", () => {
  const failed = { importance: IMPORTANCE.failure };

  it("is recalled in its turn, and in no later one", async () => {
    const lamps = openLamps();
    lamps.add(1, 10);
    lamps.add(2, 20, failed);
    lamps.add(2, 21, { ...failed, kind: "piece" });
    expect(await lamps.ask()).toEqual(["10", "20", "21"]);
    lamps.add(3, 30, { kind: "turn" });
    lamps.add(4, 40, failed);
    expect(await lamps.ask()).toEqual(["10", "30", "40"]);
    await lamps.memory.release("foo");
    expect(await lamps.ask()).toEqual(["10", "30", "40"]);
    lamps.add(5, 50, { kind: "turn" });
    expect(await lamps.ask()).toEqual(["10", "30", "50"]);
  });

  it("as a person noted it is kept", async () => {
    const lamps = openLamps();
    lamps.add(1, 10, { ...failed, kind: "note" });
    lamps.add(2, 20, { kind: "turn" });
    expect(await lamps.ask()).toEqual(["10", "20"]);
  });
});

it("a turn whose memory the prompt shows is recalled by what others said in it, and by facts, alone", async () => {
  const lamps = openLamps();
  lamps.add(1, 10);
  lamps.add(2, 20);
  lamps.add(2, 21, { kind: "piece" });
  lamps.add(2, 22, { kind: "piece", trust: "web" });
  lamps.add(3, 30, { trust: "web" });
  lamps.add(3, 31, { kind: "fact" });
  lamps.add(4, 40);
  const all = ["10", "20", "21", "22", "30", "31", "40"];
  expect(await lamps.ask({ shownTurns: [{ afterStep: 1, upToStep: 3 }] })).toEqual(["10", "22", "30", "31", "40"]);
  expect(await lamps.ask()).toEqual(all);
});
