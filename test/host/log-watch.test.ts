import { describe, expect, it } from "@jest/globals";
import type { AgentRow } from "#core/ports/store.ts";
import { createLogWatch } from "#host/supervisor.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Makes a log whose head the test moves; `undefined` means that the agent is gone. */
function watched(head: number | undefined) {
  const log = { head };
  const watch = createLogWatch({
    agent: async () => (log.head === undefined ? undefined : ({ head: log.head } as AgentRow)),
  });
  const move = (to: number | undefined): void => {
    log.head = to;
    watch.tell("foo");
  };
  const wait = (after: number, signal = new AbortController().signal) => {
    const waiting = { isOver: false };
    void watch.whenLonger("foo", after, signal).then(() => {
      waiting.isOver = true;
    });
    return waiting;
  };
  return { move, wait };
}

describe("waiting until a log is longer than a number", () => {
  it("continues while the log is shorter or exactly as long", async () => {
    const { move, wait } = watched(5);
    const far = wait(8);
    for (const head of [6, 7, 8]) {
      move(head);
      await settle();
      expect(far.isOver).toBe(false);
    }
    move(9);
    await settle();
    expect(far.isOver).toBe(true);
  });

  it("ends when the agent is gone, or another one has its name", async () => {
    for (const head of [undefined, 1]) {
      const { move, wait } = watched(5);
      const far = wait(8);
      await settle();
      move(head);
      await settle();
      expect(far.isOver).toBe(true);
    }
  });

  it("ends with its signal", async () => {
    const { move, wait } = watched(5);
    const leaving = new AbortController();
    const far = wait(8, leaving.signal);
    move(6);
    await settle();
    leaving.abort();
    await settle();
    expect(far.isOver).toBe(true);
  });
});
