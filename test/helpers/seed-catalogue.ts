/**
 * seed-catalogue.ts -- the argument schemas of AutoGPT 0.2.1's twenty-one commands, as test data.
 *
 * The commands bring their own schemas; these test the reply reader with the whole list that
 * models were trained on, also where a command is not built.
 */
import { readFileSync } from "node:fs";
import type { ArgsSchema, JsonSchema } from "#core/command.ts";
import type { ReplyCatalogue } from "#reply/read.ts";

const words = (meaning: string): JsonSchema => ({
  type: "string",
  description: meaning,
  minLength: 1,
  maxLength: 65_536,
  pattern: "\\S",
});
const path = (meaning: string): JsonSchema => ({
  type: "string",
  description: meaning,
  minLength: 1,
  maxLength: 4_096,
  pattern: "^[^\\u0000]+$",
});
const content = (meaning: string): JsonSchema => ({
  type: "string",
  description: meaning,
  maxLength: 1_048_576,
});
const list = (meaning: string): JsonSchema => ({
  type: "array",
  description: meaning,
  items: { type: "string", minLength: 1 },
  minItems: 1,
  maxItems: 100,
});
const key: JsonSchema = { type: "integer", description: "Agent key", minimum: 0 };
const args = (properties: Record<string, JsonSchema>): ArgsSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});

const seedSchemas: Readonly<Record<string, ArgsSchema>> = {
  google: args({ input: words("search") }),
  browse_website: args({ url: words("url"), question: words("what_you_want_to_find_on_website") }),
  start_agent: args({ name: words("name"), task: words("short_task_desc"), prompt: words("prompt") }),
  message_agent: args({ key, message: words("message") }),
  list_agents: args({}),
  delete_agent: args({ key }),
  clone_repository: args({ repository_url: words("url"), clone_path: path("directory") }),
  write_to_file: args({ file: path("file"), text: content("text") }),
  read_file: args({ file: path("file") }),
  append_to_file: args({ file: path("file"), text: content("text") }),
  delete_file: args({ file: path("file") }),
  search_files: args({ directory: path("directory") }),
  evaluate_code: args({ code: content("full_code_string") }),
  improve_code: args({ suggestions: list("list_of_suggestions"), code: content("full_code_string") }),
  write_tests: args({ code: content("full_code_string"), focus: list("list_of_focus_areas") }),
  execute_python_file: args({ file: path("file") }),
  generate_image: args({ prompt: words("prompt") }),
  send_tweet: args({ text: words("text") }),
  read_audio_from_file: args({ file: path("file") }),
  do_nothing: args({}),
  task_complete: args({ reason: words("reason") }),
};

const SIDE_EFFECTS: ReadonlySet<string> = new Set([
  "start_agent",
  "message_agent",
  "delete_agent",
  "clone_repository",
  "write_to_file",
  "append_to_file",
  "delete_file",
  "execute_python_file",
  "generate_image",
  "send_tweet",
]);

const REACHES_OUTSIDE = [
  "google",
  "browse_website",
  "evaluate_code",
  "improve_code",
  "write_tests",
  "read_audio_from_file",
];

export const seedCatalogue: ReplyCatalogue = {
  schemas: seedSchemas,
  hasSideEffect: (name) => SIDE_EFFECTS.has(name),
  isHarmless: (name) => !SIDE_EFFECTS.has(name) && !REACHES_OUTSIDE.includes(name),
  aliases: JSON.parse(readFileSync(new URL("../../config/aliases.json", import.meta.url), "utf8")),
};
