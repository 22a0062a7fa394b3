import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { decodeBody } from "#cassette/body.ts";
import { ofType } from "#cassette/format.ts";
import { readCassette } from "#cassette/read-cassette.ts";
import { redactReply } from "#cassette/redact-stream.ts";
import { readModelAnswer } from "#model/read-answer.ts";
import { createRedactor } from "#util/redact.ts";
import { endedWith, type Goald, linesOf } from "../helpers/goald.ts";
import { append, highestTask, replyWith } from "../helpers/numbered-model.ts";
import type { Answer, ChatRequest } from "../helpers/openai-answers.ts";
import { type RecordedRun, recordRun } from "../helpers/recorded-run.ts";

const PLAIN = "MARKERkey-7f3a9c1e5b2d8f604a6c";
const ODD = 'MARKER"o\\d/d key+é&%';
const redact = createRedactor([PLAIN, ODD]);

const escapeUnits = (text: string): string =>
  text.replace(/[a-z]/g, (unit) => `\\u00${unit.charCodeAt(0).toString(16).toUpperCase()}`);
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const base64 = (text: string): string => Buffer.from(`user:${text}:more`).toString("base64");

/** Writes a secret as texts hold it, and returns the part that must not survive. */
const FORMS: readonly (readonly [name: string, write: (secret: string) => string])[] = [
  ["plain", (secret) => secret],
  ["in JSON", json],
  ["in JSON in JSON", (secret) => json(json(secret))],
  ["with escaped letters", (secret) => escapeUnits(json(secret))],
  ["with letters escaped twice", (secret) => json(escapeUnits(json(secret)))],
  ["in a URL", encodeURIComponent],
  ["in a URL with escaped letters", (secret) => encodeURIComponent(secret).replaceAll("k", "%6b")],
  ["in a form", (secret) => new URLSearchParams([["", secret]]).toString().slice(1)],
  ["in base64", base64],
  ["in base64url", (secret) => base64(secret).replaceAll("+", "-").replaceAll("/", "_")],
  ["in HTML", (secret) => secret.replaceAll("&", "&amp;").replaceAll('"', "&quot;")],
];
const written = [PLAIN, ODD].flatMap((secret) => FORMS.map(([name, write]) => [name, write(secret)] as const));

/** Where servers put the text of a reply. */
const PLACES: Readonly<Record<string, (piece: string, index: number) => object>> = {
  content: (content) => ({ content }),
  parts: (text) => ({
    content: [
      { type: "text", text: text.slice(0, 2) },
      { type: "text", text: text.slice(2) },
    ],
  }),
  reasoning: (reasoning_content) => ({ reasoning_content }),
  refusal: (refusal) => ({ refusal }),
  arguments: (text, index) => ({
    tool_calls: [
      { index: 0, ...(index === 0 ? { id: "c", type: "function" } : {}), function: { name: "", arguments: text } },
    ],
  }),
  "arguments without an index": (text, index) => ({
    tool_calls: [{ ...(index === 0 ? { index: 0, id: "c" } : {}), function: { arguments: text } }],
  }),
  function_call: (text) => ({ function_call: { arguments: text } }),
};
const LAYOUTS: Readonly<Record<string, (chunks: readonly string[]) => string>> = {
  "blank lines": (chunks) => chunks.map((chunk) => `data: ${chunk}\n\n`).join(""),
  "CR LF and comments": (chunks) => chunks.map((chunk) => `: ping\r\nevent: message\r\ndata:${chunk}\r\n\r\n`).join(""),
  "no blank lines": (chunks) => chunks.map((chunk) => `data: ${chunk}\n`).join(""),
  "several lines for a chunk": (chunks) =>
    chunks.map((chunk) => `data: ${chunk.replace(/^\{/, "{\ndata: ")}\n\n`).join(""),
};

const cut = (text: string, chars: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / chars) }, (_, at) => text.slice(at * chars, (at + 1) * chars));
const chunkOf = (delta: object, reason: string | null = null): string =>
  JSON.stringify({ id: "x", choices: [{ index: 0, delta, finish_reason: reason }] });

const chunksOf = (text: string, place: string, chars: number): readonly string[] => [
  ...cut(text, chars).map((piece, index) => chunkOf(PLACES[place]?.(piece, index) ?? {})),
  chunkOf({}, "stop"),
];
interface Message {
  readonly content: string | null;
  readonly refusal: string | null;
  readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
  readonly function_call?: { readonly arguments: string };
}
/** Reads a stream as the model client does, and returns all texts of the reply. */
async function readTexts(body: string): Promise<string> {
  const pieces: string[] = [];
  const options = { firstMs: 9_000, idleMs: 9_000, maxChars: 1e6, onText: (piece: string) => pieces.push(piece) };
  const answer = await readModelAnswer(new Response(body), options);
  const { choices } = answer as { choices: [{ message: Message }] };
  const { content, refusal, tool_calls: calls, function_call: call } = choices[0].message;
  return [content, refusal, ...(calls ?? []).map(({ function: called }) => called.arguments), call?.arguments]
    .filter((text) => typeof text === "string")
    .join("");
}
/** All strings of all JSON texts in a body, joined by the name of their member. */
function joinStrings(body: string): readonly string[] {
  const joined = new Map<string, string>();
  const add = (name: string, value: unknown): void => {
    if (typeof value === "string") joined.set(name, (joined.get(name) ?? "") + value);
    else for (const [key, inner] of Object.entries(value ?? {})) add(Number.isNaN(Number(key)) ? key : name, inner);
  };
  for (const line of body.split(/\r?\n/)) {
    const data = line.replace(/^data: ?/, "");
    if (data.startsWith("{") && data.endsWith("}")) add("", JSON.parse(data));
  }
  return [...joined.values()];
}

describe("a recorded stream", () => {
  it.each(Object.keys(PLACES))(
    "loses a key that is cut over its pieces in %s, in every form and size",
    async (place) => {
      for (const [name, text] of written)
        for (const chars of [1, 3, 7, 1_000]) {
          const whole = `{"thoughts":{"text":"My key is ${text}, keep it."},"n":1}`;
          const body = LAYOUTS["blank lines"]?.(chunksOf(whole, place, chars)) ?? "";
          const redacted = redactReply(body, redact);
          const found = [redacted, ...joinStrings(redacted)].filter((each) => each.includes(text));
          expect({ name, chars, found }).toEqual({ name, chars, found: [] });
          if (place !== "reasoning") expect(await readTexts(redacted)).toBe(redact(whole));
          // The control: the pieces held it.
          expect(joinStrings(body)).toContainEqual(expect.stringContaining(text));
        }
    },
  );

  it.each(Object.keys(LAYOUTS))("stays a valid stream with %s", async (layout) => {
    const whole = `one ${PLAIN} two ${PLAIN} three \u{1f600} four`;
    const body = LAYOUTS[layout]?.([...chunksOf(whole, "content", 5), "[DONE]"]) ?? "";
    const redacted = redactReply(body, redact);
    expect(await readTexts(redacted)).toBe("one [redacted] two [redacted] three \u{1f600} four");
    expect(redacted.split("data:").length).toBeGreaterThan(15);
    expect(redactReply(redacted, redact)).toBe(redacted);
  });

  it("keeps every byte of a stream without secrets, also pieces that look like a key by themselves", () => {
    const pieces = ["a ri", "sk-averse-but-otherwise-harmless plan", " tok", "en of thanks"];
    for (const write of Object.values(LAYOUTS)) {
      const body = write([...pieces.map((content) => chunkOf({ content })), "[DONE]"]);
      expect(redactReply(body, redact)).toBe(body);
    }
  });

  it("loses a key in lines that are not JSON, in JSON lines without events, and in the parts of a document", () => {
    const [one, two] = [PLAIN.slice(0, 9), PLAIN.slice(9)];
    const parts = [one, two].map((text) => ({ type: "text", text }));
    for (const body of [
      `data: ${one}\n\ndata: ${two}\n\n`,
      `{"response":"${one}"}\n{"response":"${two}"}\n`,
      JSON.stringify({ choices: [{ message: { content: parts } }] }),
      `data: {"choices":[{"delta":{"__proto__":"${one}"}}]}\n\ndata: {"choices":[{"delta":{"__proto__":"${two}"}}]}\n`,
      `data: {"note":"${PLAIN}"}\n: ${PLAIN}\n`,
    ]) {
      const redacted = redactReply(body, redact);
      expect(redacted).not.toContain(PLAIN);
      expect(redacted.includes(one) && redacted.includes(two)).toBe(false);
    }
  });
});

describe("a recording of a run whose model repeats the key in pieces", () => {
  let run: RecordedRun;
  let goald: Goald;
  beforeAll(async () => {
    const reply = (request: ChatRequest): Answer => {
      const next = highestTask(request) + 1;
      const [, text = ""] = written[next - 1] ?? [];
      if (next > written.length)
        return replyWith({ name: "task_complete", args: { reason: "done" } }, `Task ${next} of 9`);
      const whole = replyWith(append(`${next} ${text} and ${json(text)}\n`), `Task ${next} of 9`);
      // Every third reply reports no usage, and another one is compressed.
      if (next % 3 === 0) return { text: whole, usage: null, streamed: { pieces: cut(whole, 4) } };
      if (next % 3 === 1) return { text: whole, streamed: { pieces: cut(whole, next) } };
      const chunks = [...cut(whole, 5).map((content) => chunkOf({ content })), chunkOf({}, "stop"), "[DONE]"];
      const headers = { "content-type": "text/event-stream", "content-encoding": "gzip" };
      return { status: 200, headers, body: gzipSync(LAYOUTS["blank lines"]?.(chunks) ?? "") };
    };
    run = await recordRun(reply, { env: { OPENAI_API_KEY: PLAIN }, dotenv: `GITHUB_TOKEN='${ODD}'\n`, json: true });
    goald = run.goald;
    endedWith(0, run.ended);
  });
  afterAll(() => run.close());

  it("holds no form of it, neither in its lines nor in the joined texts of its streams", async () => {
    const path = join(goald.cwd, "t.ndjson");
    const exchanges = readCassette(path).sessions.flatMap((session) => ofType(session, "exchange"));
    const bodies = exchanges.flatMap(({ response }) =>
      "body" in response ? [Buffer.from(decodeBody(response.body)).toString()] : [],
    );
    const texts = [await readFile(path, "utf8"), ...bodies, ...bodies.flatMap(joinStrings)];
    const found = written.filter(([, text]) => texts.some((each) => each.includes(text)));
    expect(found).toEqual([]);
    expect(bodies.flatMap(joinStrings).filter((text) => text.includes("[redacted]"))).toHaveLength(written.length);
  });

  it("replays without the keys to the same events and state", async () => {
    const ended = await goald.ask(["replay", "t.ndjson", "--json"], { env: { OPENAI_API_KEY: undefined } });
    const last = linesOf(endedWith(0, ended)).at(-1) ?? {};
    expect(last).toMatchObject({ same: true, step: written.length + 1, problems: [] });
    const { same, all } = last.events as { same: number; all: number };
    expect(same).toBe(all);
  });
});
