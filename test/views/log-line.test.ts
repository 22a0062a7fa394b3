import { describe, expect, it } from "@jest/globals";
import { describeLogLine, type LogFilter, matchesFilter, readLogLine } from "#cli/verbs/logs.ts";

const line = (fields: object): string =>
  JSON.stringify({ level: 30, time: "2026-11-20T10:00:00.000Z", pid: 1, ...fields });

describe("a line of the log", () => {
  it.each<[string, object, string]>([
    [
      "of a step",
      { agent: "foo", step: 3, msg: "step", command: "read_file", status: "ok" },
      "info   foo  step 3  command=read_file status=ok",
    ],
    [
      "with a message",
      { agent: "foo", msg: "It paused: no key", code: "key-refused" },
      "info   foo  It paused: no key  code=key-refused",
    ],
    ["without an agent", { msg: "started", socket: "/a b" }, 'info   started  socket="/a b"'],
    ["with an error", { level: 50, msg: "no", err: { message: "why", stack: "at x" } }, 'error  no  err="why"'],
    // An escaped line end cannot imitate a log line of its own.
    [
      "with a line end in its message",
      { msg: "no\n2026-11-20T10:00:00.000Z  info  all is well" },
      "info   no\n  2026-11-20T10:00:00.000Z  info  all is well",
    ],
    ["of an unknown level", { level: 35, msg: "x", none: null }, "35     x"],
  ])("%s is shown as time, level, agent, step, message, fields", (_title, fields, text) => {
    expect(describeLogLine(readLogLine(line(fields)))).toBe(`2026-11-20T10:00:00.000Z  ${text}`);
  });

  it.each(['{"level":30,"time":"2026-', "Segmentation fault", "[1,2]", "null"])(
    "that is not JSON of goald is shown unchanged: %j",
    (text) => {
      expect(describeLogLine(readLogLine(text))).toBe(text);
    },
  );

  it.each<[LogFilter, object, boolean]>([
    [{}, { agent: "foo" }, true],
    [{ agent: "foo" }, { agent: "foo" }, true],
    [{ agent: "foo" }, { agent: "foobar" }, false],
    [{ agent: "foo" }, {}, false],
    [{ withoutAgent: true }, { agent: "foo" }, false],
    [{ withoutAgent: true }, {}, true],
    [{ step: 3 }, { step: 3 }, true],
    [{ step: 3 }, { step: 30 }, false],
    [{ level: "warn" }, { level: 40 }, true],
    [{ level: "warn" }, { level: 30 }, false],
    [{ since: Date.parse("2026-11-20T10:00:00Z") }, {}, true],
    [{ since: Date.parse("2026-11-20T10:00:01Z") }, {}, false],
    [{ since: 0 }, { time: "yesterday" }, false],
  ])("with the filter %j: %j matches: %s", (filter, fields, wanted) => {
    expect(matchesFilter(readLogLine(line(fields)), filter)).toBe(wanted);
  });

  it("that is not JSON matches only without a filter", () => {
    const torn = readLogLine("torn");
    expect(matchesFilter(torn, { withoutAgent: true })).toBe(true);
    expect(matchesFilter(torn, { agent: "foo" })).toBe(false);
    expect(matchesFilter(torn, { level: "info" })).toBe(false);
  });
});
