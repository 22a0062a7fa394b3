/** setting-tables.ts -- the settings of goald, a row each: of agents, of models, and of services. */
import { REPLY_FORMS } from "#core/agent-settings.ts";
import {
  anyNumber,
  choice,
  commandList,
  modelName,
  optional,
  type SettingRow,
  secretKey,
  serverKey,
  webAddress,
  wholeNumber,
  yesOrNo,
} from "./setting-row.ts";

const HOST = "[\\w-]+(?:\\.[\\w-]+)+";
const ORIGIN = "https?://[^\\s/?#@,]+/?";
const PROVIDER = "(?:tavily|serper|brave|searxng|duckduckgo)";

export const SETTING_TABLE = [
  // The model server, its models, and long-term memory.
  {
    name: "openai.apiKey",
    environment: ["OPENAI_API_KEY"],
    ...secretKey,
    meaning: "API key for the model server. Local servers may not need one.",
  },
  {
    name: "openai.baseUrl",
    environment: ["OPENAI_BASE_URL", "OPENAI_API_BASE_URL"],
    ...webAddress,
    expected: `${webAddress.expected}, such as http://127.0.0.1:11434/v1`,
    meaning:
      "Base URL of the model server. Any server with OpenAI's chat completions API works, such as http://127.0.0.1:11434/v1 (Ollama).",
  },
  {
    name: "models.smart",
    environment: ["SMART_LLM", "SMART_LLM_MODEL"],
    ...modelName,
    meaning: "Model for the main loop.",
  },
  {
    name: "models.fast",
    environment: ["FAST_LLM", "FAST_LLM_MODEL"],
    ...modelName,
    meaning: "Model for small tasks.",
  },
  {
    name: "models.fallback",
    environment: ["FALLBACK_LLM"],
    ...optional(modelName),
    meaning: "Model on the same server to use when the smart model is gone or fails permanently.",
    whenUnset: "none, the agent pauses",
  },
  {
    name: "models.embedding",
    environment: ["EMBEDDING_MODEL"],
    ...modelName,
    meaning: "Model that turns memories into vectors.",
  },
  {
    name: "models.temperature",
    environment: ["TEMPERATURE"],
    ...optional(anyNumber(0, 2)),
    meaning: "Randomness of replies.",
    whenUnset: "chosen by the server",
  },
  {
    name: "models.reasoningEffort",
    schema: { type: "string", nullable: true, enum: ["minimal", "low", "medium", "high", null] },
    expected: "minimal, low, medium, high, or none",
    meaning: "Effort of models that reason before they reply. Reasoning tokens count as tokens of the reply.",
    whenUnset: "chosen by the server",
  },
  {
    name: "models.contextTokens",
    environment: ["GOALD_MODELS_CONTEXT_TOKENS", "SMART_TOKEN_LIMIT"],
    ...optional(wholeNumber(1_000, 10_000_000)),
    meaning: "Context window of the smart model, in tokens.",
    whenUnset: "the model's known size",
  },
  {
    name: "models.promptTokens",
    ...wholeNumber(1_000, 10_000_000),
    meaning: "Maximum tokens per prompt.",
  },
  {
    name: "models.replyTokens",
    ...wholeNumber(100, 1_000_000),
    meaning:
      "Maximum tokens per reply, reasoning included. After a reply that was cut off, later ones may have four times as many.",
  },
  {
    name: "models.timeoutSeconds",
    ...wholeNumber(1, 3_600),
    meaning:
      "Maximum wait for the beginning of a streamed reply, or for the whole of another answer. A stream may last any time, but be silent for a minute at most.",
    unit: "seconds",
  },
  {
    name: "memory.embedder",
    ...choice("auto", "openai", "offline"),
    meaning:
      "Source of vectors: `openai` uses the model server, `offline` a table of word vectors that comes with goald, `auto` the model server if it has embeddings, else `offline`.",
  },
  {
    name: "memory.backend",
    environment: ["MEMORY_BACKEND"],
    ...choice("local", "exact", "hnsw", "pinecone"),
    meaning:
      "Index that finds the nearest memories: `exact` compares all vectors, `hnsw` searches a graph in a separate process, `local` uses `exact` up to 100,000 memories per namespace (250,000 offline) and `hnsw` above, `pinecone` queries your Pinecone index and keeps a full copy in the home.",
  },
  {
    name: "pinecone.apiKey",
    environment: ["PINECONE_API_KEY"],
    ...secretKey,
    meaning: "API key for Pinecone, for the memory backend `pinecone`.",
  },
  {
    name: "pinecone.index",
    environment: ["PINECONE_INDEX"],
    schema: { type: "string", nullable: true, pattern: "^[a-z0-9-]{1,45}$" },
    expected: "a name of small letters, digits and hyphens",
    meaning:
      "Name of the Pinecone index. Each home needs its own, with the embedder's dimensions and the metric cosine.",
  },
  {
    name: "pinecone.controller",
    environment: ["PINECONE_CONTROLLER_HOST"],
    schema: { type: "string", maxLength: 2000, pattern: "^https?://[^\\s/?#@]+/?$" },
    expected: "an http or https address without a path",
    meaning: "Base URL of Pinecone's API, which looks up the address of an index.",
  },
  {
    name: "recall.count",
    ...wholeNumber(0, 100),
    meaning: "Maximum memories recalled per step; a prompt shows ten at most. 0 switches recall off.",
  },
  // Agents and the daemon.
  {
    name: "window.batch",
    ...wholeNumber(0, 40),
    meaning:
      "Extra messages kept beyond nine before the window is cut back to nine, never fewer; in the form `plan`, extra actions beyond ten. Larger values make better use of prompt caches. Applies to new agents.",
  },
  {
    name: "agents.form",
    ...choice(...REPLY_FORMS),
    meaning:
      "How the model answers: a JSON object (`json`), a native tool call (`tools`), an action on a plan (`plan`), a thought and an action in Python (`react`), or prose with a block of code (`code`). A server that rejects tools is asked for JSON. Applies to new agents.",
  },
  {
    name: "agents.commands",
    ...commandList,
    meaning:
      "Groups and names of the commands that agents may use, separated by commas, such as `files,web`. Applies to new agents.",
    whenUnset: "all that work",
  },
  {
    name: "agents.approve",
    ...choice("always", "risky", "never"),
    meaning: "Ask a person before every command (`always`), before risky ones (`risky`), or not at all (`never`).",
  },
  {
    name: "limits.unattendedSteps",
    ...wholeNumber(1, 1_000_000),
    meaning: "Pause a run in the background or without approvals after this many steps, unless it sets any limit.",
  },
  {
    name: "limits.unattendedTokens",
    ...wholeNumber(1_000, 1_000_000_000_000),
    meaning:
      "Pause a run in the background or without approvals after this many tokens in and out, unless it sets any limit.",
  },
  {
    name: "limits.unattendedUsd",
    ...optional(anyNumber(0, 1_000_000)),
    meaning:
      "Pause a run in the background or without approvals after this cost, unless it sets a budget. Applies to models with a known price.",
    unit: "USD",
  },
  {
    name: "limits.approvalMinutes",
    ...optional(wholeNumber(1, 1_000_000)),
    meaning:
      "Reject a command that nobody has approved after this time; the agent then goes on without it. Time in which nothing ran counts too.",
    whenUnset: "no limit",
  },
  {
    name: "quota.megabytes",
    ...wholeNumber(1, 1_000_000),
    meaning:
      "Maximum size of an agent's folder, with the folders of its sub-agents; the agent is refused further writes. Kept pages may take a tenth of it, all downloads of its life half, and the versions of its files in the store twice as much.",
    unit: "MB",
  },
  {
    name: "agents.maxDepth",
    ...wholeNumber(0, 10),
    meaning: "Maximum levels of sub-agents below an agent that a person started. 0 disables sub-agents.",
  },
  {
    name: "agents.maxChildren",
    ...wholeNumber(1, 100),
    meaning: "Maximum sub-agents per agent at the same time.",
  },
  {
    name: "daemon.concurrency",
    ...wholeNumber(1, 1_000),
    meaning: "Maximum concurrent model calls per server.",
  },
  {
    name: "daemon.requestsPerMinute",
    ...optional(wholeNumber(1, 1_000_000)),
    meaning: "Maximum chat requests per minute and server, of all agents. Embeddings, images and speech do not count.",
    whenUnset: "no limit",
  },
  {
    name: "daemon.port",
    ...optional(wholeNumber(1_024, 65_535)),
    meaning:
      "Port of 127.0.0.1 at which the daemon serves its page, once `goald dashboard` has asked for it. A fixed port keeps the address of the page. Applies when the daemon starts.",
    whenUnset: "chosen by the system",
  },
  {
    name: "log.level",
    ...choice("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    meaning: "Lowest level of the lines in .goald/log/goald.log.",
  },
  // The services that commands use.
  {
    name: "web.allow",
    schema: { type: "string", nullable: true, maxLength: 4000, pattern: `^${ORIGIN}(?:[,\\s]+${ORIGIN})*$` },
    expected: "addresses of servers with commas between them, such as http://192.168.1.5:8080,http://nas.local",
    meaning: "Let agents also read these servers of private networks, and clone from them, separated by commas.",
    whenUnset: "the public web only",
  },
  { name: "web.robots", ...yesOrNo, meaning: "Obey the robots.txt of websites." },
  {
    name: "web.askBeforeSending",
    ...yesOrNo,
    meaning:
      "After an agent has read text from outside, ask before it opens an address that nobody gave it, or sends many words of its own. With `--approve never`, refuse.",
  },
  {
    name: "web.openHosts",
    schema: { type: "string", nullable: true, maxLength: 4000, pattern: `^${HOST}(?:[,\\s]+${HOST})*$` },
    expected: "names of hosts with commas between them, such as wikipedia.org,arxiv.org",
    meaning:
      "Public sources, and their subdomains, of which an agent may open any address unasked. Name only hosts whose logs no stranger can read.",
  },
  {
    name: "sandbox.isolation",
    ...choice("required", "best-effort", "off"),
    meaning:
      "Run code of agents: only inside bubblewrap (`required`), also where there is none, with a question before each call (`best-effort`), or not at all (`off`).",
  },
  {
    name: "sandbox.imports",
    ...choice("none", "safe", "all"),
    meaning: "What code may import: nothing, modules that do not reach beyond the sandbox, or all.",
  },
  {
    name: "sandbox.location",
    schema: { type: "string", nullable: true, minLength: 1, maxLength: 2_000 },
    expected: "the name of a place, or a JSON object in one line",
    meaning: 'What get_user_location() returns to code, such as `Berlin` or `{"latitude": 52.5, "longitude": 13.4}`.',
    whenUnset: "no such function; in the form `react` an error that says so",
  },
  {
    name: "search.providers",
    schema: { type: "string", nullable: true, maxLength: 200, pattern: `^${PROVIDER}(?:[,\\s]+${PROVIDER})*$` },
    expected: "names among tavily, serper, brave, searxng, duckduckgo with commas between them, or none",
    meaning:
      "Search with these providers, in this order, separated by commas. Providers that are not set up are skipped; duckduckgo needs no key.",
  },
  {
    name: "search.tavily.apiKey",
    environment: ["TAVILY_API_KEY"],
    ...secretKey,
    meaning: "API key for Tavily.",
  },
  { name: "search.tavily.baseUrl", environment: ["TAVILY_BASE_URL"], ...webAddress, meaning: "Base URL of Tavily." },
  {
    name: "search.serper.apiKey",
    environment: ["SERPER_API_KEY"],
    ...secretKey,
    meaning: "API key for Serper, which returns Google's results.",
  },
  { name: "search.serper.baseUrl", environment: ["SERPER_BASE_URL"], ...webAddress, meaning: "Base URL of Serper." },
  {
    name: "search.brave.apiKey",
    environment: ["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
    ...secretKey,
    meaning: "API key for Brave Search.",
  },
  {
    name: "search.brave.baseUrl",
    environment: ["BRAVE_BASE_URL"],
    ...webAddress,
    meaning: "Base URL of Brave Search.",
  },
  {
    name: "search.searxng.baseUrl",
    environment: ["SEARXNG_URL", "SEARXNG_BASE_URL"],
    ...optional(webAddress),
    meaning: "Base URL of your own SearXNG, which may run on this machine. Its settings must allow the format json.",
  },
  {
    name: "search.duckduckgo.baseUrl",
    ...webAddress,
    meaning: "Base URL of DuckDuckGo's page without scripts.",
  },
  {
    name: "images.model",
    ...modelName,
    meaning: "Model that generates images.",
  },
  {
    name: "images.baseUrl",
    ...optional(webAddress),
    meaning: "Base URL of a server with OpenAI's images API.",
    whenUnset: "`openai.baseUrl` if it is OpenAI's own server",
  },
  {
    name: "images.apiKey",
    ...secretKey,
    meaning: "API key for the image server.",
    whenUnset: "`openai.apiKey` when both use the same server",
  },
  {
    name: "speech.model",
    ...modelName,
    meaning: "Model that transcribes speech.",
  },
  {
    name: "speech.baseUrl",
    ...optional(webAddress),
    meaning: "Base URL of a server with OpenAI's transcription API.",
    whenUnset: "`openai.baseUrl` if it is OpenAI's own server",
  },
  {
    name: "speech.apiKey",
    ...secretKey,
    meaning: "API key for the speech server.",
    whenUnset: "`openai.apiKey` when both use the same server",
  },
  {
    name: "git.apiKey",
    environment: ["GITHUB_API_KEY"],
    ...serverKey,
    meaning:
      "Key that clone_repository uses to read private repositories of GitHub, or of another server: `https://gitlab.com=KEY`.",
  },
  {
    name: "twitter.consumerKey",
    environment: ["TW_CONSUMER_KEY"],
    ...secretKey,
    meaning: "API key of the app that posts on X. The command send_tweet needs all four X keys.",
  },
  {
    name: "twitter.consumerSecret",
    environment: ["TW_CONSUMER_SECRET"],
    ...secretKey,
    meaning: "API secret of the app that posts on X.",
  },
  {
    name: "twitter.accessToken",
    environment: ["TW_ACCESS_TOKEN"],
    ...secretKey,
    meaning: "Access token of the account that posts on X.",
  },
  {
    name: "twitter.accessTokenSecret",
    environment: ["TW_ACCESS_TOKEN_SECRET"],
    ...secretKey,
    meaning: "Access token secret of the account that posts on X.",
  },
  {
    name: "twitter.baseUrl",
    ...webAddress,
    meaning: "Base URL of X's API.",
  },
] as const satisfies readonly SettingRow[];
