import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openJsonCache } from "#config/private-file.ts";
import { mergeIntoTurns } from "#model/in-turns.ts";
import { type SentParts, stepDown } from "#model/step-down.ts";
import { createTermsKeeper, FULL_TERMS } from "#model/terms.ts";
import { fakeClock } from "../helpers/fake-clock.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-terms-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const SENT: SentParts = {
  mode: "json_schema",
  asObject: false,
  stream: true,
  streamOptions: true,
  temperature: true,
  toolChoice: false,
  strictTools: false,
  turns: false,
  reasoningEffort: false,
  stop: false,
  cap: null,
  isBare: false,
};
const said = (message: string, status = 400) => ({ status, body: JSON.stringify({ error: { message } }) });
const clock = fakeClock();
const keeper = (server = "http://a/v1") =>
  createTermsKeeper(server, clock, openJsonCache(folder, "model-servers.json"));

describe("the terms of a model server", () => {
  it("persist per server and model in their own file", async () => {
    await keeper().heed("m", SENT, said("json_schema is not supported"));
    await keeper("http://b/v1").heed("m", SENT, said("stream is not supported"));
    await keeper().noteContext("n", 4096);
    expect(await keeper().of("m")).toEqual({ ...FULL_TERMS, mode: "json_object" });
    expect(await keeper().of("n")).toEqual({ ...FULL_TERMS, contextTokens: 4096 });
    expect(await keeper("http://b/v1").of("m")).toEqual({ ...FULL_TERMS, without: ["stream"] });
    expect(await keeper("http://c/v1").of("m")).toEqual(FULL_TERMS);
    expect((await stat(join(folder, "model-servers.json"))).mode & 0o777).toBe(0o600);
  });

  it("expire after a week", async () => {
    await keeper().heed("m", SENT, said("json_schema is not supported"));
    await clock.advance(7 * 24 * 3_600_000 - 1_000);
    expect((await keeper().of("m")).mode).toBe("json_object");
    await clock.advance(2_000);
    expect((await keeper().of("m")).mode).toBe("json_schema");
  });

  it.each([
    "",
    "no JSON",
    "[]",
    '{"version": 2}',
    '{"version":1,"servers":{"http://a/v1":{"m":{"terms":{"mode":"x"}}}}}',
  ])("are ignored in a file with %j", async (content) => {
    await writeFile(join(folder, "model-servers.json"), content);
    expect(await keeper().of("m")).toEqual(FULL_TERMS);
    await keeper().heed("m", SENT, said("json_schema is not supported"));
    expect((await keeper().of("m")).mode).toBe("json_object");
  });

  it("are kept in memory if the file cannot be written", async () => {
    await rm(folder, { recursive: true });
    const terms = keeper();
    await terms.heed("m", SENT, said("json_schema is not supported"));
    expect((await terms.of("m")).mode).toBe("json_object");
  });

  it("do not keep a trial that failed", async () => {
    const terms = keeper();
    expect(await terms.heed("m", SENT, said("No."))).toBe(true);
    expect((await terms.of("m")).mode).toBe("plain");
    expect(await keeper().of("m")).toEqual(FULL_TERMS);
    expect(await terms.heed("m", { ...SENT, mode: "plain", isBare: true }, said("No."))).toBe(false);
    expect(await terms.of("m")).toEqual(FULL_TERMS);
    await terms.heed("m", SENT, said("No."));
    await terms.taken("m");
    expect((await keeper().of("m")).mode).toBe("plain");
  });

  it("count only consecutive unreadable replies in the current mode", async () => {
    const terms = keeper();
    for (const isReadable of [false, true, false]) await terms.noteReply("m", "json_schema", isReadable);
    expect((await terms.of("m")).mode).toBe("json_schema");
    await terms.noteReply("m", "json_schema", false);
    expect((await terms.of("m")).mode).toBe("json_object");
    for (const _ of [1, 2, 3]) await terms.noteReply("m", "json_schema", false);
    expect((await terms.of("m")).mode).toBe("json_object");
    for (const _ of [1, 2, 3]) await terms.noteReply("m", "json_object", false);
    for (const _ of [1, 2, 3]) await terms.noteReply("m", "plain", false);
    expect((await terms.of("m")).mode).toBe("plain");
    for (const _ of [1, 2, 3]) await terms.noteReply("m", "plan", false);
    expect((await terms.of("m")).without).toEqual(["json_object"]);
    expect(JSON.parse(await readFile(join(folder, "model-servers.json"), "utf8"))).toMatchObject({ version: 1 });
  });
});

describe("the message of a rejection", () => {
  it.each<[string, number, string, object]>([
    ["Groq", 400, "This model does not support response format `json_schema`.", { mode: "json_object" }],
    ["OpenAI", 400, "Invalid schema for response_format 'reply': In context=()", { mode: "json_object" }],
    [
      "OpenAI, without the field's name",
      400,
      "Invalid schema: Objects provided via 'anyOf' must not share identical first keys.",
      { mode: "json_object" },
    ],
    ["LM Studio", 400, "'response_format.type' must be 'text'", { mode: "plain" }],
    ["vLLM", 400, "The guided decoding backend failed to compile the grammar", { mode: "json_object" }],
    [
      "Gemini",
      400,
      "The specified schema produces a constraint that has too many states for serving. response_format",
      { mode: "json_object" },
    ],
    ["OpenRouter", 404, "No endpoints found that can handle the requested parameters.", { mode: "plain" }],
    ["a template", 500, "Conversation roles must alternate user/assistant/user/assistant/...", { turns: true }],
    [
      "OpenAI o-series",
      400,
      "Unsupported value: 'temperature' does not support 0.5 with this model.",
      { without: ["temperature"] },
    ],
    ["a proxy", 400, "Unknown field stream_options", { without: ["stream_options"] }],
    ["an organization", 400, "Your organization must be verified to stream this model.", { without: ["stream"] }],
  ])("of %s is understood", (_title, status, message, change) => {
    expect(stepDown(FULL_TERMS, SENT, said(message, status))).toEqual({
      kind: "change",
      terms: { ...FULL_TERMS, ...change },
    });
  });

  it.each<[string, number, string]>([
    ["a busy server", 503, "response_format is fine, I am not"],
    ["a broken stream", 500, "stream closed"],
    ["a missing model", 404, "The model does not exist"],
  ])("of %s is not", (_title, status, message) => {
    expect(stepDown(FULL_TERMS, SENT, said(message, status)).kind).toBe("none");
  });

  it("does not come from the request that FastAPI echoes", () => {
    const detail = [{ loc: ["body", "messages"], msg: "bad", input: { stream: true, response_format: {} } }];
    expect(stepDown(FULL_TERMS, SENT, { status: 422, body: JSON.stringify({ detail }) }).kind).toBe("unnamed");
  });

  it("about a part that was not sent changes nothing", () => {
    const bare: SentParts = {
      ...SENT,
      mode: "plain",
      stream: false,
      streamOptions: false,
      temperature: false,
      isBare: true,
    };
    expect(stepDown(FULL_TERMS, bare, said("stream, temperature, response_format")).kind).toBe("unnamed");
  });

  it("about the JSON of an action leaves the mode of other replies as it is", () => {
    const sent: SentParts = { ...SENT, mode: "plan", asObject: true };
    const without = { ...FULL_TERMS, without: ["json_object"] };
    expect(stepDown(FULL_TERMS, sent, said("response_format is not supported"))).toEqual({
      kind: "change",
      terms: without,
    });
  });

  it("never undoes what another agent learned meanwhile", () => {
    const plain = { ...FULL_TERMS, mode: "plain" as const };
    expect(stepDown(plain, SENT, said("json_schema"))).toEqual({ kind: "change", terms: plain });
  });
});

describe("mergeIntoTurns", () => {
  it("joins neighbours and puts a user message before the first assistant", () => {
    expect(
      mergeIntoTurns([
        { role: "system", content: "rules" },
        { role: "assistant", content: "a" },
        { role: "user", content: "b" },
        { role: "user", content: "c" },
      ]),
    ).toEqual([
      { role: "system", content: "rules" },
      { role: "user", content: expect.any(String) },
      { role: "assistant", content: "a" },
      { role: "user", content: "b\n\nc" },
    ]);
  });
});
