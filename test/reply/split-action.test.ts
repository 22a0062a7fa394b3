import { describe, expect, it } from "@jest/globals";
import { splitAction } from "#reply/split-action.ts";

const react = (text: string) => splitAction(text, "react");
const code = (text: string) => splitAction(text, "code");

describe("a reply in the dialog format", () => {
  it("is a thought and one action", () => {
    expect(react('I need a method.\n\nACTION 1:\n```python\nmethod_search("weather")\n```\n')).toMatchObject({
      thought: "I need a method.",
      code: 'method_search("weather")',
      isClosed: true,
      others: 0,
    });
  });

  it.each([
    ["with its own heading", "THOUGHT 2:\nBased on it, go.\nACTION 2:\n```python\nx = 1\n```"],
    ["in other letters", "Thought 2: Based on it, go.\nAction 2:\n```python\nx = 1\n```"],
    ["with Markdown around the headings", "**THOUGHT 2:** Based on it, go.\n### ACTION 2:\n```py\nx = 1\n```"],
    ["without a number", "Based on it, go.\nACTION:\n```\nx = 1\n```"],
    ["without a fence", "Based on it, go.\nACTION 2:\nx = 1"],
    ["with code beside the heading", "Based on it, go.\nACTION 2: x = 1"],
    ["without a heading", "Based on it, go.\n```python\nx = 1\n```"],
    ["with a missing end of the fence", "Based on it, go.\nACTION 2:\n```python\nx = 1"],
    ["with an indented fence", "Based on it, go.\nACTION 2:\n  ```python\n  x = 1\n  ```"],
    ["with line ends of Windows", "Based on it, go.\r\nACTION 2:\r\n```python\r\nx = 1\r\n```"],
    [
      "after reasoning",
      "<think>ACTION 1:\n```python\nbad()\n```</think>\nBased on it, go.\nACTION 2:\n```python\nx = 1\n```",
    ],
    [
      "after reasoning whose beginning is missing",
      "Well.\n</think>\nBased on it, go.\nACTION 2:\n```python\nx = 1\n```",
    ],
  ])("is read %s", (_how, text) => {
    expect(react(text)).toMatchObject({ thought: "Based on it, go.", code: "x = 1" });
  });

  it("gives its first action, and counts the others", () => {
    const text =
      "Go.\nACTION 1:\n```python\na()\n```\nOBSERVATION 1:\n12\nTHOUGHT 2:\nOn.\nACTION 2:\n```python\nb()\n```";
    expect(react(text)).toMatchObject({ thought: "Go.", code: "a()", others: 1 });
    expect(react("Go.\nACTION 1:\n```python\na()\n```\n```python\nb()\n```")).toMatchObject({ code: "a()", others: 1 });
  });

  it("does not take a heading inside the code for one (control)", () => {
    const text = 'Go.\nACTION 1:\n```python\ntext = """\nACTION 2:\nx\n"""\n```';
    expect(react(text)).toMatchObject({ code: 'text = """\nACTION 2:\nx\n"""', others: 0 });
  });

  it("has no code when it is only a thought", () => {
    expect(react("THOUGHT 3:\nI am done.")).toMatchObject({ thought: "I am done.", code: null });
  });
});

describe("a reply in prose", () => {
  it("is a thought and the first block that can run", () => {
    expect(code("I count.\n\n```python\nlen([1])\n```\nThen I write.")).toMatchObject({
      thought: "I count.",
      code: "len([1])",
      shown: "I count.\n\n```python\nlen([1])\n```",
    });
  });

  it.each(["py", "Python3", ""])("takes a block in %j as Python", (name) => {
    expect(code(`\`\`\`${name}\n1+1\n\`\`\``)).toMatchObject({ code: "1+1", foreign: "" });
  });

  it("prefers a block that names its language", () => {
    expect(code("The plan:\n```\nfirst, second\n```\n```python\n1\n```")).toMatchObject({ code: "1", others: 0 });
  });

  it("is an answer when its blocks are in other languages", () => {
    expect(code('Here it is:\n```json\n{"a": 1}\n```')).toMatchObject({ code: null, foreign: "" });
  });

  it.each(["bash", "js", "typescript"])("names a language that cannot run: %s", (name) => {
    expect(code(`\`\`\`${name}\nls\n\`\`\``)).toMatchObject({ code: null, foreign: name });
  });

  it("keeps a fence inside a text of several lines", () => {
    const inner = 'page = """\n# Title\n```\nls\n```\n"""\nprint(page)';
    expect(code(`\`\`\`python\n${inner}\n\`\`\`\nDone.`)).toMatchObject({ code: inner, isClosed: true });
  });

  it("ends at the fence when the text before it has ended (control)", () => {
    expect(code('```python\npage = """a"""\n```\n"""\n```')).toMatchObject({ code: 'page = """a"""' });
  });

  it("is only reasoning when that does not end", () => {
    expect(code("<think>I would run\n```python\n1\n```")).toMatchObject({ isOnlyReasoning: true, code: null });
  });

  it.each([
    ["fences", `${"```python\n".repeat(20_000)}${'"""'.repeat(50_000)}`],
    ["blanks behind a heading", `thought${" ".repeat(500_000)}x`],
    ["blanks behind a fence", `\`\`\`${" ".repeat(500_000)}\``],
    ["a long name of a language", `\`\`\`${"x".repeat(500_000)}\``],
    ["headings", "action: \n".repeat(100_000)],
    ["marks of reasoning", "</think>```\n".repeat(50_000)],
  ])("is read in linear time: %s", (_what, text) => {
    const startedAt = performance.now();
    code(text);
    react(text);
    // Generous for a busy machine; quadratic reading of the longest rows takes minutes.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});
