import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createEventStreamParser, isEventStream, type ServerSentEvent } from "#util/event-stream.ts";
import { growthOverEightfold } from "../helpers/growth.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** All events of a text that arrives in pieces that end at these offsets. */
function parse(text: string, cuts: readonly number[] = [], maxChars?: number): readonly ServerSentEvent[] {
  const parser = createEventStreamParser(maxChars);
  const all = bytes(text);
  const borders = [0, ...[...cuts].sort((a, b) => a - b), all.length];
  return borders.slice(1).flatMap((end, at) => parser.push(all.subarray(borders[at], end)));
}

const message = (data: string, id?: string): ServerSentEvent => ({ event: "message", data, id });

describe("server-sent events", () => {
  it("have an id, a name and data", () => {
    expect(parse('id: 7\ndata: {"seq":7}\n\nevent: bye\ndata: {}\n\n')).toEqual([
      message('{"seq":7}', "7"),
      { event: "bye", data: "{}", id: undefined },
    ]);
  });

  it.each([["\n"], ["\r"], ["\r\n"]])("can end their lines with %j", (end) => {
    expect(parse(["id: 1", "data: a", "data: b", "", "data: c", "", ""].join(end))).toEqual([
      message("a\nb", "1"),
      message("c"),
    ]);
  });

  it("lose one blank after the colon", () => {
    expect(parse("data:a\n\ndata: b\n\ndata:  c\n\ndata\n\n").map(({ data }) => data)).toEqual(["a", "b", " c", ""]);
  });

  it("skip comments, unknown fields, an id with NUL, and events without data", () => {
    expect(parse(": alive\n\nretry: 3\nid: a\u0000b\n: x\ndata: 1\n\nevent: empty\n\ndata: 2\n\n")).toEqual([
      message("1"),
      message("2"),
    ]);
  });

  it("are returned when their blank line arrives; end() returns the last one without it", () => {
    const parser = createEventStreamParser();
    expect(parser.push(bytes("data: half"))).toEqual([]);
    expect(parser.push(bytes(" whole\n"))).toEqual([]);
    expect(parser.push(bytes("\ndata: last"))).toEqual([message("half whole")]);
    expect(parser.end()).toEqual([message("last")]);
    expect(parser.end()).toEqual([]);
  });

  it.each(["data: last", "data: last\n", "data: last\r", "data: last\r\n", "data: last\n\n"])(
    "end() returns nothing twice after %j",
    (text) => {
      const parser = createEventStreamParser();
      expect([...parser.push(text), ...parser.end()]).toEqual([message("last")]);
    },
  );

  it("do not depend on where the stream is cut", () => {
    const text = 'id: 12\r\ndata: {"name":"漢字 ✓ 🎯"}\r\n\r\n: alive\r\rdata: ä\ndata: ö\n\n';
    const whole = parse(text);
    expect(whole.map(({ data }) => data)).toEqual(['{"name":"漢字 ✓ 🎯"}', "ä\nö"]);
    const { length } = bytes(text);
    expect(
      parse(
        text,
        Array.from({ length: length - 1 }, (_, at) => at + 1),
      ),
    ).toEqual(whole);
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: length - 1 })), (cuts) => {
        expect(parse(text, cuts)).toEqual(whole);
      }),
    );
  });

  it("have a size limit, for one long line and for many lines", () => {
    const tooLarge = expect.objectContaining({ code: "GOALD_HTTP_TOO_LARGE" });
    expect(() => parse(`data: ${"x".repeat(200)}`, [], 100)).toThrow(tooLarge);
    expect(() => parse(`data: ${"x".repeat(200)}\n\n`, [50, 100], 100)).toThrow(tooLarge);
    expect(() => parse("data: 1234567890\n".repeat(20), [], 100)).toThrow(tooLarge);
    expect(parse(`data: ${"x".repeat(60)}\n\n`.repeat(50), [], 100)).toHaveLength(50);
  });

  it("take linear time, even if a long line comes in small pieces", async () => {
    const growth = await growthOverEightfold(80_000, (pieces) => {
      const parser = createEventStreamParser();
      const piece = bytes("x".repeat(64));
      parser.push(bytes("data: "));
      for (let at = 0; at < pieces; at++) parser.push(piece);
      expect(parser.push(bytes("\n\n"))[0]?.data).toHaveLength(64 * pieces);
    });
    expect(growth).toBeLessThan(30);
  });
});

describe("isEventStream", () => {
  it.each([
    ["data: {}", true],
    ["\ufeff\n: ping", true],
    ["event: x", true],
    ["", undefined],
    ["  da", undefined],
    ["{", false],
    ["database", false],
    ["<html>", false],
  ])("of %j is %j", (head, expected) => {
    expect(isEventStream(head)).toBe(expected);
  });
});
