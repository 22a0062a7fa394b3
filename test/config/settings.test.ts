import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { Ajv } from "ajv";
import fc from "fast-check";
import { findSecrets, isAllowed, loadSettings, type SettingSources } from "#config/load-settings.ts";
import { describeSettings, renderEnvTemplate } from "#config/make-home.ts";
import {
  DEFAULT_BASE_URL,
  findSetting,
  readDefaults,
  SETTINGS,
  type Setting,
  type SettingName,
  type Settings,
  valueAt,
} from "#config/settings.ts";
import { refusalOf, useFolder } from "../helpers/folder.ts";

const at = useFolder();
beforeEach(() => mkdir(at("config")));

const home = () => ({ envFile: at(".env"), configFolder: at("config") });
const jsonFile = () => at("config", "goald.json");
interface Sources {
  readonly flags?: SettingSources["flags"];
  readonly env?: Record<string, string>;
  readonly file?: string;
  readonly json?: unknown;
}
async function load(sources: Sources) {
  if (sources.file !== undefined) await writeFile(home().envFile, sources.file, { mode: 0o600 });
  const { json } = sources;
  if (json !== undefined) await writeFile(jsonFile(), typeof json === "string" ? json : JSON.stringify(json));
  return loadSettings({ flags: sources.flags ?? {}, env: sources.env ?? {}, home: home() });
}
async function refusal(sources: Sources): Promise<string> {
  const { code, message } = await refusalOf(load(sources));
  expect(code).toBe("GOALD_CONFIG");
  return message;
}

describe("the settings table", () => {
  it("has a valid default for every setting, none for anything else, and no name and no variable twice", async () => {
    const namesIn = (value: unknown, prefix: string): readonly string[] =>
      typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([name, inner]) => namesIn(inner, prefix === "" ? name : `${prefix}.${name}`))
        : [prefix];
    expect(namesIn(readDefaults(), "").toSorted()).toEqual(SETTINGS.map(({ name }) => name).toSorted());
    expect(SETTINGS.filter(({ name, schema }) => !isAllowed(valueAt(readDefaults(), name), schema))).toEqual([]);
    expect(valueAt(readDefaults(), "openai.baseUrl")).toBe(DEFAULT_BASE_URL);
    for (const names of [SETTINGS.map((row) => row.name), SETTINGS.flatMap((row) => row.environment)])
      expect(new Set(names).size).toBe(names.length);
  });

  it("has a description of every setting, in order, without a default for the key", () => {
    const rows = describeSettings();
    expect(rows.map((row) => row.name)).toEqual(SETTINGS.map((row) => row.name));
    expect(rows[0]).toMatchObject({ name: "openai.apiKey", environment: ["OPENAI_API_KEY"], default: "unset" });
    expect(rows.every((row) => row.meaning.endsWith(".") && row.environment.length > 0)).toBe(true);
  });

  it("has its common variables in .env.example, which fits a screen and equals the .env of new homes, for frozen settings", async () => {
    const text = await readFile(".env.example", "utf8");
    const names = [...text.matchAll(/^#? ?([A-Z_]+)=/gm)].map((match) => match[1]);
    expect(names).toEqual(expect.arrayContaining(["OPENAI_API_KEY", "OPENAI_BASE_URL", "SMART_LLM", "TAVILY_API_KEY"]));
    for (const name of names) expect(findSetting(name ?? "").environment[0]).toBe(name);
    expect(text.split("\n").length).toBeLessThanOrEqual(26);
    expect(text).toBe(renderEnvTemplate());
    const { settings } = await load({ file: text.replace(/^# (?=[A-Z_]+=)/gm, "") });
    expect(settings).toEqual((await load({ file: "" })).settings);
    expect(Object.isFrozen(settings) && Object.isFrozen(settings.models)).toBe(true);
  });
});

describe("the source of a setting", () => {
  const flags = { "models.temperature": 0.1 };
  const env = { TEMPERATURE: "0.2" };
  const file = "TEMPERATURE=0.3\n";
  const json = { models: { temperature: 0.4 } };
  const nothing = { flags: {}, env: {}, file: "", json: {} };

  it.each<[title: string, sources: Sources, value: number | null, layer: string]>([
    ["a flag beats everything", { flags, env, file, json }, 0.1, "flag"],
    ["the environment beats .env and goald.json", { ...nothing, env, file, json }, 0.2, "environment"],
    [".env beats goald.json", { ...nothing, file, json }, 0.3, ".env"],
    ["a wrong value is ignored when a stronger source is right", { env, file: "TEMPERATURE=hot" }, 0.2, "environment"],
    ["goald.json beats the default", { ...nothing, json }, 0.4, "goald.json"],
    ["the default applies last", nothing, null, "default"],
    ["a flag that was not given is ignored", { flags: { "models.temperature": undefined }, env }, 0.2, "environment"],
    ["a variable of blanks is ignored", { env: { TEMPERATURE: "  " }, json }, 0.4, "goald.json"],
    ["null in goald.json unsets", { json: { models: { temperature: null } } }, null, "goald.json"],
    ["none in a variable unsets the value of goald.json", { env: { TEMPERATURE: "none" }, json }, null, "environment"],
  ])("%s", async (_title, sources, value, layer) => {
    const loaded = await load(sources);
    expect(loaded.settings.models.temperature).toBe(value);
    expect(loaded.originOf("models.temperature")).toMatchObject({ layer });
  });

  it("is kept with its variable and file", async () => {
    const env = { GOALD_LOG_LEVEL: "warn" };
    const loaded = await load({ file: "SMART_LLM_MODEL=a\n", json: { models: { fast: "b" } }, env });
    expect(loaded.originOf("models.smart")).toEqual({ layer: ".env", name: "SMART_LLM_MODEL", file: home().envFile });
    expect(loaded.originOf("models.fast")).toEqual({ layer: "goald.json", name: "models.fast", file: jsonFile() });
    expect(loaded.originOf("log.level")).toEqual({ layer: "environment", name: "GOALD_LOG_LEVEL", file: "" });
    expect(loaded.originOf("agents.form").layer).toBe("default");
  });

  it.each<[env: Record<string, string>, name: SettingName, value: unknown]>([
    [{ OPENAI_BASE_URL: "http://a.test", OPENAI_API_BASE_URL: "http://b.test" }, "openai.baseUrl", "http://a.test"],
    [{ OPENAI_API_BASE_URL: "http://b.test/v1/" }, "openai.baseUrl", "http://b.test/v1"],
    [{ OPENAI_BASE_URL: " http://[::1]:8080 " }, "openai.baseUrl", "http://[::1]:8080"],
    [{ OPENAI_BASE_URL: "localhost:8080/v1/" }, "openai.baseUrl", "http://localhost:8080/v1"],
    [{ OPENAI_BASE_URL: "127.0.0.1:8080" }, "openai.baseUrl", "http://127.0.0.1:8080"],
    [{ OPENAI_BASE_URL: "[::1]" }, "openai.baseUrl", "http://[::1]"],
    [{ SMART_LLM: "new", SMART_LLM_MODEL: "old" }, "models.smart", "new"],
    [{ FAST_LLM_MODEL: "old" }, "models.fast", "old"],
    [{ SMART_TOKEN_LIMIT: "8000" }, "models.contextTokens", 8000],
    [{ GOALD_MODELS_CONTEXT_TOKENS: "9000", SMART_TOKEN_LIMIT: "8000" }, "models.contextTokens", 9000],
    [{ TEMPERATURE: "0" }, "models.temperature", 0],
    [{ GOALD_WEB_ROBOTS: "True" }, "web.robots", true],
    [{ GOALD_WEB_ROBOTS: "False" }, "web.robots", false],
    [{ GOALD_AGENTS_APPROVE: "Never" }, "agents.approve", "never"],
    [{ OPENAI_API_KEY: " sk-abc \t" }, "openai.apiKey", "sk-abc"],
    [{ OPENAI_API_KEY: "your-openai-api-key" }, "openai.apiKey", null],
    [{ OPENAI_API_KEY: "<your key>" }, "openai.apiKey", null],
    [{ OPENAI_API_KEY: "sk-..." }, "openai.apiKey", null],
    [{ GOALD_LIMITS_UNATTENDED_USD: "0.25" }, "limits.unattendedUsd", 0.25],
    [{ GOALD_LIMITS_UNATTENDED_USD: "none" }, "limits.unattendedUsd", null],
    [{ GITHUB_API_KEY: "https://gitlab.test=glpat-1" }, "git.apiKey", "https://gitlab.test=glpat-1"],
  ])("reads %j", async (env, name, value) => {
    expect(valueAt((await load({ env })).settings, name)).toBe(value);
    const lines = Object.entries(env).map(([variable, text]) => `${variable}="${text}"`);
    expect(valueAt((await load({ file: lines.join("\n") })).settings, name)).toBe(value);
  });

  it.each<[json: unknown, name: SettingName, value: string]>([
    [{ openai: { baseUrl: `${DEFAULT_BASE_URL}/` } }, "openai.baseUrl", DEFAULT_BASE_URL],
    [{ openai: { baseUrl: "localhost:8080/v1" } }, "openai.baseUrl", "http://localhost:8080/v1"],
    [{ agents: { approve: "Never" } }, "agents.approve", "never"],
  ])("reads %j of goald.json as it reads a variable", async (json, name, value) => {
    expect(valueAt((await load({ json })).settings, name)).toBe(value);
  });

  it("ignores a placeholder in goald.json", async () => {
    const loaded = await load({ json: { openai: { apiKey: "your-openai-api-key" } } });
    expect(loaded.settings.openai.apiKey).toBeNull();
    expect(loaded.originOf("openai.apiKey").layer).toBe("default");
  });
});

describe("a wrong setting", () => {
  it.each<[title: string, sources: Sources, said: (string | RegExp)[]]>([
    ["a word for a number", { env: { TEMPERATURE: "hot" } }, ["TEMPERATURE (environment)", "from 0 to 2", '"hot"']],
    ["a number out of range", { file: "TEMPERATURE=3" }, [/TEMPERATURE \(.*\.env\)/, "from 0 to 2", '"3"']],
    ["hexadecimal", { env: { GOALD_MODELS_REPLY_TOKENS: "0x100" } }, ["_REPLY_TOKENS", "from 100 to 1,000,000"]],
    ["a fraction", { env: { GOALD_RECALL_COUNT: "1.5" } }, ["a whole number", '"1.5"']],
    ["infinity", { env: { TEMPERATURE: "Infinity" } }, ['"Infinity"']],
    ["an unknown choice", { env: { GOALD_AGENTS_APPROVE: "maybe" } }, ["one of always, risky, never", '"maybe"']],
    ["neither yes nor no", { env: { GOALD_WEB_ROBOTS: "maybe" } }, ["true or false"]],
    ["an address without a scheme", { env: { OPENAI_BASE_URL: "x.test:11434" } }, ["OPENAI_BASE_URL", "http"]],
    ["a host that begins like this machine", { env: { OPENAI_BASE_URL: "localhost.x.test:1" } }, ["OPENAI_BASE_URL"]],
    ["an address with credentials", { env: { OPENAI_BASE_URL: "https://u:p@x.test/v1" } }, ["without credentials"]],
    ["a private server without a scheme", { env: { GOALD_WEB_ALLOW: "192.168.1.5" } }, ["GOALD_WEB_ALLOW"]],
    ["one invalid server of several", { env: { GOALD_WEB_ALLOW: "http://a.b, http://[x" } }, ["GOALD_WEB_ALLOW"]],
    ["an unknown provider", { env: { GOALD_SEARCH_PROVIDERS: "brave,bing" } }, ["tavily, serper, brave"]],
    ["an address with a query", { env: { OPENAI_BASE_URL: "https://x.test/v1?key=1" } }, ["query"]],
    ["an impossible port", { env: { OPENAI_BASE_URL: "http://x.test:99999" } }, ["OPENAI_BASE_URL"]],
    ["broken JSON", { env: { GOALD_SANDBOX_LOCATION: '{"a"' } }, ["GOALD_SANDBOX_LOCATION", "a JSON object"]],
    ["a key of no origin", { env: { GITHUB_API_KEY: "https://gitlab.test/=k" } }, ["https://gitlab.com=KEY"]],
    ["a flag", { flags: { "agents.approve": "loud" } }, ["agents.approve (command line)", '"loud"']],
    ["null where it must be set", { json: { agents: { approve: null } } }, [/approve \(.*goald\.json\)/, "got null"]],
    ["a list in goald.json", { json: { models: { smart: ["a"] } } }, ["models.smart", '["a"]']],
    ["control characters, which are not shown", { env: { SMART_LLM: "a\u001b[2J b" } }, ["SMART_LLM"]],
  ])("is refused: %s", async (_title, sources, said) => {
    const message = await refusal(sources);
    for (const part of said) expect(message).toMatch(part);
    expect(message).not.toContain("\u001b");
  });

  it("is not shown when it is secret", async () => {
    const message = await refusal({ env: { OPENAI_API_KEY: "sk-secret\nInjected: header" } });
    expect(message).toContain("OPENAI_API_KEY (environment)");
    expect(message).not.toContain("secret");
  });

  it.each(["ftp://user:hunter2-hunter2@host/v1", "ftp://host/v1?api-key=hunter2-hunter2"])(
    "is shown without what may be secret in an address: %s",
    async (url) => expect(await refusal({ env: { OPENAI_BASE_URL: url } })).not.toContain("hunter2"),
  );

  it("is reported together with all others", async () => {
    const env = { TEMPERATURE: "hot", GOALD_AGENTS_APPROVE: "x" };
    const message = await refusal({ env, file: "GOALD_LOG_LEVEL=too loud\n" });
    expect(message.split("\n")).toHaveLength(3);
  });
});

it.each<[json: unknown, said: RegExp]>([
  [{ temprature: 1 }, /"temprature" is not a setting.*"models\.temperature"/],
  [{ models: { smrt: "x" } }, /"models\.smrt".*"models\.smart"/],
  [{ modles: { smart: "x" } }, /"modles" is not a setting.*"models\.smart"/],
  ['{"__proto__":{"models":{}}}', /"__proto__" is not a setting/],
  [{ somethingAltogetherDifferent: 1 }, /is not a setting of goald\.$/],
  [{ models: "gpt" }, /models must be an object with names such as smart/],
  [{ "models.smart": "x" }, /"models\.smart" has a dot.*\{"models": \{"smart": …\}\}/],
  [{ search: { "tavily.apiKey": "tvly-abcdef" } }, /"search\.tavily\.apiKey" has a dot/],
  [[], /it must be an object with names such as openai, models, /],
  ["", /is not valid JSON/],
  ['{\n  "temperature": 1,\n}', /is not valid JSON \(line 3 column 1\)/],
  ['{"openai":{"apiKey":"sk-abcdef"}', /is not valid JSON/],
])("goald.json is refused when it is %j", async (json, said) => {
  const message = await refusal({ json });
  expect(message).toMatch(said);
  expect(message).toContain("goald.json");
  expect(message).not.toContain("abcdef");
});

describe.each([
  ["goald.json", jsonFile],
  [".env", () => home().envFile],
])("%s", (_name, file) => {
  it.each<[title: string, make: (path: string) => Promise<unknown>, said: RegExp]>([
    ["a folder", (path) => mkdir(path), /it is a folder/],
    ["too big", (path) => writeFile(path, "#".repeat(70_000)), /more than 65536/],
    ["not text", (path) => writeFile(path, new Uint8Array([0xff, 0xfe, 0x7b])), /not UTF-8/],
    ["UTF-16", (path) => writeFile(path, Buffer.from("\ufeffA=b", "utf16le")), /not UTF-8/],
    ["a pipe", async (path) => execFileSync("mkfifo", [path]), /not a regular file/],
  ])("is refused when it is %s", async (_title, make, said) => {
    await make(file());
    const message = await refusal({});
    expect(message).toMatch(said);
    expect(message).toContain(file());
  });
});

describe("a home's .env", () => {
  it("never changes the environment of this process", async () => {
    const before = { ...process.env };
    const file =
      "NODE_OPTIONS=--require /tmp/evil.js\nPATH=/tmp/evil\nLD_PRELOAD=/tmp/evil.so\nOPENAI_API_KEY=sk-abcdef\n";
    const { settings } = await load({ file });
    expect(process.env).toEqual(before);
    expect(settings.openai.apiKey).toBe("sk-abcdef");
  });

  it.each<[title: string, file: string]>([
    ["another prototype", "__proto__=x\nconstructor=y\ntoString=z"],
    ["a quote that is never closed", "OTHER='abc\nSMART_LLM=kept"],
    ["lines without names or values", "=x\n====\nabc\n\u0000\n  # only a comment"],
    ["Windows line ends and a byte order mark", "\ufeffSMART_LLM=kept\r\nFAST_LLM=other\r\n"],
    ["export, blanks and comments", "  export   SMART_LLM =  kept   # why"],
    ["sixty kilobytes of blanks", `${" ".repeat(30_000)}\n${"\t".repeat(30_000)}SMART_LLM=kept`],
    ["the name twice", "SMART_LLM=first\nSMART_LLM=kept"],
  ])("may hold %s", async (_title, file) => {
    const { settings } = await load({ file });
    expect(settings.models.smart).toBe(file.includes("kept") ? "kept" : "gpt-4.1");
    expect(Object.getPrototypeOf(settings)).toBe(Object.prototype);
  });

  it("gets a note when it holds a key that other users can read", async () => {
    await load({ file: "OPENAI_API_KEY=sk-abcdef" });
    expect((await load({})).notes).toEqual([]);
    await chmod(home().envFile, 0o644);
    expect((await load({})).notes).toEqual([expect.stringContaining("chmod 600")]);
    await writeFile(home().envFile, "SMART_LLM=x");
    expect((await load({})).notes).toEqual([]);
  });

  it.each([
    ["OPENAI_API_KEY sk-abcdef", "OPENAI_API_KEY"],
    ["  export SMART_LLM", "SMART_LLM"],
    ["SMART_LLM = x\nFAST_LLM: y\nEMBED=\n# OPENAI_API_KEY is needed\nNOTE to myself"],
  ])("gets a note, without the value, when it names a setting without =: %j", async (file, ...names) => {
    const { notes } = await load({ file });
    expect(notes).toEqual(names.map((name) => expect.stringMatching(`^${name} in .* is ignored: .* ${name}=VALUE$`)));
  });
});

describe("notes and secrets", () => {
  it("notes an unknown GOALD_ variable and suggests the nearest", async () => {
    const { notes } = await load({ env: { GOALD_LIMITS_UNATENDED_STEPS: "5", GOALD_HOME: "/x", OTHER: "y" } });
    expect(notes).toEqual([expect.stringMatching(/GOALD_LIMITS_UNATENDED_STEPS .* GOALD_LIMITS_UNATTENDED_STEPS\?/)]);
  });

  it("notes a variable of AutoGPT that goald does not read, in .env alone", async () => {
    expect((await load({ file: "EXIT_KEY=n" })).notes).toEqual([
      "EXIT_KEY is not a setting of goald. The answers are y and n.",
    ]);
    expect((await load({ file: "", env: { EXIT_KEY: "n" } })).notes).toEqual([]);
  });

  it("lists every secret of every source, used or not", async () => {
    const { secrets } = await load({
      env: {
        OPENAI_API_KEY: "sk-one",
        DATABASE_URL: "postgres://user:p%40ssw0rd@db.test/x",
        SMART_TOKEN_LIMIT: "128000",
        HOME: "/home/person",
        OTHER_TOKEN: "false",
      },
      file: "OPENAI_API_KEY=sk-two\nPINECONE_API_KEY=pc-three\nTW_ACCESS_TOKEN_SECRET=four-44\nGITHUB_PAT=five-55\nSD_WEBUI_AUTH=six:seven",
      json: { openai: { apiKey: "sk-eight" }, pinecone: { apiKey: "pc-nine" } },
    });
    const expected = "sk-one p%40ssw0rd p@ssw0rd sk-two pc-three four-44 five-55 six:seven sk-eight pc-nine".split(" ");
    expect(secrets.toSorted()).toEqual(expected.toSorted());
  });
});

const settings = readDefaults() as Settings;

describe("findSecrets", () => {
  const foundIn = (name: string, value: string) => findSecrets([settings], { [name]: value });

  it("treats a value as a secret unless redacting it would damage ordinary text", () => {
    const secrets = ["sk-planted-0123", "correct horse battery", "hunter2", "12345678"];
    const others = ["finished", "example", "policy", "true", "123456", "x-1"];
    expect([...secrets, ...others].flatMap((value) => foundIn("DB_PASSWORD", value))).toEqual(secrets);
  });

  it("finds the values of names that tell of a secret, and of no others", () => {
    const names = `OPENAI_API_KEY_2 API_KEYS OPENAI_API_KEY_BACKUP githubToken HFTOKEN PGPASS MYSQL_PWD ADMIN_PW
      PRIVATE_KEY_PEM SSH_KEY_BASE64 GOOGLE_CREDENTIALS_JSON SESSION_COOKIE SLACK_WEBHOOK_URL BASIC_AUTH GITHUB_PAT
      SENTRY_DSN PGPASSWORD JWT_SECRET AZURE_STORAGE_CONNECTION_STRING KEY_PASSPHRASE`.split(/\s+/);
    expect(names.filter((name) => foundIn(name, "Zx9-planted").join() !== "Zx9-planted")).toEqual([]);
    const others = "PWD OLDPWD PATH SSH_AUTH_SOCK BYPASS COMPASS AUTHOR KEYMAP MAX_TOKEN_COUNT TOKEN_URL".split(" ");
    expect(others.flatMap((name) => foundIn(name, "/home/me/x9"))).toEqual([]);
  });

  it.each([
    ["postgres://app:p4ss-word@db.test/x", "p4ss-word"],
    ["Server=db.test;Password=p4ss-word;Encrypt=yes", "p4ss-word"],
    ["jdbc:postgresql://db.test/x?user=app&password=p4ss-word", "p4ss-word"],
  ])("finds the password in %s", (value, password) => {
    expect(foundIn("DATABASE", value)).toEqual([password]);
  });
});

describe("isAllowed", () => {
  it(`agrees with ajv on each of ${SETTINGS.length} settings`, () => {
    const ajv = new Ajv();
    for (const row of SETTINGS) {
      const byAjv = ajv.compile(row.schema);
      const values = valuesFor(row);
      const allowed = values.filter((value) => isAllowed(value, row.schema));
      expect({ row, allowed }).toEqual({ row, allowed: values.filter((value) => byAjv(value)) });
      // Without both kinds of values the test would prove nothing.
      expect(allowed.length % values.length).toBeGreaterThan(0);
    }
  });

  it("supports every keyword that the table uses", () => {
    const known = ["type", "nullable", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum"];
    const used = SETTINGS.flatMap(({ schema }) => Object.keys(schema));
    expect(used.filter((keyword) => !known.includes(keyword))).toEqual([]);
  });
});

/** Values near the limits of a row, of its own type, and of every other type. */
function valuesFor({ schema, name }: Setting): readonly unknown[] {
  const { minimum = 0, maximum = 1, minLength = 0, maxLength = 30, pattern, enum: choices = [] } = schema;
  const lengths = [minLength - 1, minLength, maxLength, maxLength + 1].filter((length) => length >= 0);
  return [
    ...[minimum, maximum].flatMap((limit) => [limit - 1, limit - 0.5, limit, limit + 0.5, limit + 1]),
    ...[-0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53],
    // The second is one character of two code units.
    ...lengths.flatMap((length) => ["x".repeat(length), "😀".repeat(length)]),
    ...["", "\ud800", "\n", "a\n", "é", "\u0000", "http://h/v1", "https://u@h/", "sk-1"],
    ...(pattern ? fc.sample(fc.stringMatching(new RegExp(pattern, "u")), 100) : []),
    ...fc.sample(fc.string({ unit: "binary" }), 50),
    ...choices.flatMap((choice) => [choice, choice?.toUpperCase()]),
    ...[null, undefined, true, false, [], {}, valueAt(readDefaults(), name)],
  ];
}
