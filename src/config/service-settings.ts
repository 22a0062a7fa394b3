/** service-settings.ts -- the settings of the services that commands use: the web, search, images, speech, git and X. */
import { modelName, optional, type SettingRow, secretKey, webAddress, wholeNumber, yesOrNo } from "./setting-row.ts";

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
      "After an agent has read text from outside, ask before it sends text of your files, memory or words, or over 200 characters of its own, or reaches an unknown host. With `--approve never`, refuse to send such text.",
  },
  {
    name: "web.downloadMegabytes",
    environment: ["GOALD_DOWNLOAD_MEGABYTES"],
    ...wholeNumber(1, 1_000),
    meaning: "Maximum size of a downloaded file.",
    unit: "MB",
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
