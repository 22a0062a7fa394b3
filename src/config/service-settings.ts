/** service-settings.ts -- the settings of the services that commands use: the web, search, images, speech, git and X. */
import {
  choice,
  modelName,
  optional,
  type SettingRow,
  secretKey,
  webAddress,
  wholeNumber,
  yesOrNo,
} from "./setting-row.ts";

const HOST = "[\\w-]+(?:\\.[\\w-]+)+";
const ORIGIN = "https?://[^\\s/?#@,]+/?";
const PROVIDER = "(?:tavily|serper|brave|searxng|duckduckgo)";

export const SERVICE_SETTINGS = [
  {
    name: "web.allow",
    environment: ["GOALD_WEB_ALLOW"],
    schema: { type: "string", nullable: true, maxLength: 4000, pattern: `^${ORIGIN}(?:[,\\s]+${ORIGIN})*$` },
    expected: "addresses of servers with commas between them, such as http://192.168.1.5:8080,http://nas.local",
    meaning: "Let agents also read these servers of private networks, separated by commas.",
    whenUnset: "the public web only",
  },
  {
    name: "web.userAgent",
    environment: ["USER_AGENT"],
    schema: { type: "string", nullable: true, minLength: 1, maxLength: 300, pattern: "^[\\x20-\\x7e]+$" },
    expected: "printable ASCII characters",
    meaning: "User-Agent header sent to websites.",
    whenUnset: "goald and its version",
  },
  { name: "web.robots", environment: ["GOALD_WEB_ROBOTS"], ...yesOrNo, meaning: "Obey the robots.txt of websites." },
  {
    name: "web.askBeforeSending",
    environment: ["GOALD_ASK_BEFORE_SENDING"],
    ...yesOrNo,
    meaning:
      "After an agent has read text from outside, ask before it opens an address that nobody gave it, or sends many words of its own. With `--approve never`, refuse.",
  },
  {
    name: "web.openHosts",
    environment: ["GOALD_OPEN_HOSTS"],
    schema: { type: "string", nullable: true, maxLength: 4000, pattern: `^${HOST}(?:[,\\s]+${HOST})*$` },
    expected: "names of hosts with commas between them, such as wikipedia.org,arxiv.org",
    meaning:
      "Public sources, and their subdomains, of which an agent may open any address unasked. Name only hosts whose logs no stranger can read.",
    whenUnset: "none",
  },
  {
    name: "web.downloadMegabytes",
    environment: ["GOALD_DOWNLOAD_MEGABYTES"],
    ...wholeNumber(1, 1_000),
    meaning: "Maximum size of a downloaded file.",
    unit: "MB",
  },
  {
    name: "sandbox.isolation",
    environment: ["GOALD_SANDBOX"],
    ...choice("required", "best-effort", "off"),
    meaning:
      "Run code of agents: only inside bubblewrap (`required`), also where there is none, with a question before each call (`best-effort`), or not at all (`off`).",
  },
  {
    name: "sandbox.maxProcesses",
    environment: ["GOALD_SANDBOX_PROCESSES"],
    ...wholeNumber(1, 64),
    meaning: "Maximum processes that run code, over all agents. A namespace that waits for one loses nothing.",
  },
  {
    name: "sandbox.memoryMegabytes",
    environment: ["GOALD_SANDBOX_MEMORY_MEGABYTES"],
    ...wholeNumber(64, 2_000),
    meaning: "Maximum memory that the code of one process may use.",
    unit: "MB",
  },
  {
    name: "sandbox.cellSeconds",
    environment: ["GOALD_CELL_SECONDS"],
    ...wholeNumber(1, 3_600),
    meaning: "Maximum time of one piece of code. Calls of commands and sub-tasks do not count.",
    unit: "seconds",
  },
  {
    name: "sandbox.imports",
    environment: ["GOALD_CELL_IMPORTS"],
    ...choice("none", "safe", "all"),
    meaning: "What code may import: nothing, modules that do not reach beyond the sandbox, or all.",
  },
  {
    name: "location",
    environment: ["GOALD_LOCATION"],
    schema: { type: "string", nullable: true, minLength: 1, maxLength: 2_000 },
    expected: "the name of a place, or a JSON object in one line",
    meaning: 'What get_user_location() returns to code, such as `Berlin` or `{"latitude": 52.5, "longitude": 13.4}`.',
    whenUnset: "an error that says so",
  },
  {
    name: "search.providers",
    environment: ["GOALD_SEARCH_PROVIDERS"],
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
    environment: ["GOALD_DUCKDUCKGO_BASE_URL"],
    ...webAddress,
    meaning: "Base URL of DuckDuckGo's page without scripts.",
  },
  {
    name: "images.model",
    environment: ["GOALD_IMAGE_MODEL"],
    ...modelName,
    meaning: "Model that generates images.",
  },
  {
    name: "images.baseUrl",
    environment: ["GOALD_IMAGE_BASE_URL"],
    ...optional(webAddress),
    meaning: "Base URL of a server with OpenAI's images API.",
    whenUnset: "`openai.baseUrl` if it is OpenAI's own server",
  },
  {
    name: "images.apiKey",
    environment: ["GOALD_IMAGE_API_KEY"],
    ...secretKey,
    meaning: "API key for the image server.",
    whenUnset: "`openai.apiKey` when both use the same server",
  },
  {
    name: "speech.model",
    environment: ["GOALD_SPEECH_MODEL"],
    ...modelName,
    meaning: "Model that transcribes speech.",
  },
  {
    name: "speech.baseUrl",
    environment: ["GOALD_SPEECH_BASE_URL"],
    ...optional(webAddress),
    meaning: "Base URL of a server with OpenAI's transcription API.",
    whenUnset: "`openai.baseUrl` if it is OpenAI's own server",
  },
  {
    name: "speech.apiKey",
    environment: ["GOALD_SPEECH_API_KEY"],
    ...secretKey,
    meaning: "API key for the speech server.",
    whenUnset: "`openai.apiKey` when both use the same server",
  },
  {
    name: "git.allow",
    environment: ["GOALD_GIT_ALLOW"],
    schema: { type: "string", nullable: true, maxLength: 2000, pattern: "^(?:https?://[^\\s,/?#@]+/?(?:[\\s,]+|$))+$" },
    expected: "origins such as http://127.0.0.1:3000, with commas between",
    meaning:
      "Let clone_repository reach these origins of private networks, separated by commas. Other servers must be public and use https.",
  },
  {
    name: "git.username",
    environment: ["GITHUB_USERNAME"],
    schema: { type: "string", nullable: true, pattern: "^[^\\s:\\p{Cc}]{1,200}$" },
    expected: "a name without blanks and colons",
    meaning: "User name sent with `git.apiKey`.",
  },
  {
    name: "git.apiKey",
    environment: ["GITHUB_API_KEY"],
    ...secretKey,
    meaning: "Key that clone_repository uses to read private repositories of one server.",
  },
  {
    name: "git.keyOrigin",
    environment: ["GOALD_GIT_KEY_ORIGIN"],
    schema: { type: "string", maxLength: 2000, pattern: "^https?://[^\\s,/?#@]+$" },
    expected: "an origin such as https://github.com",
    meaning: "Origin of the only server that receives `git.apiKey`.",
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
    environment: ["GOALD_TWITTER_BASE_URL"],
    ...webAddress,
    meaning: "Base URL of X's API.",
  },
] as const satisfies readonly SettingRow[];
