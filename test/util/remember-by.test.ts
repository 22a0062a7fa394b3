import { describe, expect, it } from "@jest/globals";
import { rememberBy } from "#util/remember-by.ts";

describe("a function with a cache by object", () => {
  function countedJoin() {
    const joined: string[] = [];
    const join = rememberBy((key: { readonly name: string }, suffix: string): string => {
      joined.push(key.name + suffix);
      return key.name + suffix;
    });
    return { join, joined };
  }

  it("computes once for the same object and inputs", () => {
    const { join, joined } = countedJoin();
    const key = { name: "a" };
    expect([join(key, "1"), join(key, "1")]).toEqual(["a1", "a1"]);
    expect(joined).toEqual(["a1"]);
  });

  it("computes again for other inputs, and for an equal object that is another one", () => {
    const { join, joined } = countedJoin();
    const key = { name: "a" };
    expect([join(key, "1"), join(key, "2"), join({ name: "a" }, "2"), join(key, "2")]).toEqual([
      "a1",
      "a2",
      "a2",
      "a2",
    ]);
    expect(joined).toEqual(["a1", "a2", "a2"]);
  });

  it("keeps undefined, and nothing of a call that throws", () => {
    let calls = 0;
    const find = rememberBy((_key: object): undefined => {
      calls++;
      if (calls === 1) throw new Error("not yet");
    });
    const key = {};
    expect(() => find(key)).toThrow("not yet");
    expect([find(key), find(key)]).toEqual([undefined, undefined]);
    expect(calls).toBe(2);
  });
});
