/**
 * floor.ts -- the child of the bench that goald is compared with: a bare loop with the same input and output.
 *
 * The same client, a streamed reply, a system message and a last message of the same size, the same schema for
 * the server to hold the reply to, a window of nine messages, the reply as JSON, the same append with its fsync,
 * and two durable commits a step that write as many rows of the same size as goald's. No recall, no embedding, no
 * check of the reply, no policy, no hash chain, no check of paths, no recovery, no limits on time or bytes: what
 * goald costs more is what those cost.
 */
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { OpenAI } from "openai";
import type { ResponseFormatJSONSchema } from "openai/resources/shared.js";
import { readJob, startMeter } from "./meter.ts";

/** Measured in goald's database after the same run: data of one row, the links of the hash chain included. */
const ROW_BYTES = {
  asked: 457,
  replied: 926,
  requested: 385,
  approved: 190,
  started: 411,
  finished: 329,
  memory: 305,
  file: 180,
  agent: 200,
};
const WINDOW_MESSAGES = 9;

interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}
interface Reply {
  readonly thoughts: Readonly<Record<string, string>>;
  readonly command: { readonly name: string; readonly args: { readonly file: string; readonly text: string } };
}
type Row = { readonly table: "event" | "memory" | "file_version"; readonly data: string };

const { steps, baseUrl, folder, systemChars, lastMessageChars, replyFormat } = readJob();
const meter = startMeter(steps);
const file = join(folder, "floor.db");
const database = new DatabaseSync(file);
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE agent (no INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT; INSERT INTO agent VALUES (1, '');
  CREATE TABLE event (no INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT;
  CREATE TABLE memory (no INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT;
  CREATE TABLE file_version (no INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT`);
const begin = database.prepare("BEGIN IMMEDIATE");
const insert = {
  event: database.prepare("INSERT INTO event (data) VALUES (?)"),
  memory: database.prepare("INSERT INTO memory (data) VALUES (?)"),
  file_version: database.prepare("INSERT INTO file_version (data) VALUES (?)"),
};
const moveHead = database.prepare("UPDATE agent SET data = ? WHERE no = 1");
const commit = database.prepare("COMMIT");

const openai = new OpenAI({ baseURL: baseUrl, apiKey: "bench", maxRetries: 0, timeout: 300_000, logLevel: "off" });
const system: Message = { role: "system", content: "rule ".repeat(systemChars / 5) };
/** In the place of goald's recalls. */
const recalls = "some fact ".repeat(lastMessageChars / 10);
const window: Message[] = [];
let unsaved: Row[] = [];
let head = 0;

for (let step = 1; step <= steps; step++) {
  record("event", "asked", { step });
  save();
  const last: Message = { role: "user", content: `It is ${new Date().toISOString()}. ${recalls}` };
  const stream = await openai.chat.completions.create({
    model: "gpt-4.1",
    messages: [system, ...window, last],
    stream: true,
    stream_options: { include_usage: true },
    ...(replyFormat ? { response_format: replyFormat as ResponseFormatJSONSchema } : {}),
  });
  let text = "";
  let usage: unknown;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    usage = chunk.usage ?? usage;
  }
  record("event", "replied", { step, text, usage });
  const { thoughts, command } = JSON.parse(text) as Reply;
  record("event", "requested", { step, command, thought: thoughts.speak });
  record("event", "approved", { step });
  record("event", "started", { step });
  save();
  const path = join(folder, command.args.file);
  await appendFile(path, command.args.text, { flush: true });
  const result = `Added ${command.args.text.length} characters to ${command.args.file}.`;
  record("event", "finished", { step, result });
  record("memory", "memory", { step, thought: thoughts.speak, command, result });
  record("file_version", "file", { step, path: command.args.file, text: command.args.text });
  window.push({ role: "assistant", content: text }, { role: "user", content: result });
  window.splice(0, window.length - WINDOW_MESSAGES);
  meter.stepDone(step);
}
save();
database.close();
meter.report(file);

/** Filled up with blanks, so that SQLite writes as much. */
function record(table: Row["table"], type: keyof typeof ROW_BYTES, row: Readonly<Record<string, unknown>>): void {
  const data = JSON.stringify({ type, at: new Date().toISOString(), ...row });
  unsaved.push({ table, data: data.padEnd(ROW_BYTES[type]) });
}

function save(): void {
  begin.run();
  for (const { table, data } of unsaved) insert[table].run(data);
  head += unsaved.length;
  moveHead.run(JSON.stringify({ head, at: new Date().toISOString() }).padEnd(ROW_BYTES.agent));
  commit.run();
  unsaved = [];
}
