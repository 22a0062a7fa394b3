import { describe, expect, it } from "@jest/globals";
import type { Agent } from "../../src/page/types.ts";
import {
  describeCall,
  lookOf,
  money,
  showHidden,
  sinceWords,
  span,
  stateLabel,
  stateWords,
  subjectOf,
} from "../../src/page/words.ts";

type Standing = Agent["standing"];
const standing = (kind: Standing["kind"], cause = ""): Standing => ({ kind, cause });

describe("words for a state", () => {
  it.each([
    [standing("running"), "running", "is running"],
    [standing("waiting", "approval"), "asks", "waits for your approval"],
    [standing("waiting", "person"), "asks", "waits for your answer"],
    [standing("waiting", "agent"), "waits", "waits for its helpers"],
    [standing("paused", "person"), "paused", "is paused by you"],
    [standing("paused", "budget"), "stuck", "has used its budget"],
    [standing("paused", "time-limit"), "stuck", "has used its time"],
    [standing("paused", "bad-replies"), "stuck", "is paused: bad replies"],
    [standing("interrupted"), "stuck", "is interrupted"],
    [standing("damaged"), "stuck", "is damaged"],
    [standing("over", "completed"), "done", "is completed"],
    [standing("over", "stopped"), "over", "is stopped"],
  ] as const)("%o looks like %s and %s", (state, look, words) => {
    expect([lookOf(state), stateWords(state)]).toEqual([look, words]);
  });

  it("are a label without their verb", () => {
    expect(stateLabel(standing("over", "completed"))).toBe("completed");
    expect(stateLabel(standing("paused", "budget"))).toBe("used its budget");
  });
});

describe("words for a command", () => {
  it.each([
    ["write_to_file", "plan.md", ["write", "plan.md"]],
    ["browse_website", "https://shop.example/tea", ["read", "shop.example/tea"]],
    ["run_code", "import os", ["run code", ""]],
    ["my_own_command", "x", ["my own command", "x"]],
  ])("%s of %s", (command, subject, words) => {
    expect(describeCall(command, subject)).toEqual(words);
  });

  it("name the file before any other argument, in one line", () => {
    expect(subjectOf({ text: "a\nb", file: "plan.md" })).toBe("plan.md");
    expect(subjectOf({ count: 2, text: "a\nb" })).toBe("a");
    expect(subjectOf({ count: 2 })).toBe("");
  });
});

describe("characters that cannot be seen", () => {
  it.each([
    ["a right-to-left override", "pay\u202egpj.exe", "pay⟨U+202E⟩gpj.exe"],
    ["a zero-width space", "rm\u200b -rf", "rm⟨U+200B⟩ -rf"],
    ["a tag character", "ok\u{e0041}", "ok⟨U+E0041⟩"],
    ["an escape", "\u001b[2J", "⟨U+1B⟩[2J"],
    ["a Hangul filler", "a\u3164b", "a⟨U+3164⟩b"],
  ])("%s is shown as its number", (_, text, shown) => {
    expect(showHidden(text)).toBe(shown);
  });

  it("do not include tabs, line ends and letters of any script", () => {
    const text = "a\tb\nЖ é 漢字 العربية 🙂";
    expect(showHidden(text)).toBe(text);
  });
});

describe("numbers", () => {
  it.each([
    [0, "$0.00"],
    [0.004, "$0.004"],
    [1.234, "$1.23"],
  ])("%d dollars are %s", (usd, words) => expect(money(usd)).toBe(words));

  it.each([
    [400, "400 ms", "now"],
    [2_400, "2.4 s", "2 s"],
    [59_000, "59 s", "59 s"],
    [3_700_000, "1 h 1 min", "1 h 1 min"],
    [200_000_000, "2 d", "2 d"],
  ])("%d ms are %s, and %s while they count", (ms, exact, counting) => {
    expect([span(ms), sinceWords(ms)]).toEqual([exact, counting]);
  });
});
