/**
 * bare.ts -- the plain loop that goald is compared with: fetch, one row a message, a window of nine messages.
 *
 * It has first and last messages of the same size, the same reply schema and the same append with fsync. It asks for whole
 * replies, commits each message durably and keeps nothing else.
 */
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readJob, startMeter } from "./meter.ts";

const WINDOW_MESSAGES = 9;

interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}
interface Reply {
  readonly command: { readonly args: { readonly file: string; readonly text: string } };
}
interface Completion {
  readonly choices: readonly [{ readonly message: Message }];
}

const { steps, baseUrl, folder, systemChars, lastMessageChars, replyFormat } = readJob();
const meter = startMeter(steps);
const file = join(folder, "bare.db");
const database = new DatabaseSync(file);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
database.exec("CREATE TABLE message (no INTEGER PRIMARY KEY, role TEXT NOT NULL, content TEXT NOT NULL)");
const insert = database.prepare("INSERT INTO message (role, content) VALUES (?, ?)");

const system: Message = { role: "system", content: "rule ".repeat(systemChars / 5) };
const last: Message = { role: "user", content: "some fact ".repeat(lastMessageChars / 10) };
const window: Message[] = [];

for (let step = 1; step <= steps; step++) {
  const text = await ask([system, ...window, last]);
  keep({ role: "assistant", content: text });
  const { args } = (JSON.parse(text) as Reply).command;
  await appendFile(join(folder, args.file), args.text, { flush: true });
  keep({ role: "user", content: `Added ${args.text.length} characters to ${args.file}.` });
  window.splice(0, window.length - WINDOW_MESSAGES);
  meter.stepDone(step);
}
database.close();
meter.report(file);

async function ask(messages: readonly Message[]): Promise<string> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer bench" },
    body: JSON.stringify({ model: "gpt-4.1", messages, response_format: replyFormat }),
  });
  if (!response.ok) throw new Error(`Expected a reply, got status ${response.status}.`);
  const { choices } = (await response.json()) as Completion;
  return choices[0].message.content;
}

function keep(message: Message): void {
  insert.run(message.role, message.content);
  window.push(message);
}
