import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { KeyedQueue } from "#util/keyed-queue.ts";

describe("KeyedQueue", () => {
  it("runs the work of one key in order, one at a time, and other keys meanwhile", async () => {
    const queue = new KeyedQueue();
    const log: string[] = [];
    const work = (name: string, ms: number) => async () => {
      log.push(`${name} starts`);
      await setTimeout(ms);
      log.push(`${name} ends`);
      return name;
    };
    const results = await Promise.all([
      queue.run("a", work("a1", 30)),
      queue.run("a", work("a2", 0)),
      queue.run("b", work("b1", 0)),
    ]);
    expect(results).toEqual(["a1", "a2", "b1"]);
    expect(log.filter((line) => line.startsWith("a"))).toEqual(["a1 starts", "a1 ends", "a2 starts", "a2 ends"]);
    expect(log.indexOf("b1 ends")).toBeLessThan(log.indexOf("a1 ends"));
  });

  it("rejects as the work does, and goes on with the next", async () => {
    const queue = new KeyedQueue();
    const failed = queue.run("a", () => Promise.reject(new Error("no")));
    const next = queue.run("a", async () => "yes");
    await expect(failed).rejects.toThrow("no");
    expect(await next).toBe("yes");
  });
});
