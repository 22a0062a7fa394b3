import { describe, expect, it } from "@jest/globals";
import {
  addSources,
  isTainted,
  MAX_SOURCES,
  MORE_SOURCES,
  type OutsideSource,
  receive,
  sourcesOf,
} from "#core/provenance.ts";
import { initialState } from "#core/state.ts";

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
});
