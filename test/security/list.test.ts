import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { patternOf, proof } from "./defence.ts";
import { AREAS, DEFENCES } from "./list.ts";

describe("the list of npm run test:security", () => {
  it.each(DEFENCES)("names tests that exist: $id", ({ proofs }) => {
    expect(proofs.length).toBeGreaterThan(0);
    for (const { file, title, from = file } of proofs) {
      expect([file, existsSync(file)]).toEqual([file, true]);
      expect([from, title, readFileSync(from, "utf8").includes(title)]).toEqual([from, title, true]);
      // A shared file of tests must be run by the file that is named.
      const shared = from.split("/").at(-1) ?? "";
      expect(from === file || readFileSync(file, "utf8").includes(shared)).toBe(true);
    }
  });

  it("has each id once, and all areas", () => {
    const ids = DEFENCES.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(Object.values(AREAS).flat()).toEqual(DEFENCES);
  });

  it("finds a row of a table by any of its values", () => {
    const rows = new RegExp(patternOf(proof("a.test", "is refused by %s, with the same words (%i)")));
    expect(rows.test("a command is refused by a reply, with the same words (3)")).toBe(true);
    expect(rows.test("a command is refused by a reply, with other words")).toBe(false);
  });
});
