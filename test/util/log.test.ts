import { execFile, execFileSync } from "node:child_process";
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type LogOptions, openLog } from "#util/log.ts";
import { createRedactor, createValueRedactor } from "#util/redact.ts";
import { waitingToJson } from "#views/waiting.ts";
import { useFolder } from "../helpers/folder.ts";

const KEY = "sk-proj-A1b2C3d4E5f6G7h8J9k0";
const at = useFolder();
let folder = "";
beforeEach(() => {
  folder = at("log");
});

const file = () => join(folder, "goald.log");
const lines = async () => (await readFile(file(), "utf8")).split("\n").slice(0, -1);
const records = async () => (await lines()).map((line) => JSON.parse(line) as Record<string, unknown>);
const open = (options: Partial<LogOptions> = {}) =>
  openLog({ folder, level: "info", redact: createRedactor([KEY, "hunter2"]), ...options });

describe("the log", () => {
  it("has one JSON object per line, with its time, in a file that only its owner can read", async () => {
    const log = await open();
    log.info({ step: 3 }, "asked");
    log.debug("not at this level");
    expect(await records()).toEqual([
      { level: 30, time: expect.stringMatching(/^\d{4}-.*Z$/), pid: process.pid, step: 3, msg: "asked" },
    ]);
    expect((await lstat(file())).mode & 0o777).toBe(0o600);
    expect((await lstat(folder)).mode & 0o777).toBe(0o700);
  });

  it("is appended to by the next process, and closed to others", async () => {
    (await open()).info("first");
    await chmod(file(), 0o644);
    (await open()).info("second");
    expect((await records()).map((record) => record.msg)).toEqual(["first", "second"]);
    expect((await lstat(file())).mode & 0o777).toBe(0o600);
  });

  it("writes nothing when it is silent", async () => {
    (await open({ level: "silent" })).error("nothing");
    expect(await readdir(folder)).toEqual([]);
  });

  it.each<[title: string, record: object]>([
    ["a field", { key: KEY }],
    ["a deep field", { a: { b: { c: [`the key ${KEY}`] } } }],
    ["a name", { [KEY]: 1 }],
    ["an error", { err: new Error(`401 Incorrect API key provided: ${KEY}`) }],
    ["an unknown header", { headers: { authorization: "Bearer abcdefgh" } }],
    ["an argument", { args: ["-H", "Authorization: Bearer abcdefgh"] }],
    ["a key cut by an escape sequence", { text: `${KEY.slice(0, 9)}\u001b[0m${KEY.slice(9)}` }],
    ["a key cut by a raw control character", { text: `${KEY.slice(0, 9)}\u0085${KEY.slice(9)}` }],
  ])("shows no secret in %s", async (_title, record) => {
    (await open()).info(record, "sent");
    const [line = ""] = await lines();
    expect(line).toContain("[redacted]");
    expect(line).not.toContain(KEY);
    expect(line).not.toContain("abcdefgh");
    expect(JSON.parse(line)).toMatchObject({ msg: "sent" });
  });

  it.each<[title: string, text: string, shown: string]>([
    ["an escape sequence", "a\u001b[2Jb", "ab"],
    ["a carriage return", "rm -rf\rls", "rm -rf\nls"],
    ["ordinary text", "✓ 漢字\ttab\nline \\u001b as text", "✓ 漢字\ttab\nline \\u001b as text"],
  ])("has no control characters from %s", async (_title, text, shown) => {
    (await open()).info({ [`name ${text}`]: text }, text);
    const [record] = await records();
    expect(record).toMatchObject({ msg: shown, [`name ${shown}`]: shown });
  });

  it("continues in the file with the name after another program has rotated or removed the old one", async () => {
    const log = await open();
    log.info("first");
    await rename(file(), `${file()}.old`);
    log.info("second");
    expect((await records()).map((record) => record.msg)).toEqual(["second"]);
    await rm(file());
    log.info("third");
    expect((await records()).map((record) => record.msg)).toEqual(["third"]);
    expect((await lstat(file())).mode & 0o777).toBe(0o600);
    expect(await readFile(`${file()}.old`, "utf8")).not.toContain("second");
  });

  it("loses no line when two processes write and rotate it", async () => {
    const logs = [await open({ maxBytes: 2_000 }), await open({ maxBytes: 2_000 })];
    for (let at = 0; at < 60; at++) logs[at % 2]?.info({ at }, "x".repeat(40));
    const names = (await readdir(folder)).sort((a, b) => (a < b ? 1 : -1));
    expect(names).toEqual(["goald.log.3", "goald.log.2", "goald.log.1", "goald.log"]);
    const all = (await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")))).join("");
    const found = Array.from(all.matchAll(/"at":(\d+)/g), ([, at]) => Number(at));
    expect(found).toEqual(Array.from({ length: 60 }, (_, at) => at).slice(-found.length));
    expect(found.length).toBeGreaterThan(40);
  });
});

describe("a log that cannot be written", () => {
  it.each<[title: string, spoil: () => Promise<unknown>]>([
    ["when its folder is a file", () => writeFile(folder, "")],
    ["when a folder has its name", () => mkdir(file(), { recursive: true })],
  ])("loses lines with one report, %s", async (_title, spoil) => {
    await spoil();
    const problems: string[] = [];
    const log = await open({ onProblem: (problem) => problems.push(problem) });
    for (let number = 0; number < 3; number++) expect(() => log.error("lost")).not.toThrow();
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(file());
  });

  it("names a link in its place, and writes nothing through it", async () => {
    await mkdir(folder);
    const target = join(folder, "target");
    await writeFile(target, "mine");
    await symlink(target, file());
    const problems: string[] = [];
    (await open({ onProblem: (problem) => problems.push(problem) })).error("lost");
    expect(problems[0]).toContain("goald.log are lost: it is a link, and could lead to any file. Remove the link. ");
    expect(await readFile(target, "utf8")).toBe("mine");
  });

  it("continues after a value that throws when it is read", async () => {
    const log = await open();
    const hostile = {
      get value() {
        throw new Error("no");
      },
    };
    expect(() => log.info(hostile, "lost")).not.toThrow();
    log.info("next");
    expect((await records()).map((record) => record.msg)).toContain("next");
  });

  it("begins a new line after a write that stopped inside a line", async () => {
    const program = `
      import { openLog } from "#util/log.ts";
      const log = await openLog({ folder: ${JSON.stringify(folder)}, level: "info", redact: (text) => text, onProblem: console.log });
      for (let number = 0; number < 30; number++) log.info("x".repeat(200));
      console.log("still here");`;
    await mkdir(folder);
    const script = 'ulimit -f 4; exec "$0" --input-type=module -e "$1"';
    const { stdout } = await promisify(execFile)("sh", ["-c", script, process.execPath, program]);
    expect(stdout).toContain("are lost");
    expect(stdout).toContain("still here");
    (await open()).info("after");
    expect(JSON.parse((await lines()).at(-1) ?? "")).toMatchObject({ msg: "after" });
  });
});

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
    ["in hex", Buffer.from(ODD).toString("hex")],
    ["in hex of large letters", Buffer.from(ODD).toString("hex").toUpperCase()],
    ["in base64 between others", Buffer.from(`user:${ODD} and more`).toString("base64")],
    ["twice in a URL", encodeURIComponent(encodeURIComponent(ODD))],
    ["in HTML", ODD.replace("&", "&amp;").replace('"', "&quot;").replace("/", "&#x2F;").replace("+", "&#43;")],
  ])("finds a secret %s", (_form, text) => {
    const redacted = redact(`before ${text} after`);
    expect(redacted).toContain("[redacted]");
    expect(redacted).not.toContain(text);
    expect(redacted).toMatch(/^before .* after$/);
  });

  it("matches the longer of two secrets with the same beginning, and none of fewer than six characters", () => {
    expect(createRedactor(["secret", "secret-and-more"])("the secret-and-more and the secret.")).toBe(
      "the [redacted] and the [redacted].",
    );
    expect(createRedactor(["y", "n", "abcde", ""])("y n abcde")).toBe("y n abcde");
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
    ["postgres://app:hunter2@db.test/x", "postgres://app:[redacted]@db.test/x"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END", "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END"],
    ['{"password":"\nexec(y)\n# "', '{"password":"[redacted]\nexec(y)\n# "'],
    ["-----BEGIN PGP PRIVATE KEY BLOCK-----\nDEK-Info: A-1\nlQ=", "-----BEGIN PGP PRIVATE KEY BLOCK-----[redacted]"],
    ['{"token":"abc","pwd":"a b"}', '{"token":"[redacted]","pwd":"[redacted]"}'],
    ["https://x.test/?token=abc&q=1", "https://x.test/?token=[redacted]&q=1"],
    ["JWT_SECRET=abc AccountKey=abc==;", "JWT_SECRET=[redacted] AccountKey=[redacted];"],
    ["GITHUB_TOKEN=abc", "GITHUB_TOKEN=[redacted]"],
  ])("%s", (text, expected) => {
    expect(redact(text)).toBe(expected);
    expect(redact(expected)).toBe(expected);
  });

  const LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zC";
  const HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
  const STARTS_OF_LETTERS =
    "glpat- xai- pplx- nvapi- ya29. GOCSPX- hvs. xapp-1- dckr_pat_ sntrys_ figd_ CFPAT- sk_live_ rk_test_ whsec_ " +
    "npm_wxyz pypi- lin_api_ r8_ ntn_abcdefgh";
  const STARTS_OF_HEX = `dapi shpat_ sk_abcdef01 dop_v1_abcdef01 key- SK PMAK-${"0".repeat(24)}-`;
  it.each([
    ...STARTS_OF_LETTERS.split(" ").map((start) => start + LETTERS),
    ...STARTS_OF_HEX.split(" ").map((start) => start + HEX),
    `SG.${LETTERS}.${LETTERS}`,
    `1234567890:AA${LETTERS}x`,
    `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${LETTERS}`,
    `https://hooks.slack.com/services/T0/B0/${LETTERS}`,
    `https://discord.com/api/webhooks/12345/${LETTERS}`,
  ])("hides the key in %s", (key) => {
    expect(redact(`a ${key} b`)).toMatch(/^a (?:https:\S+\/)?\[redacted\] b$/);
  });

  it.each([
    "https://x.test/a:b@c ssh://git@github.com:22/x mailto:a:b@c",
    "npm_config_cache pypi-server sk_live r8_is_a_name glpat- eyJ.eyJ.",
    "The secret: a token. max_tokens=4096, a pwd=",
    'A risk-averse task-force-of-many-people wrote {"tokens": 123456} and a tokenizer; authorization was given.',
    `commit ${HEX}01234567, at 12345678:AB`,
    'api_key=exec(code) password = 1+eval(x) password == y password:\n exec(z) api_key=os.environ["X"] Bearer authentication',
    // The page's session, in a reply of the API.
    `{"secret":"${HEX}${HEX}"}`,
  ])("keeps %s", (text) => {
    expect(redact(text)).toBe(text);
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
    const pieces = [
      ..."sk- -eyJx .eyJxxxxxxxx a://b: api_key= \\ authorization\\\\ api_key=x( &#97; &amp; %252".split(" "),
      ...["-----BEGIN PRIVATE KEY-----", "bearer ", 'password":"', "authorization: basic "],
    ];
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
    const redact = createRedactor([secret]);
    expect(() => JSON.parse(redact(JSON.stringify(value)))).not.toThrow();
    const waiting = { kind: "approval", value };
    const scrub = createValueRedactor([secret]);
    expect(() => JSON.parse(waitingToJson({ waiting }, { redact, scrub }))).not.toThrow();
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
