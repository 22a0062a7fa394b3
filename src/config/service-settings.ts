/** service-settings.ts -- the settings of services that some commands need: posts on X, and others beside it. Rows of the one table. */
import type { SettingRow } from "./settings-table.ts";

/** Of a header or a signature: no blanks, no line breaks. */
const secret = {
  schema: { type: "string", nullable: true, pattern: "^[\\x21-\\x7e]{1,1000}$" },
  expected: "a key of printable ASCII characters without blanks",
  secret: true,
} as const;
// Credentials, queries and fragments have no place in it: keys would end up in logs.
const ADDRESS = "^https?://[^\\s/?#@]+(?:/[^\\s?#@]*)?$";

function modelServer(name: "images" | "speech", variable: "IMAGE" | "SPEECH", what: string) {
  return [
    {
      name: `${name}.model`,
      environment: [`GOALD_${variable}_MODEL`],
      schema: { type: "string", minLength: 1, maxLength: 200, pattern: "^[^\\s\\p{Cc}]+$" },
      expected: "a model's name",
      meaning: `Model that ${what}.`,
    },
    {
      name: `${name}.baseUrl`,
      environment: [`GOALD_${variable}_BASE_URL`],
      schema: { type: "string", nullable: true, maxLength: 2000, pattern: ADDRESS },
      expected: "an http or https address without credentials, query or fragment",
      meaning: "Its server, one that speaks OpenAI's API for it; unset: the model server, when that is OpenAI's own.",
    },
    {
      name: `${name}.apiKey`,
      environment: [`GOALD_${variable}_API_KEY`],
      ...secret,
      meaning: "Key of that server; unset: that of the model server, if it is the same.",
    },
  ] as const;
}

export const SERVICE_SETTINGS = [
  ...modelServer("images", "IMAGE", "makes pictures"),
  ...modelServer("speech", "SPEECH", "turns speech into text"),
  {
    name: "git.allow",
    environment: ["GOALD_GIT_ALLOW"],
    schema: { type: "string", nullable: true, maxLength: 2000, pattern: "^(?:https?://[^\\s,/?#@]+/?(?:[\\s,]+|$))+$" },
    expected: "origins such as http://127.0.0.1:3000, with commas between",
    meaning:
      "Servers of a private network, by origin, that clone_repository may reach; all others must be public and speak https.",
  },
  {
    name: "git.username",
    environment: ["GITHUB_USERNAME"],
    schema: { type: "string", nullable: true, pattern: "^[^\\s:\\p{Cc}]{1,200}$" },
    expected: "a name without blanks and colons",
    meaning: "Name that goes with the key of the git server.",
  },
  {
    name: "git.apiKey",
    environment: ["GITHUB_API_KEY"],
    ...secret,
    meaning: "Key with which clone_repository reads private repositories, of one server.",
  },
  {
    name: "git.keyOrigin",
    environment: ["GOALD_GIT_KEY_ORIGIN"],
    schema: { type: "string", maxLength: 2000, pattern: "^https?://[^\\s,/?#@]+$" },
    expected: "an origin such as https://github.com",
    meaning: "The one server that this key is sent to.",
  },
  {
    name: "twitter.consumerKey",
    environment: ["TW_CONSUMER_KEY"],
    ...secret,
    meaning: "Key of the app that posts on X; with the next three, send_tweet is there.",
  },
  {
    name: "twitter.consumerSecret",
    environment: ["TW_CONSUMER_SECRET"],
    ...secret,
    meaning: "Secret of the app that posts on X.",
  },
  {
    name: "twitter.accessToken",
    environment: ["TW_ACCESS_TOKEN"],
    ...secret,
    meaning: "Token of the account in whose name is posted.",
  },
  {
    name: "twitter.accessTokenSecret",
    environment: ["TW_ACCESS_TOKEN_SECRET"],
    ...secret,
    meaning: "Secret of that token.",
  },
  {
    name: "twitter.baseUrl",
    environment: ["GOALD_TWITTER_BASE_URL"],
    schema: { type: "string", maxLength: 2000, pattern: ADDRESS },
    expected: "an http or https address without credentials, query or fragment",
    meaning: "Where the API of X is.",
  },
] as const satisfies readonly SettingRow[];
