/**
 * prompt-cache.ts -- measures which share of each prompt equals the previous one's beginning, and what caching it saves.
 *
 *   node bench/prompt-cache.ts [steps]
 *
 * The real loop, with its prompts, commands and memory, works on fakes; a model reads a long text in parts and takes
 * notes. The same prompts are then reordered as AutoGPT does: rules, time, recalls, the last nine messages, the
 * request. A server caches the beginning that equals the previous request, from 1,024 tokens on, in
 * pieces of 128. Tokens are goald's own estimates; prices are those of config/prices.json.
 */
import { readFileSync } from "node:fs";
import { costOf, type Price } from "#core/limits.ts";
import type { PromptMessage } from "#core/ports/model.ts";
import { openLongTermMemory, type RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { readPrices } from "#model/prices.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import { openHashEmbedder } from "../test/helpers/hash-embedder.ts";
import { makeLoop } from "../test/helpers/loop.ts";
import { type Row, showTable } from "./prompt-cache/table.ts";
import { readCount } from "./shared/read-count.ts";

const STEPS = readCount(0, "the steps", 30);
const MODELS = ["gpt-5", "gpt-4.1", "gpt-4o"] as const;
/** Characters of a reply's thoughts; AutoGPT's have about 300 tokens. */
const THOUGHT_CHARS = 900;
const STEP_MS = 20_000;

const source = ["README.md", "src/core/event.ts", "src/core/decide.ts", "src/core/evolve.ts", "src/loop/run.ts"]
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");
const table = readPrices(JSON.parse(readFileSync("config/prices.json", "utf8")), "config/prices.json");
const priceOfModel = (model: string): Price => {
  const price = table.usdPerMillionTokens[model];
  if (!price) throw new Error(`config/prices.json has no price for ${model}.`);
  return price;
};

const nine = await requestsOf(0);
const rows: Row[] = [
  measure("AutoGPT's order: rules, time, recalls, nine, request", nine.map(reorderAsAutoGpt)),
  measure("goald: rules, nine, time, recalls, request", nine),
  measure("goald with window.batch 9 (nine to 18)", await requestsOf(9)),
  measure("goald with window.batch 18 (nine to 27)", await requestsOf(18)),
];
showTable(rows, STEPS, MODELS);

type Request = readonly PromptMessage[];

/** Returns the requests of a run with `windowBatch` messages more than nine. */
async function requestsOf(windowBatch: number): Promise<readonly Request[]> {
  let memory: RecallingMemory | undefined;
  const loop = await makeLoop({
    goals: ["Read source.txt to its end", "Note in notes.md what matters", "Finish when that is done"],
    settings: { windowBatch, stepLimit: null },
    memory: { remote: false, recall: async (query, signal) => (await memory?.recall(query, signal)) ?? [] },
    script: async (_request, index) => {
      await loop.clock.advance(STEP_MS);
      return replyOf(index + 1);
    },
  });
  memory = openLongTermMemory({ store: loop.store, embedder: openHashEmbedder(), report: console.error });
  loop.files.set("source.txt", Buffer.from(source));
  await loop.run();
  const { requests } = loop.model;
  if (requests.length !== STEPS) throw new Error(`Expected ${STEPS} requests, counted ${requests.length}.`);
  return requests.map(({ messages }) => messages);
}

/** Reads and takes notes in turn, with other thoughts at each step. */
function replyOf(step: number): string {
  const text = source.slice(step * THOUGHT_CHARS, (step + 1) * THOUGHT_CHARS).replace(/\s+/g, " ");
  const first = step * 20;
  const command =
    step === STEPS
      ? { name: "task_complete", args: { reason: "All of it is read, and noted." } }
      : step % 3 === 0
        ? { name: "append_to_file", args: { file: "notes.md", text: `Part ${step}: ${text.slice(0, 300)}\n` } }
        : { name: "read_file", args: { file: "source.txt", first_line: first, last_line: first + 18 } };
  const thoughts = {
    text: text.slice(0, 300),
    reasoning: text.slice(300, 600),
    plan: "- read on\n- note what matters\n- finish",
    criticism: text.slice(600, 800),
    speak: text.slice(800),
  };
  return JSON.stringify({ thoughts, command });
}

/** goald's last message has the time, the recalls and the request, one block each. */
function reorderAsAutoGpt(messages: Request): Request {
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

function measure(title: string, requests: readonly Request[]): Row {
  let [tokens, same, cached] = [0, 0, 0];
  let before = "";
  for (const request of requests) {
    const text = request.map(({ role, content }) => `<${role}>${content}`).join("\n");
    const identical = estimateTokens(findCommonStart(before, text));
    tokens += estimateTokens(text);
    same += identical;
    cached += countCached(identical);
    before = text;
  }
  const output = requests.reduce((sum, _request, index) => sum + estimateTokens(replyOf(index + 1)), 0);
  const usage = { inputTokens: tokens, cachedTokens: cached, outputTokens: output };
  const usd = MODELS.map((model) => costOf(usage, priceOfModel(model)));
  return { title, tokens, same, cached, usd };
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
