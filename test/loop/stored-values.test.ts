import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { defineCommand, type Probe, succeed } from "#core/command.ts";
import { type BlobRef, HEAD_CHARS, isBlobRef } from "#core/text.ts";
import { restoreValue, type Storing, storeValue } from "#loop/stored-values.ts";
import { createValueRedactor } from "#util/redact.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";
import { cutPowerAt, PowerCut } from "../helpers/power-cut.ts";

const SECRET = "sk-test-1234567890abcdef";
const scrub = createValueRedactor([SECRET]);
const LONG = "å line of text\n".repeat(4_000);
const FACTS = { readOnly: false, destructive: false, idempotent: false, openWorld: false };
/** Names that goald itself uses for its own words elsewhere in events. */
const OWN_NAMES = "code status type kind by mode source effect outcome at until approve".split(" ");

/** Stores texts in memory. */
function createStore(): Storing & { read(text: string | BlobRef): Promise<string> } {
  const texts = new Map<string, string>();
  return {
    scrub,
    spill: (text) => {
      const blob = texts.size.toString(16).padStart(64, "0");
      texts.set(blob, text);
      return { blob, bytes: Buffer.byteLength(text), head: text.slice(0, HEAD_CHARS).toWellFormed() };
    },
    read: async (text) => (typeof text === "string" ? text : (texts.get(text.blob) as string)),
  };
}
const forged = (json = false) => ({ blob: "f".repeat(64), bytes: 3, head: "abc", ...(json ? { json: true } : {}) });

describe("an argument", () => {
  it.each(OWN_NAMES)("called %s is scrubbed and spilled as any other", async (name) => {
    const schema = { type: "object", properties: { [name]: { type: "string", description: "text" } } } as const;
    const given: unknown[] = [];
    const take = defineCommand({
      ...{ name: "take", label: "Take", summary: "Takes a text.", args: schema, annotations: FACTS },
      run: async (args) => {
        given.push((args as Record<string, unknown>)[name]);
        return succeed("Taken.");
      },
    });
    const loop = await makeLoop({
      script: [reply("take", { [name]: `key ${SECRET}` }), reply("take", { [name]: LONG }), done()],
      commands: [take],
    });
    await loop.run({ scrub });
    expect(given).toEqual(["key [redacted]", LONG]);
    expect(JSON.stringify(await loop.events())).not.toContain(SECRET);
    const args = (await loop.events()).flatMap((event) =>
      event.type === "command-requested" ? [event.call.args] : [],
    );
    expect(isBlobRef(args[1]?.[name])).toBe(true);
  });

  it("is scrubbed and spilled at any depth, in names too", async () => {
    const store = createStore();
    const value = { code: [{ status: `a ${SECRET}`, [`type ${SECRET}`]: LONG }] };
    const stored = storeValue(value, "json", store);
    expect(JSON.stringify(stored)).not.toContain(SECRET);
    expect(JSON.stringify(stored).length).toBeLessThan(2 * HEAD_CHARS);
    expect(await restoreValue(stored, store.read)).toEqual({
      code: [{ status: "a [redacted]", "type [redacted]": LONG }],
    });
  });

  it("that looks like a reference to a text is given back as it is, and reads no text", async () => {
    const store = createStore();
    const value = { one: forged(), two: [forged(true)] };
    const stored = storeValue(value, "json", store);
    expect(JSON.stringify(stored)).not.toContain('"blob":"f');
    expect(await restoreValue(stored, store.read)).toEqual(value);
  });

  it("of any JSON comes back as it was, when it holds no secret", async () => {
    const any = fc.letrec((tie) => ({
      value: fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant(LONG), fc.constant(forged()), tie("list")),
      list: fc.oneof(
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie("value"), { maxKeys: 4 }),
      ),
    })).value;
    await fc.assert(
      fc.asyncProperty(any, async (value) => {
        const json = JSON.parse(JSON.stringify(value));
        const store = createStore();
        expect(await restoreValue(JSON.parse(JSON.stringify(storeValue(json, "exact", store))), store.read)).toEqual(
          json,
        );
      }),
    );
  });
});

describe("what `prepare` returned", () => {
  const NO_ARGS = { type: "object", properties: {} } as const;
  const makeWitness = (prepared: unknown, found: Probe = "not-done") => {
    const seen: { probe: unknown[]; run: unknown[] } = { probe: [], run: [] };
    const command = defineCommand({
      ...{ name: "witness", label: "Witness", summary: "Looks.", args: NO_ARGS, annotations: FACTS },
      effect: "reconcilable",
      prepare: async () => prepared,
      run: async (_args, _context, given) => {
        seen.run.push(given);
        return succeed("Seen.");
      },
      probe: async (_args, _context, given) => {
        seen.probe.push(given);
        return found;
      },
    });
    return { command, seen };
  };

  it.each<[title: string, prepared: unknown]>([
    ["a text of 40,000 characters", { before: "é".repeat(40_000) }],
    ["long texts in nested objects and lists", { a: [{ before: LONG }, [LONG, { c: LONG }]] }],
    ["what resembles a reference to a text", { before: forged(), list: [forged(true)] }],
    ["half surrogate pairs and NUL, short and long", { short: "\ud800 \u0000", long: "\ud800\u0000".repeat(30_000) }],
    ["goald's own words as names", { code: LONG, status: "x", type: "exact", text: forged() }],
    ["a bare text", LONG],
    ["nothing", null],
  ])("comes back after a crash byte for byte: %s", async (_title, prepared) => {
    const { command, seen } = makeWitness(prepared);
    const loop = await makeLoop({ script: [reply("witness"), done()], commands: [command] });
    await expect(loop.run({ scrub, store: cutPowerAt(4, "before") })).rejects.toThrow(PowerCut);
    await loop.run({ scrub });
    expect(seen).toEqual({ probe: [prepared], run: [prepared, prepared] });
  });

  it.each<[title: string, prepared: unknown]>([
    ["in a text", { token: `Bearer ${SECRET}` }],
    ["in a name, deep inside", [{ a: { [SECRET]: 1 } }]],
  ])("is refused before the effect when it holds a known secret %s", async (_title, prepared) => {
    const { command, seen } = makeWitness(prepared);
    const loop = await makeLoop({ script: [reply("witness"), done()], commands: [command] });
    await loop.run({ scrub });
    expect(seen.run).toEqual([]);
    const events = await loop.events();
    expect(events.filter(({ type }) => type === "command-started")).toHaveLength(1);
    expect(events.find((event) => event.type === "command-finished")?.observation).toMatchObject({
      status: "failed",
      code: "secret-prepared",
      text: expect.stringContaining("holds a secret"),
    });
    expect(JSON.stringify(loop.model.requests)).not.toContain(SECRET);
  });

  it("is refused when it is nested too deeply for the log", async () => {
    const { command, seen } = makeWitness(JSON.parse(`${"[".repeat(3_000)}${"]".repeat(3_000)}`));
    const loop = await makeLoop({ script: [reply("witness"), done()], commands: [command] });
    await loop.run();
    expect(seen.run).toEqual([]);
    expect((await loop.of("command-finished"))[0]?.observation).toMatchObject({
      code: "command-invalid",
      text: expect.stringContaining("at most 64 levels"),
    });
  });
});

describe("a reply whose arguments are nested 5,000 levels deep", () => {
  it.each([
    ["lists", "[", "]"],
    ["objects", '{"a":', "}"],
  ])("is a bad reply that names the allowed depth, and is bought once: %s", async (_title, open, close) => {
    const deep = `{"thoughts":{"text":"x"},"command":{"name":"do_nothing","args":{"a":${open.repeat(5_000)}1${close.repeat(5_000)}}}}`;
    const short = `{"thoughts":{"text":"x"},"command":{"name":"do_nothing","args":{"a":${open.repeat(600)}1${close.repeat(600)}}}}`;
    const loop = await makeLoop({ script: [deep, short, done()] });
    await loop.run();
    expect(loop.model.requests).toHaveLength(3);
    const events = await loop.events();
    const problems = events.flatMap((event) => (event.type === "reply-rejected" ? event.problems : []));
    expect(problems).toEqual(Array(2).fill(expect.stringMatching(/at most 64 levels/)));
    expect(events.at(-1)?.type).toBe("turn-finished");
  });
});
