import { describe, expect, it } from "@jest/globals";
import { IsolationQueue } from "#host/isolation-queue.ts";
import { fakeClock } from "../helpers/fake-clock.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function makeQueue() {
  const clock = fakeClock();
  const queue = new IsolationQueue(clock);
  const began: string[] = [];
  const enter = async (agent: string, backOffMs = 0, signal = new AbortController().signal) => {
    if (await queue.enter(agent, backOffMs, signal)) began.push(agent);
    else began.push(`not ${agent}`);
  };
  return { clock, queue, began, enter };
}

describe("the turns of suspects after a death", () => {
  it("are given to one agent at a time, in the order in which they asked", async () => {
    const { queue, began, enter } = makeQueue();
    for (const agent of ["ada", "ben", "cleo"]) void enter(agent);
    await settle();
    expect(began).toEqual(["ada"]);
    queue.leave("cleo");
    await settle();
    expect(began).toEqual(["ada"]);
    queue.leave("ada");
    await settle();
    expect(began).toEqual(["ada", "ben"]);
    queue.leave("ben");
    await settle();
    expect(began).toEqual(["ada", "ben", "cleo"]);
  });

  it("come after the back-off, which holds up nobody else", async () => {
    const { clock, began, enter } = makeQueue();
    void enter("ada", 4_000);
    void enter("ben", 1_000);
    await clock.advance(1_000);
    expect(began).toEqual(["ben"]);
  });

  it("pass over an agent that is cut off while it waits", async () => {
    const { queue, began, enter } = makeQueue();
    const cutOff = new AbortController();
    void enter("ada");
    void enter("ben", 0, cutOff.signal);
    void enter("cleo");
    await settle();
    cutOff.abort();
    queue.leave("ada");
    await settle();
    expect(began).toEqual(["ada", "not ben", "cleo"]);
  });

  it("are explained for the agents that wait, and only for them", async () => {
    const { queue, enter } = makeQueue();
    void enter("ada");
    void enter("ben");
    void enter("cleo", 1_000);
    await settle();
    expect(queue.reasonFor("ada")).toBeNull();
    expect(queue.reasonFor("dora")).toBeNull();
    expect(queue.reasonFor("ben")).toMatch(/one at a time.*: ada has its turn/);
    queue.leave("ada");
    queue.leave("ben");
    await settle();
    expect(queue.reasonFor("cleo")).toMatch(/tried again in a few seconds|ben has its turn/);
  });
});
