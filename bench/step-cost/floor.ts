/**
 * floor.ts -- the bare loop that goald is compared with, with the same input and output.
 *
 * It has the same client, streamed replies, first and last messages of the same size, the same reply schema, a window of
 * nine messages, the reply as JSON, the same append with fsync, and the same commits: two durable ones a step, with as
 * many rows of the same size in goald's own tables. It has no recall, embedding, check of replies, policy, hash chain,
 * check of paths, recovery or limits of time and bytes.
 * The difference to goald is the cost of those.
 */
import { hash } from "node:crypto";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { OpenAI } from "openai";
import type { ResponseFormatJSONSchema } from "openai/resources/shared.js";
import { createTables } from "#store/sqlite/schema.ts";
import { readJob, startMeter } from "./meter.ts";

/** Bytes of each event's data, measured in goald's database after the same run. */
const EVENT_BYTES = { asked: 421, replied: 880, requested: 322, approved: 124, started: 345, finished: 263 };
/** Replaces a hash. */
const LINK = "0".repeat(64);
const WINDOW_MESSAGES = 9;

interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}
interface Reply {
  readonly thoughts: Readonly<Record<string, string>>;
  readonly command: { readonly name: string; readonly args: { readonly file: string; readonly text: string } };
}

const { steps, baseUrl, folder, systemChars, lastMessageChars, replyFormat } = readJob();
const meter = startMeter(steps);
const file = join(folder, "floor.db");
const database = new DatabaseSync(file);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
createTables(database);
database.exec(`INSERT INTO agent (no, id, create_key, name, folder, created_at, updated_at, head, head_sha, seal)
  VALUES (1, 'bench', 'bench', 'Bench', 'bench', '', '', 0, '', '')`);
const begin = database.prepare("BEGIN IMMEDIATE");
const insertEvent = database.prepare("INSERT INTO event (agent_no, seq, data, rows_sha, sha) VALUES (1, ?, ?, ?, ?)");
const insertMemory = database.prepare(
  `INSERT INTO memory (agent_no, change, seq, ordinal, step, namespace, kind, text, text_sha, salt, importance, trust, at)
   VALUES (1, ?1, ?2, 0, ?1, 'bench', 'step', ?3, ?4, ?5, 0.6, 'agent', ?6)`,
);
const insertFile = database.prepare(
  `INSERT INTO file_version (agent_no, ordinal, seq, path, operation, bytes, sha, step, call_id, at)
   VALUES (1, 0, ?2, ?3, 'append', ?4, ?5, ?1, ?6, ?7)`,
);
const insertBlob = database.prepare("INSERT INTO blob (sha, bytes) VALUES (?, ?)");
const moveHead = database.prepare("UPDATE agent SET head = ?, head_sha = ?, updated_at = ?, wake_at = ?3 WHERE no = 1");
const commit = database.prepare("COMMIT");

const openai = new OpenAI({ baseURL: baseUrl, apiKey: "bench", maxRetries: 0, timeout: 300_000, logLevel: "off" });
const system: Message = { role: "system", content: "rule ".repeat(systemChars / 5) };
/** Replaces goald's recalls. */
const recalls = "some fact ".repeat(lastMessageChars / 10);
const window: Message[] = [];
let unsaved: (() => void)[] = [];
let head = 0;
let bytes = 0;

for (let step = 1; step <= steps; step++) {
  record("asked", { step });
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
  record("replied", { step, text, usage });
  const { thoughts, command } = JSON.parse(text) as Reply;
  record("requested", { step, command, thought: thoughts.speak });
  record("approved", { step });
  record("started", { step });
  save();
  const path = join(folder, command.args.file);
  await appendFile(path, command.args.text, { flush: true });
  const result = `Added ${command.args.text.length} characters to ${command.args.file}.`;
  record("finished", { step, result });
  remember(step, `Thought: ${thoughts.speak}\nCommand: ${JSON.stringify(command)}\nResult: ${result}`);
  keepVersion(step, command.args);
  window.push({ role: "assistant", content: text }, { role: "user", content: result });
  window.splice(0, window.length - WINDOW_MESSAGES);
  meter.stepDone(step);
}
save();
database.close();
meter.report(file);

/** Pads the data with blanks, so that SQLite writes as much as for goald. */
function record(type: keyof typeof EVENT_BYTES, event: Readonly<Record<string, unknown>>): void {
  const seq = ++head;
  const data = JSON.stringify({ type, seq, at: new Date().toISOString(), ...event }).padEnd(EVENT_BYTES[type]);
  const rows = type === "asked" ? LINK : null;
  unsaved.push(() => insertEvent.run(seq, data, rows, LINK));
}

function remember(step: number, text: string): void {
  const seq = head;
  const at = new Date().toISOString();
  unsaved.push(() => insertMemory.run(step, seq, text, LINK, "0".repeat(16), at));
}

function keepVersion(step: number, { file: path, text }: Reply["command"]["args"]): void {
  const seq = head;
  const at = new Date().toISOString();
  bytes += text.length;
  const size = bytes;
  const sha = hash("sha256", text, "hex");
  unsaved.push(() => insertBlob.run(sha, Buffer.from(text)));
  unsaved.push(() => insertFile.run(step, seq, path, size, sha, `c${step}`, at));
}

function save(): void {
  begin.run();
  for (const write of unsaved) write();
  moveHead.run(head, LINK, new Date().toISOString());
  commit.run();
  unsaved = [];
}
