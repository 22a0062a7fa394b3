import { describe, expect, it } from "@jest/globals";
import { createProblems } from "#host/host-status.ts";

describe("the problems that a host reports", () => {
  const logged: [object, string][] = [];
  const problems = createProblems({
    log: { warn: (about, text) => void logged.push([about, text]) },
    redact: (text) => text.replaceAll("secret", "[redacted]"),
  });

  it("are the last one of each agent and of the host, without secrets", () => {
    problems.tell("foo", "The disk is full.");
    problems.tell("foo", "The secret is out.");
    problems.tell("", "No report.");
    expect(problems.all).toEqual(["foo: The [redacted] is out.", "No report."]);
    problems.forget("foo");
    expect(problems.all).toEqual(["No report."]);
  });

  it("are shown as messages, with the place in the program only in the log", () => {
    const { stack = "" } = new Error("It broke.\nIn two lines.");
    problems.tell("", `A request could not be answered: ${stack}`);
    expect(problems.all).toEqual(["A request could not be answered: Error: It broke.\nIn two lines."]);
    expect(logged.at(-1)).toEqual([{}, expect.stringContaining("problems.test.ts")]);
  });
});
