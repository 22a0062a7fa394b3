import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { judgeProof, patternOf, proof, withBubblewrap } from "./defence.ts";
import { DEFENCES } from "./list.ts";

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

  it("has each id once", () => {
    const ids = DEFENCES.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("finds a row of a table by any of its values", () => {
    const rows = new RegExp(patternOf(proof("a.test", "is refused by %s, with the same words (%i)")));
    expect(rows.test("a command is refused by a reply, with the same words (3)")).toBe(true);
    expect(rows.test("a command is refused by a reply, with other words")).toBe(false);
  });

  it("tells a proof that this machine cannot have from one that did not run, and neither is good", () => {
    const plain = proof("a.test", "stays inside");
    const caged = withBubblewrap(plain);
    const pending = [{ fullName: "a cage stays inside", status: "pending" }] as const;
    const skipped = { isGood: false, text: "skipped: needs bubblewrap" };
    const missing = { isGood: false, text: "did not run" };
    expect([judgeProof(caged, [], false), judgeProof(caged, pending, false)]).toEqual([skipped, skipped]);
    expect([judgeProof(caged, [], true), judgeProof(plain, pending, false)]).toEqual([missing, missing]);
    expect(judgeProof(caged, [{ ...pending[0], status: "passed" }], false)).toEqual({ isGood: true, text: "1 passed" });
    expect(judgeProof(caged, [...pending, { ...pending[0], status: "failed" }], false)).toEqual({
      isGood: false,
      text: "1 of 1 failed",
    });
  });

  it("marks as such only tests of a strict cage", () => {
    const marked = DEFENCES.flatMap(({ proofs }) => proofs).filter(({ needsBubblewrap }) => needsBubblewrap);
    expect(marked.length).toBeGreaterThan(0);
    for (const { file, title } of marked) {
      const [, caged = ""] = readFileSync(file, "utf8").split('if (levels.includes("strict"))');
      expect([file, title, caged.includes(title)]).toEqual([file, title, true]);
    }
  });
});
