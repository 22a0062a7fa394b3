import { describe, expect, it } from "@jest/globals";
import { parseRetryAfter } from "#util/retry-after.ts";

const date = "Fri, 20 Nov 2026 12:00:00 GMT";
describe("parseRetryAfter", () => {
  it.each<[Record<string, string>, number | null]>([
    [{}, null],
    [{ "retry-after": "3" }, 3_000],
    [{ "retry-after": " 1.5 " }, 1_500],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "86400" }, 86_400_000],
    [{ "retry-after": "-5" }, null],
    [{ "retry-after": "" }, null],
    [{ "retry-after": "a while" }, null],
    [{ "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT", date }, 30_000],
    [{ "retry-after": "Fri, 20 Nov 2026 11:00:00 GMT", date }, 0],
    [{ "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT" }, null],
    [{ "retry-after-ms": "120" }, 120],
    [{ "retry-after-ms": "0.4", "retry-after": "9" }, 1],
    [{ "retry-after-ms": "x", "retry-after": "9" }, 9_000],
    [{ "retry-after-ms": "", "retry-after": "9" }, 9_000],
  ])("parses %j", (headers, expected) => {
    expect(parseRetryAfter(new Headers(headers))).toBe(expected);
  });
});
