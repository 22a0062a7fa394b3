import { describe, expect, it } from "@jest/globals";
import { replay } from "#core/evolve.ts";
import { sourcesOfRecall } from "#core/memory.ts";
import {
  addSources,
  isTainted,
  MAX_SOURCES,
  MORE_SOURCES,
  type OutsideSource,
  parseSources,
  receive,
  sourcesOf,
} from "#core/provenance.ts";
import { initialState } from "#core/state.ts";
import { stamped } from "../contracts/store-builders.ts";

const web = (name: string): OutsideSource => ({ from: "web", name });
const AT = { at: "2026-01-01T00:00:00.000Z" };

describe("outside sources", () => {
  it("are listed once, oldest first, and the last entry of a full list stands for all others", () => {
    const many = Array.from({ length: 40 }, (_, index) => web(`${index}.example`));
    const list = addSources(addSources([], [web("a"), web("a"), { from: "agent", name: "a" }]), many);
    expect(list).toHaveLength(MAX_SOURCES);
    expect(list.slice(0, 3)).toEqual([web("a"), { from: "agent", name: "a" }, web("0.example")]);
    expect(list.at(-1)).toEqual(web(MORE_SOURCES));
    expect(addSources(list, many)).toBe(list);
  });

  it("of an observation that only says web or agent have an unknown name", () => {
    expect(sourcesOf({ source: "web" })).toEqual([web("")]);
    expect(sourcesOf({ source: "workspace", outside: [web("a")] })).toEqual([web("a")]);
    expect(sourcesOf({ source: "goald" })).toEqual([]);
  });

  it("taint the agent that receives them, with the step and time of the first time", () => {
    const once = receive({ ...initialState, step: 3 }, [web("a")], AT);
    expect(once.received).toEqual([{ ...web("a"), step: 3, at: AT.at }]);
    expect(receive({ ...once, step: 4 }, [web("a")], { at: "later" })).toEqual({ ...once, step: 4 });
    expect([isTainted(initialState), isTainted(once)]).toEqual([false, true]);
    expect(receive(initialState, [], AT)).toBe(initialState);
  });

  it("are gone when a person trusts all words, and earlier memories of the agent are clean then", () => {
    const tainted = receive(initialState, [web("a")], AT);
    const trusted = replay(stamped(7, { type: "words-trusted", what: "all" }), tainted);
    expect(trusted).toEqual({ ...initialState, trustedSeq: 7 });
    expect(replay(stamped(7, { type: "words-trusted", what: "file", path: "a" }), tainted)).toEqual(tainted);
    const recall = { id: "foo/7", trust: "agent", seq: 7, outside: [web("a")] } as const;
    expect(sourcesOfRecall(recall, "foo")).toEqual([web("a")]);
    expect(sourcesOfRecall(recall, "foo", 8)).toEqual([]);
    // A row that a person adds after the trust has the number of the last event.
    expect(sourcesOfRecall({ ...recall, id: "foo/+1", seq: 8 }, "foo", 8)).toEqual([web("a")]);
    // The mark of an agent says nothing about the memory of another one.
    expect(sourcesOfRecall(recall, "bar", 9)).toEqual([{ from: "agent", name: "foo" }, web("a")]);
    expect(sourcesOfRecall({ id: "foo/8", trust: "web" }, "foo")).toEqual([web("")]);
  });

  it("that somebody else wrote are read only in their form", () => {
    expect(parseSources([{ ...web("a"), more: 1 }])).toEqual([web("a")]);
    for (const wrong of [null, {}, [1], [{ from: "person", name: "a" }], [{ from: "web" }], Array(17).fill(web("a"))])
      expect(parseSources(wrong)).toBeUndefined();
  });
});
