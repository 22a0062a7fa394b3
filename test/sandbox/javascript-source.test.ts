import { describe, expect, it } from "@jest/globals";
import { prepareCode } from "#sandbox/javascript-source.ts";

const codeOf = (code: string): string => prepareCode(code).code;

describe("the preparation of a cell of JavaScript", () => {
  it.each([
    ["const a = 1; let b = 2", "var a = 1; var b = 2"],
    ["let [p, q] = [1, 2], { r } = { r: 3 }", "var [p, q] = [1, 2], { r } = { r: 3 }"],
    ["const\nx = 1", "var\nx = 1"],
    ["class A extends B {\n  x = 1;\n}\n(1)", "var A = class A extends B {\n  x = 1;\n};\n(1)"],
    ["x\n++y; const t = 1", "x\n++y; var t = 1"],
    ["const f = async () => { const inner = 1 }", "var f = async () => { const inner = 1 }"],
  ])("lets later cells declare the names of %j again", (code, expected) => {
    expect(codeOf(code)).toBe(expected);
  });

  it.each([
    "for (const one of [1]) { let two }",
    "if (true) { const inner = 1 }",
    "x = class Foo {}",
    "const_ = 1; let_.const = 2",
    `var a = \`const b = 1; \${\`let c = \${{ const: 1 }.const}\`} class D {}\``,
    "var text = \"const a\" + 'let b' // const c\n/* class D {} */",
    'var pattern = /[/]const x\\/`"/g; var half = a / 2 / const_',
    "if (x) /const y/.test(z)",
  ])("leaves %j as it is", (code) => {
    expect(codeOf(code)).toBe(code);
  });

  it("keeps every line where it was", () => {
    const code = "class A {\n}\n\nconst x = `\n`;\nlet y";
    expect(codeOf(code).split("\n").length).toBe(code.split("\n").length);
  });

  it.each([
    "const a = `unterminated",
    "let b = 'x",
    "const c = (",
    "}}}} const d = 1",
    "const e = /[",
    "\u0000const f",
  ])("does not fail for the malformed %j", (code) => {
    expect(typeof codeOf(code)).toBe("string");
  });

  it.each([
    "(".repeat(200_000),
    "`${".repeat(50_000),
    `x = "${"a\\".repeat(200_000)}"`,
    `/${"[".repeat(100_000)}`,
    "a/".repeat(200_000),
  ])("is quick for hostile code", (code) => {
    const start = performance.now();
    codeOf(code);
    // Generous for a busy machine; quadratic reading of the longest rows takes minutes.
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  it("tells functions of the top level from those that see names of another function", () => {
    const { code, isTopLevel } = prepareCode(
      "const f = (x) => x; const g = (a) => (b) => a + b;\nfunction h() {\n  return () => 1;\n}\nconst k = async (y) => y, m = cache(() => 2);",
    );
    const isTop = (text: string): boolean => isTopLevel(code.indexOf(text));
    expect(["(x) => x", "(a) => (b)", "function h()", "async (y) => y"].map(isTop)).toEqual([true, true, true, true]);
    expect(["(b) => a + b", "() => 1", "() => 2"].map(isTop)).toEqual([false, false, false]);
  });
});
