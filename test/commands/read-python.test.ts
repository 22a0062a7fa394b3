import { describe, expect, it } from "@jest/globals";
import { readPythonFunctions } from "#commands/read-python.ts";

const SOURCE = `#!/usr/bin/env python3
"""A module.

def not_this(x):
    pass
"""
import math  # def nor_this(): "

TABLE = {
"def": 1,
}
note = 'it''s "quoted" \\' def no(): '

def double(x: int) -> int:
    """Doubles a number."""
    def inner(y): return y
    return 2 * x

@cache
def label(
    name: str = "a:b)",  # the name, (or not
    *parts: tuple[int, str], sep=':', **more,
) -> dict[str, list[int]]:
    # a comment first
    r'''Joins \\d
        parts.'''
    return {}

def bare(): return 1
def _private(): "hidden"
async def later(): "a coroutine"
class Box:
    def method(self): "not at the top"
if True:
    def conditional(): pass
def formatted():
    f"not a docstring {1}"
def generic[T](x: T) -> T:
    "Keeps \\"it\\"."
def last(x): return x[
`;

describe("the functions of a Python file", () => {
  it("are those of its top level, with signature and docstring", () => {
    expect(readPythonFunctions(SOURCE)).toEqual([
      { name: "double", signature: "double(x: int) -> int", doc: "Doubles a number.", line: 14 },
      {
        name: "label",
        signature: "label(name: str = \"a:b)\", *parts: tuple[int, str], sep=':', **more) -> dict[str, list[int]]",
        doc: "Joins \\d parts.",
        line: 20,
      },
      { name: "bare", signature: "bare()", doc: "", line: 29 },
      { name: "formatted", signature: "formatted()", doc: "", line: 36 },
      { name: "generic", signature: "generic[T](x: T) -> T", doc: 'Keeps "it".', line: 38 },
      { name: "last", signature: "last(x)", doc: "", line: 40 },
    ]);
  });

  it("are read from files with Windows line ends, and from files that Python itself would refuse", () => {
    expect(readPythonFunctions('def a():\r\n    """A\r\n    b."""\r\n').map(({ doc }) => doc)).toEqual(["A b."]);
    for (const broken of ["def", "def a", "def a(", 'def a(x="', '"""', "def a():\n  '''never closed", "def a(]]):"])
      expect(readPythonFunctions(broken).every(({ doc }) => doc === "")).toBe(true);
  });

  it("are found in linear time", () => {
    const many = "def f(x):\n    '''Doc.'''\n    return {'a': [1, 2]}\n".repeat(20_000);
    const startedAt = performance.now();
    expect(readPythonFunctions(many)).toHaveLength(20_000);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
