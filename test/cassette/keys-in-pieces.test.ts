import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ofType } from "#cassette/format.ts";
import { readCassette } from "#cassette/recording-file.ts";
import { endedWith, type Goald, linesOf } from "../helpers/goald.ts";
import { append, highestTask, replyWith } from "../helpers/numbered-model.ts";
import type { Answer, ChatRequest } from "../helpers/openai-answers.ts";
import { type RecordedRun, recordRun } from "../helpers/recorded-run.ts";

const PLAIN = "MARKERkey-7f3a9c1e5b2d8f604a6c";
const ODD = 'MARKER"o\\d/d key+é&%';

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

const cut = (text: string, chars: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / chars) }, (_, at) => text.slice(at * chars, (at + 1) * chars));
const chunkOf = (delta: object, reason: string | null = null): string =>
  JSON.stringify({ id: "x", choices: [{ index: 0, delta, finish_reason: reason }] });

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
      return { status: 200, headers, body: gzipSync(chunks.map((chunk) => `data: ${chunk}\n\n`).join("")) };
    };
    run = await recordRun(reply, { env: { OPENAI_API_KEY: PLAIN }, dotenv: `GITHUB_TOKEN='${ODD}'\n`, json: true });
    goald = run.goald;
    endedWith(0, run.ended);
  });
  afterAll(() => run.close());

  it("holds no form of it in its lines", async () => {
    const path = join(goald.cwd, "t.ndjson");
    const text = await readFile(path, "utf8");
    expect(written.filter(([, secret]) => text.includes(secret))).toEqual([]);
    const answers = readCassette(path).sessions.flatMap((session) => ofType(session, "answer"));
    expect(answers.filter(({ answer }) => JSON.stringify(answer).includes("[redacted]"))).toHaveLength(written.length);
  });

  it("replays without the keys to the same events and state", async () => {
    const ended = await goald.ask(["replay", "t.ndjson", "--json"], { env: { OPENAI_API_KEY: undefined } });
    const last = linesOf(endedWith(0, ended)).at(-1) ?? {};
    expect(last).toMatchObject({ same: true, step: written.length + 1, problems: [] });
    const { same, all } = last.events as { same: number; all: number };
    expect(same).toBe(all);
  });
});
