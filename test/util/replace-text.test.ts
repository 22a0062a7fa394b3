import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { findText, replaceText } from "#util/replace-text.ts";

const LIMIT = 64 * 1024 * 1024;
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

describe("replaceText", () => {
  it("finds every place that a plain search finds, overlapping ones too", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 40 });
    fc.assert(
      fc.property(letters, letters, (content, text) => {
        fc.pre(text !== "");
        const places = Array.from({ length: content.length }, (_, at) => at).filter((at) =>
          content.startsWith(text, at),
        );
        const overlap = places.some((at, index) => at < (places[index - 1] ?? -text.length) + text.length);
        expect(findText(bytes(content), bytes(text))).toEqual({ count: places.length, places, overlap });
      }),
    );
  });

  it("replaces as replaceAll does where nothing overlaps", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "é", "🎾", "\n"), maxLength: 40 });
    fc.assert(
      fc.property(letters, letters, letters, (content, old, replacement) => {
        fc.pre(old !== "" && old !== replacement);
        const { count, overlap } = findText(bytes(content), bytes(old));
        const edit = replaceText(bytes(content), { old, new: replacement }, Math.max(1, count), LIMIT);
        if (count === 0 || overlap) expect(edit.kind).toBe(count === 0 ? "missing" : "other-count");
        else {
          expect(edit).toMatchObject({ kind: "replaced", content: bytes(content.replaceAll(old, () => replacement)) });
          if (edit.kind === "replaced") expect(edit.places).toHaveLength(count);
        }
      }),
    );
  });
});
