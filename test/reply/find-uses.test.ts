import { describe, expect, it } from "@jest/globals";
import { findUses, isInText } from "#reply/find-uses.ts";

const uses = (code: string) => findUses(code, new Set(["foo", "get_weather"]));
const specific = (code: string) => uses(code).values;

describe("the calls in an action", () => {
  it("are those of known functions, in order", () => {
    expect(uses("x = foo(1)\nprint(get_weather(x, len([2])))\nfoo\nother(3)").calls).toEqual(["foo", "get_weather"]);
  });

  it("are none in comments, texts, definitions and methods of values (control)", () => {
    expect(uses('# foo(1)\nt = "foo(2)"\ndef foo(a):\n  pass\nx.foo(3)\n"""\nfoo(4)\n"""').calls).toEqual([]);
  });
});

describe("the values that an action writes out", () => {
  it.each([
    ["as arguments", "get_weather(48.8566, longitude=-2.3522)", ["48.8566", "2.3522"]],
    ["over several lines", 'get_weather(  # here\n  48.8566,\n  unit="K-273",\n)', ["48.8566", "K-273"]],
    ["in lists and dictionaries", 'foo([1234], {"key": "value1"})', ["1234", "value1"]],
    ["as values of names", "lat, lon = 48.8566, 2.3522\nget_weather(lat, lon)", ["48.8566", "2.3522"]],
    ["once each", 'foo("abc1", "abc1")', ["abc1"]],
    ["as an address", 'foo("https://a.example/x")', ["https://a.example/x"]],
  ])("count %s", (_how, code, values) => {
    expect(specific(code)).toEqual(values);
  });

  it.each([
    ["small and round numbers", "foo(5, 0.5, [12, 100, 3000, 0.25, 365, 1_000_000])"],
    ["parts of a computation", "x = y * 1.8543 + 32.75\nfoo(x / 1.2345, -y * 2.3456)"],
    ["indices and keys", 'foo(data["temperature"], prices[1234], {"some_key": x})'],
    ["arguments of other functions", "x = range(1234)\nd = date(2026, 11, 23)"],
    ["words without a digit or a sign of an address", 'foo(1, unit="metric", place="Lisbon")'],
    ["what the model words itself", 'foo(caption="Hello", text="Moin")'],
    ["words with a blank", 'foo("Hello from Space!")'],
    ["names of files", 'foo("weather.md")'],
    ["texts that are put together", 'foo(f"{x}!", "a" + name, b"raw", "%s" % x)'],
    ["comparisons", "foo(1 if x == 1234 else 2)\ny = x >= 1234.5678"],
    ["defaults of own functions", "def bar(a, b):\n  return a"],
    ["texts without a call", 'city = "Lisbon"'],
  ])("do not count as %s", (_how, code) => {
    expect(specific(code)).toEqual([]);
  });
});

describe("a value in a text", () => {
  it.each([
    ["48.8566", "at 48.8566, 2.3522", true],
    ["48.8566", "at 48.85661", false],
    ["48.8566", "at 148.8566", false],
    ["0.35", "35% off", true],
    ["14284000", "14,284,000 people", true],
    ["14284000", "14,284,0001 people", false],
    ["1_234", "1234.00 in all", true],
    ["MSFT", "the msft shares", true],
    ["#general", "write to general", true],
    ["Lisbon", "Oslo", false],
  ])("%s in %j: %s", (value, text, isThere) => {
    expect(isInText(value, text)).toBe(isThere);
  });
});
