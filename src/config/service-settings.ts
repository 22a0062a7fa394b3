/** service-settings.ts -- the settings of the services that commands use: the web, search, images, speech, git and X. */
import {
  choice,
  modelName,
  optional,
  type SettingRow,
  secretKey,
  serverKey,
  webAddress,
  yesOrNo,
} from "./setting-row.ts";

const HOST = "[\\w-]+(?:\\.[\\w-]+)+";
const ORIGIN = "https?://[^\\s/?#@,]+/?";
const PROVIDER = "(?:tavily|serper|brave|searxng|duckduckgo)";

export const SERVICE_SETTINGS = [
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
    whenUnset: "none",
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
    whenUnset: "an error that says so",
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
