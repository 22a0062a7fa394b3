import { execFileSync } from "node:child_process";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createRedactor } from "#util/redact.ts";

const KEY = "sk-proj-A1b2C3d4E5f6G7h8J9k0";
const ODD = 'p"a\\ss/wo+rd é&x';

describe("redaction by value", () => {
  const redact = createRedactor([KEY, ODD, "hunter2hunter2"]);

  it.each<[form: string, text: string]>([
    ["plain", ODD],
    ["backwards", [...ODD].reverse().join("")],
    ["escaped in JSON", JSON.stringify({ note: ODD })],
    ["escaped in JSON in JSON", JSON.stringify({ note: JSON.stringify({ note: ODD }) })],
    ["in a URL", `https://x.test/?q=${encodeURIComponent(ODD)}&r=1`],
    ["in a URL with small hex digits", encodeURIComponent(ODD).replace(/%../g, (octet) => octet.toLowerCase())],
    ["in a form", new URLSearchParams({ q: ODD }).toString()],
    ["in base64", Buffer.from(ODD).toString("base64")],
    ["in base64url", Buffer.from(ODD).toString("base64url")],
    ["in base64 after one byte", Buffer.from(`:${ODD}`).toString("base64")],
    ["in base64 after two bytes", Buffer.from(`a:${ODD}`).toString("base64")],
    ["in base64 between others", Buffer.from(`user:${ODD} and more`).toString("base64")],
  ])("finds a secret %s", (_form, text) => {
    const redacted = redact(`before ${text} after`);
    expect(redacted).toContain("[redacted]");
    expect(redacted).not.toContain(text);
    expect(redacted).toMatch(/^before .* after$/);
  });

  it("matches the longer of two secrets with the same beginning", () => {
    expect(createRedactor(["secret", "secret-and-more"])("the secret-and-more and the secret.")).toBe(
      "the [redacted] and the [redacted].",
    );
  });

  it("ignores values of fewer than six characters, which are ordinary words", () => {
    expect(createRedactor(["y", "n", "abcde", ""])("y n abcde")).toBe("y n abcde");
  });

  it("keeps text without secrets", () => {
    const text =
      'A risk-averse task-force-of-many-people wrote {"tokens": 123456} and a tokenizer; authorization was given.';
    expect(redact(text)).toBe(text);
  });
});

describe("redaction by pattern", () => {
  const redact = createRedactor([]);

  it.each<[text: string, expected: string]>([
    [`key ${KEY}.`, "key [redacted]."],
    ["Incorrect API key provided: sk-abcdefghijklmnop1234", "Incorrect API key provided: [redacted]"],
    ["Authorization: Bearer abcdef", "Authorization: Bearer [redacted]"],
    ["authorization: Basic dXNlcjpw", "authorization: Basic [redacted]"],
    ['curl -H "Authorization: Bearer abc.def" x', 'curl -H "Authorization: Bearer [redacted]" x'],
    ["sent as bearer eyJhbGciOi.J9.x-y_z==", "sent as bearer [redacted]"],
    ["https://x.test/?api_key=abc&q=1", "https://x.test/?api_key=[redacted]&q=1"],
    ["OPENAI_API_KEY=abc", "OPENAI_API_KEY=[redacted]"],
    ["export TW_CONSUMER_SECRET_KEY='a b'", "export TW_CONSUMER_SECRET_KEY='[redacted] b'"],
    ["x-api-key: abc, y", "x-api-key: [redacted], y"],
    ['{"api_key":"a\\"b","n":1}', '{"api_key":"[redacted]","n":1}'],
    ['{"password": 12345678}', '{"password": "[redacted]"}'],
    ["{'access_token': 'abc def'}", "{'access_token': '[redacted]'}"],
    [JSON.stringify({ text: '{"apiKey": "abc def"}' }), JSON.stringify({ text: '{"apiKey": "[redacted]"}' })],
    ["ghp_abcdefghijklmnopqrst and AKIAABCDEFGHIJKLMNOP", "[redacted] and [redacted]"],
  ])("%s", (text, expected) => {
    expect(redact(text)).toBe(expected);
    expect(redact(expected)).toBe(expected);
  });

  it.each([
    '{"api_key=":"abc"}',
    '["password:", "abc"]',
    '{"password:":1}',
    '{"password":null,"x":true}',
    '{"a":"authorization: " }',
    '["the password is \\"x\\": password=\\"y\\""]',
  ])("keeps %s valid JSON", (text) => {
    expect(() => JSON.parse(redact(text))).not.toThrow();
  });

  it("reads megabytes of hostile text in linear time", () => {
    const pieces = ["sk-", "bearer ", 'password":"', "api_key=", "authorization: basic ", "\\", "authorization\\\\"];
    for (const piece of pieces) expect(redact(piece.repeat(400_000)).length).toBeGreaterThan(0);
    for (const start of ['{"api_key":"', "api_key=", "sk-", "bearer ", "password: '"])
      for (const piece of ["x", "\\n", "\\\\", "="])
        expect(() => redact(start + piece.repeat(3_000_000))).not.toThrow();
  });

  it("needs no deep stack where V8 no longer optimises patterns, as in a process that has run for long", () => {
    const program = `
      import { createRedactor } from "./src/util/redact.ts";
      const redact = createRedactor(["planted-secret-value"]);
      console.log(redact("api_key=" + "\\\\".repeat(6_000_000)).length);`;
    const args = ["--no-regexp-optimization", "--input-type=module", "--eval", program];
    expect(Number(execFileSync(process.execPath, args, { encoding: "utf8" }))).toBeGreaterThan(6_000_000);
  });
});

describe("redaction of JSON", () => {
  it.each<[title: string, secret: string, value: unknown]>([
    ["a bare number", "1234567", { tokens: 1234567 }],
    ["part of a number", "1234567", [0.12345678]],
    ["a secret with quotes and commas", '","b":"', { a: "", b: "x" }],
    ["a secret made of JSON", "true,false", [true, false]],
    ["a name", "hunter2", { hunter2: 1, "my password": "" }],
  ])("keeps it valid when the secret is %s", (_title, secret, value) => {
    const redacted = createRedactor([secret])(JSON.stringify(value));
    expect(() => JSON.parse(redacted)).not.toThrow();
  });

  it("keeps any JSON valid, hides every secret, and needs one pass", () => {
    const secrets = fc.string({ minLength: 6, maxLength: 30, unit: "grapheme" });
    fc.assert(
      fc.property(fc.jsonValue(), secrets, fc.string(), (value, secret, around) => {
        const redact = createRedactor([secret]);
        const text = JSON.stringify({ value, text: around + secret + around });
        const redacted = redact(text);
        expect(() => JSON.parse(redacted)).not.toThrow();
        expect(JSON.parse(redacted).text).not.toContain(secret);
        expect(redact(redacted)).toBe(redacted);
      }),
      { numRuns: 300 },
    );
  });
});
