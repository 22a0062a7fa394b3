import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { folderOf } from "#core/subagent.ts";
import { chainLink, chainStart } from "#store/chain.ts";
import { storeError } from "#store/failure.ts";
import { highestEpoch } from "#store/fork.ts";
import { isoTime } from "#store/rows.ts";
import { freeSlug, slugOf } from "#store/slug.ts";
import { requireSqlite } from "#store/sqlite/connection.ts";
import { canonicalJson } from "#util/json.ts";
import { said, stamped } from "../contracts/store-builders.ts";
import { asked } from "../helpers/events.ts";

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
};

describe("canonical JSON", () => {
  it("means the same as JSON.stringify for every value", () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true }), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value) ?? "null"));
      }),
    );
  });

  it("gives one text for one value, in every order of keys", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it.each<[value: unknown, text: string]>([
    [{ b: 1, a: [{ d: null, c: undefined }], 10: "x", 9: "y" }, '{"10":"x","9":"y","a":[{"d":null}],"b":1}'],
    [{ é: 1, z: 2, Z: 3 }, '{"Z":3,"z":2,"é":1}'],
    ["\u0000\uD800\u2028", '"\\u0000\\ud800\u2028"'],
    [[Number.NaN, -0, 1e21, undefined], "[null,0,1e+21,null]"],
    [JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
  ])("%j", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });
});

describe("the hash chain", () => {
  it("depends on the agent, on every text and on their order", () => {
    const ends = [
      ["foo", "a", "b"],
      ["bar", "a", "b"],
      ["foo", "b", "a"],
      ["foo", "a", "c"],
      ["foo", "ab", ""],
    ].map(([agent = "", ...texts]) => texts.reduce((link, text) => chainLink(link, text), chainStart(agent)));
    expect(new Set(ends).size).toBe(ends.length);
  });
});

describe("an agent's id", () => {
  it.each<[name: string, id: string]>([
    ["Foo", "foo"],
    ["  Tennis  String-Finder 2.0! ", "tennis-string-finder-2-0"],
    ["Zoë’s Müsli", "zoes-musli"],
    ["日本語エージェント ガ", "日本語エージェント-ガ"],
    ["Мой агент", "мой-агент"],
    ["हिन्दी", "हिन्दी"],
    ["한국어", "한국어"],
    ["İstanbul", "istanbul"],
    ["ﬁne ①", "fine-1"],
    ["🤖", "agent"],
    ["", "agent"],
    ["...", "agent"],
    ["../../etc/passwd", "etc-passwd"],
    ["--help", "help"],
    ["a\u0000b\u202Ec\u200Dd", "a-bcd"],
    ["\u0301\u0301x", "x"],
    ["\uD800", "agent"],
    ["CON", "agent-con"],
    ["com¹", "agent-com1"],
    ["nul.txt", "nul-txt"],
    ["Conrad", "conrad"],
    ["x".repeat(500), "x".repeat(48)],
    [`${"x".repeat(47)} y`, "x".repeat(47)],
  ])("of %j is %s", (name, id) => {
    expect(slugOf(name)).toBe(id);
  });

  it("is a valid file name on every system for every name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        const id = slugOf(name);
        expect(id).toMatch(/^[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*$/u);
        expect(id).not.toMatch(/-$|^(con|prn|aux|nul|com\d|lpt\d)$/);
        expect(Buffer.byteLength(id)).toBeLessThan(200);
      }),
    );
  });

  it("takes the first free number, and avoids numbers that make a device", () => {
    const taken = new Set(["foo", "foo-2", "foo-4"]);
    expect(freeSlug("Foo", (id) => taken.has(id))).toBe("foo-3");
    expect(freeSlug("COM", (id) => id === "com")).toBe("com-2");
    expect([folderOf("b", null), folderOf("b", "a/agents/x")]).toEqual(["b", "a/agents/x/agents/b"]);
  });
});

describe("times", () => {
  it("are converted to the form whose text order is time order", () => {
    expect(isoTime("2026-11-20T11:00:00+01:00")).toBe("2026-11-20T10:00:00.000Z");
    expect(() => isoTime("tomorrow")).toThrow('got "tomorrow"');
  });
});

describe("failures of the machine", () => {
  it.each<[title: string, thrown: object, code: string]>([
    ["no space", { errcode: 13 }, "GOALD_STORE_FULL"],
    ["a refused write", { errcode: 778 }, "GOALD_STORE_FULL"],
    ["a quota", { code: "EDQUOT" }, "GOALD_STORE_FULL"],
    ["a refused read", { errcode: 266 }, "GOALD_STORE_DAMAGED"],
    ["a broken page", { errcode: 11 }, "GOALD_STORE_DAMAGED"],
    ["a table that is gone", { errcode: 1, message: "no such table: event" }, "GOALD_STORE_DAMAGED"],
    ["a read-only file", { errcode: 8 }, "GOALD_HOME_UNWRITABLE"],
    ["a folder of another user", { code: "EACCES" }, "GOALD_HOME_UNWRITABLE"],
    ["another writer", { errcode: 5 }, "GOALD_ALREADY_RUNNING"],
    ["a row that is there", { errcode: 1555 }, "GOALD_CONFLICT"],
    ["a mistake of ours", { errcode: 1 }, "GOALD_INTERNAL"],
    ["anything else", {}, "GOALD_INTERNAL"],
  ])("get their own code: %s", (_title, thrown, code) => {
    const error = storeError(Object.assign(new Error("as SQLite says"), thrown), "/home/goald.db");
    expect(error).toMatchObject({ code, message: expect.stringContaining("(") });
  });
});

describe("an SQLite with the WAL-reset bug", () => {
  it.each(["3.51.2", "3.9.9", "3.50.99", "2.99.99"])("%s is refused", (version) => {
    expect(() => requireSqlite(version)).toThrow(`or newer, got ${version}.`);
  });
  it.each(["3.51.3", "3.51.4", "3.52.0", "4.0.0"])("%s is accepted", (version) => {
    expect(() => requireSqlite(version)).not.toThrow();
  });
});

it("finds the highest epoch of a long log, and at least the given one", () => {
  const [word, question] = stamped(1, said("x"), { ...asked(), epoch: 7 });
  if (!word || !question) throw new Error("Expected two events.");
  const log = Array.from({ length: 300_000 }, (_, at) => (at === 5 ? question : word));
  expect([highestEpoch(log, 1), highestEpoch(log, 9), highestEpoch([], 2)]).toEqual([7, 9, 2]);
});
