/**
 * prompt-cache.ts -- measures which share of each prompt equals the previous one's beginning, and what caching it saves.
 *
 *   node bench/prompt-cache.ts [steps]
 *
 * The real loop, with its prompts, commands and memory, works on fakes; a model reads a long text in parts and takes
 * notes, in each of the five forms. In the form `json` the same prompts are also reordered as AutoGPT does: rules, time,
 * recalls, the last nine messages, the request. A server caches the beginning that equals the previous request, from
 * 1,024 tokens on, in pieces of 128. Tokens are goald's own estimates; prices are those of config/prices.json.
 */
import { readFileSync } from "node:fs";
import { REPLY_FORMS, type ReplyForm } from "#core/agent-settings.ts";
import { costOf, type Price } from "#core/limits.ts";
import type { ModelRequest, PromptMessage } from "#core/ports/model.ts";
import { openLongTermMemory, type RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { readPrices } from "#model/prices.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import { type CellBehaviour, createFakeSandbox, type FakeEnd } from "../test/helpers/fake-sandbox.ts";
import { makeLoop } from "../test/helpers/loop.ts";
import { openHashEmbedder } from "../test/helpers/memory-rows.ts";
import { scriptedModel } from "../test/helpers/models.ts";
import { type FormRow, type Row, showForms, showTable } from "./prompt-cache/table.ts";
import { readCount } from "./shared/read-count.ts";

const STEPS = readCount(0, "the steps", 30);
const MODELS = ["gpt-5", "gpt-4.1", "gpt-4o"] as const;
/** Characters of a reply's thoughts; AutoGPT's have about 300 tokens. */
const THOUGHT_CHARS = 900;
const STEP_MS = 20_000;
const STOP = "stop()";
/** Before it a window is not full. */
const FIRST_STEP = 7;

const source = ["README.md", "src/core/event.ts", "src/core/decide.ts", "src/core/evolve.ts", "src/loop/run.ts"]
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");
const table = readPrices(JSON.parse(readFileSync("config/prices.json", "utf8")), "config/prices.json");
const priceOfModel = (model: string): Price => {
  const price = table.usdPerMillionTokens[model];
  if (!price) throw new Error(`config/prices.json has no price for ${model}.`);
  return price;
};

const BATCHES = [0, 10, 20] as const;
const nine = (await requestsOf("json", 0)).map(({ messages }) => messages);
const rows: Row[] = [measure("AutoGPT's order: rules, time, recalls, nine, request", nine.map(reorderAsAutoGpt))];
const shares: FormRow[] = [];
for (const form of REPLY_FORMS)
  for (const batch of BATCHES) {
    const requests = await requestsOf(form, batch);
    const messages = requests.map((request) => request.messages);
    if (form === "json") rows.push(measure(`goald with window.batch ${batch}`, messages));
    shares.push({ form, batch, ...shareFrom(requests) });
  }
showTable(rows, STEPS, MODELS);
showForms(shares, FIRST_STEP);

type Messages = readonly PromptMessage[];
type Request = Pick<ModelRequest, "messages" | "tools">;

/** Returns the requests of a run with `windowBatch` messages more than nine. */
async function requestsOf(form: ReplyForm, windowBatch: number): Promise<readonly Request[]> {
  let memory: RecallingMemory | undefined;
  const model = scriptedModel(async (_request, index) => {
    if (index === STEPS) throw new Error(`The form ${form} did not end after ${STEPS} steps.`);
    await loop.clock.advance(STEP_MS);
    return replyOf(form, index + 1);
  });
  const loop = await makeLoop({
    goals: ["Read source.txt to its end", "Note in notes.md what matters", "Finish when that is done"],
    settings: { windowBatch, stepLimit: null, form },
    memory: { remote: false, recall: async (query, signal) => (await memory?.recall(query, signal)) ?? [] },
    script: [],
    model: { ...model, terms: async () => ({ mode: "plain", takesTools: true, contextTokens: null }) },
    sandbox: createFakeSandbox(runCell),
  });
  memory = openLongTermMemory({ store: loop.store, embedder: openHashEmbedder(), report: console.error });
  loop.files.set("source.txt", Buffer.from(source));
  await loop.run();
  if (model.requests.length !== STEPS) throw new Error(`Expected ${STEPS} requests, counted ${model.requests.length}.`);
  return model.requests;
}

/** Runs the only command of a cell and prints what it returns, or ends the work. */
async function runCell(...[{ code }, , { call, print }]: Parameters<CellBehaviour>): Promise<FakeEnd> {
  const [, name, args = ""] = /(\w+)\(\*\*(\{.*\})\)/.exec(code) ?? [];
  if (name) print(String(await call(name, JSON.parse(args) as Readonly<Record<string, unknown>>)));
  return name ? {} : { stop: {} };
}

/** Reads and takes notes in turn, with other thoughts at each step. */
function replyOf(form: ReplyForm, step: number): string {
  const text = source.slice(step * THOUGHT_CHARS, (step + 1) * THOUGHT_CHARS).replace(/\s+/g, " ");
  const first = step * 20;
  const isLast = step === STEPS;
  const { name, args } = isLast
    ? { name: "task_complete", args: { reason: "All of it is read, and noted." } }
    : step % 3 === 0
      ? { name: "append_to_file", args: { file: "notes.md", text: `Part ${step}: ${text.slice(0, 300)}\n` } }
      : { name: "read_file", args: { file: "source.txt", first_line: first, last_line: first + 18 } };
  const state = step === 1 ? "in_progress" : step === STEPS - 1 ? "abandoned" : undefined;
  if (form === "plan" && state) return JSON.stringify({ action: "modify_task", args: { id: "0", state } });
  if (form === "plan") return JSON.stringify({ action: name, args });
  if (form === "code" && isLast) return "RESULT:\nAll of it is read, and noted.";
  if (form === "code" || form === "react") {
    const code = isLast ? STOP : `print(${name}(**${JSON.stringify(args)}))`;
    const block = `\`\`\`python\n${code}\n\`\`\``;
    const thought = text.replaceAll("`", "'");
    return form === "code" ? `${thought}\n\n${block}` : `${thought}\n\nACTION ${step}:\n${block}`;
  }
  const thoughts = {
    text: text.slice(0, 300),
    reasoning: text.slice(300, 600),
    plan: "- read on\n- note what matters\n- finish",
    criticism: text.slice(600, 800),
    speak: text.slice(800),
  };
  return JSON.stringify({ thoughts, command: { name, args } });
}

/** goald's last message has the time, the recalls and the request, one block each. */
function reorderAsAutoGpt(messages: Messages): Messages {
  const [system, last] = [messages[0], messages.at(-1)];
  if (!system || !last) throw new Error("Expected a system message and a request.");
  const [time = "", ...blocks] = last.content.split("\n\n");
  const request = blocks.pop() ?? "";
  const moved = [time, blocks.join("\n\n")].filter((content) => content !== "");
  return [
    system,
    ...moved.map((content) => ({ role: "system", content }) as const),
    ...messages.slice(1, -1),
    { role: "user", content: request },
  ];
}

function measure(title: string, requests: readonly Messages[]): Row {
  let tokens = 0;
  let same = 0;
  let cached = 0;
  let before = "";
  for (const request of requests) {
    const text = writeMessages(request);
    const identical = estimateTokens(findCommonStart(before, text));
    tokens += estimateTokens(text);
    same += identical;
    cached += countCached(identical);
    before = text;
  }
  const output = requests.reduce((sum, _request, index) => sum + estimateTokens(replyOf("json", index + 1)), 0);
  const usage = { inputTokens: tokens, cachedTokens: cached, outputTokens: output };
  const usd = MODELS.map((model) => costOf(usage, priceOfModel(model)));
  return { title, tokens, same, cached, usd };
}

/** Shares of the tokens of requests from the first step that counts: of the messages, and of tools and messages. */
function shareFrom(requests: readonly Request[]): Omit<FormRow, "form" | "batch"> {
  const counted = requests.slice(FIRST_STEP - 1).map((request, index) => {
    const [before, text] = [requests[FIRST_STEP - 2 + index]?.messages ?? [], request.messages].map(writeMessages);
    const tools = request.tools ? estimateTokens(JSON.stringify(request.tools)) : 0;
    return { same: estimateTokens(findCommonStart(before ?? "", text ?? "")), all: estimateTokens(text ?? ""), tools };
  });
  const sum = (of: (each: (typeof counted)[number]) => number): number =>
    counted.reduce((total, each) => total + of(each), 0);
  return {
    systemTokens: estimateTokens(requests[0]?.messages[0]?.content ?? ""),
    tokens: Math.round(sum(({ all }) => all) / counted.length),
    share: sum(({ same }) => same) / sum(({ all }) => all),
    withTools: sum(({ same, tools }) => same + tools) / sum(({ all, tools }) => all + tools),
  };
}

function writeMessages(messages: Messages): string {
  return messages.map(({ role, content }) => `<${role}>${content}`).join("\n");
}

function findCommonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return other.slice(0, length);
}

/** Returns the tokens that a server caches: none below 1,024, then pieces of 128. */
function countCached(tokens: number): number {
  return tokens < 1_024 ? 0 : tokens - (tokens % 128);
}
