import { describe, expect, it } from "@jest/globals";
import { redactReply } from "#cassette/redact-stream.ts";
import { createRedactor } from "#util/redact.ts";

const PLAIN = "MARKERkey-7f3a9c1e5b2d8f604a6c";
const ODD = 'MARKER"o\\d/d key+é&%';
const redact = createRedactor([PLAIN, ODD]);

describe("a recorded stream", () => {
  it("costs time in proportion to its length, also for odd streams", () => {
    for (const piece of ["data: {\n", 'data: {"choices":[', "\\", "%41", '{"a":"', "data:\n"])
      expect(typeof redactReply(piece.repeat(100_000), redact)).toBe("string");
    const deep = `data: ${'{"a":'.repeat(50_000)}"${PLAIN}"${"}".repeat(50_000)}\n\n`;
    expect(redactReply(deep, redact)).not.toContain(PLAIN);
  });
});
