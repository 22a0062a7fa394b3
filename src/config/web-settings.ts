/** web-settings.ts -- the settings of search and of what is read from the web. Rows of the one table. */
import type { SettingRow } from "./settings-table.ts";

/** Of a header: no blanks, no line breaks. */
const secret = {
  schema: { type: "string", nullable: true, pattern: "^[\\x21-\\x7e]{1,1000}$" },
  expected: "a key of printable ASCII characters without blanks",
  secret: true,
} as const;
// Credentials, queries and fragments have no place in it: keys would end up in logs.
const ADDRESS = "^https?://[^\\s/?#@]+(?:/[^\\s?#@]*)?$";
const address = {
  schema: { type: "string", maxLength: 2000, pattern: ADDRESS },
  expected: "an http or https address without credentials, query or fragment",
} as const;
const ORIGIN = "https?://[^\\s/?#@,]+/?";
const PROVIDER = "(?:tavily|serper|brave|searxng|duckduckgo)";

export const WEB_SETTINGS = [
  {
    name: "web.allow",
    environment: ["GOALD_WEB_ALLOW"],
    schema: { type: "string", nullable: true, maxLength: 4000, pattern: `^${ORIGIN}(?:[,\\s]+${ORIGIN})*$` },
    expected: "addresses of servers with commas between them, such as http://192.168.1.5:8080,http://nas.local",
    meaning:
      "Servers of your own networks that agents may read too, with commas between them; unset: the public web alone.",
  },
  {
    name: "web.userAgent",
    environment: ["USER_AGENT"],
    schema: { type: "string", nullable: true, minLength: 1, maxLength: 300, pattern: "^[\\x20-\\x7e]+$" },
    expected: "printable ASCII characters",
    meaning: "What goald calls itself to websites; unset: goald and its version.",
  },
  {
    name: "web.robots",
    environment: ["GOALD_WEB_ROBOTS"],
    schema: { type: "boolean" },
    expected: "true or false",
    meaning: "Keep to what a website's robots.txt asks of goald.",
  },
  {
    name: "web.downloadMegabytes",
    environment: ["GOALD_DOWNLOAD_MEGABYTES"],
    schema: { type: "integer", minimum: 1, maximum: 1_000 },
    expected: "a whole number from 1 to 1,000",
    meaning: "Largest file that is downloaded, in megabytes.",
  },
  {
    name: "search.providers",
    environment: ["GOALD_SEARCH_PROVIDERS"],
    schema: { type: "string", nullable: true, maxLength: 200, pattern: `^${PROVIDER}(?:[,\\s]+${PROVIDER})*$` },
    expected: "names among tavily, serper, brave, searxng, duckduckgo with commas between them, or none",
    meaning:
      "Who is asked to search, in this order, as far as they are set up; duckduckgo needs no key. Who is not named is not asked.",
  },
  {
    name: "search.tavily.apiKey",
    environment: ["TAVILY_API_KEY"],
    ...secret,
    meaning: "Key of Tavily's search.",
  },
  { name: "search.tavily.baseUrl", environment: ["TAVILY_BASE_URL"], ...address, meaning: "Where Tavily is." },
  {
    name: "search.serper.apiKey",
    environment: ["SERPER_API_KEY"],
    ...secret,
    meaning: "Key of Serper, which answers with Google's results.",
  },
  { name: "search.serper.baseUrl", environment: ["SERPER_BASE_URL"], ...address, meaning: "Where Serper is." },
  {
    name: "search.brave.apiKey",
    environment: ["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
    ...secret,
    meaning: "Key of Brave's search.",
  },
  { name: "search.brave.baseUrl", environment: ["BRAVE_BASE_URL"], ...address, meaning: "Where Brave's search is." },
  {
    name: "search.searxng.baseUrl",
    environment: ["SEARXNG_URL", "SEARXNG_BASE_URL"],
    schema: { ...address.schema, nullable: true },
    expected: address.expected,
    meaning: "A SearXNG of yours, also on this machine; its settings must allow the format json.",
  },
  {
    name: "search.duckduckgo.baseUrl",
    environment: ["GOALD_DUCKDUCKGO_BASE_URL"],
    ...address,
    meaning: "Where DuckDuckGo's page without scripts is.",
  },
] as const satisfies readonly SettingRow[];
