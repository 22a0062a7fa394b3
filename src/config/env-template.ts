/**
 * env-template.ts -- the `.env` that a new home begins with: every variable of the table, what it means and its
 * default, all of it in comments. `.env.example` is this text.
 */
import { describeSettings } from "./settings.ts";
import { SETTINGS, type SettingName } from "./settings-table.ts";

export function envTemplate(): string {
  const defaults = new Map(describeSettings().map((row) => [row.name, row.default]));
  const blocks = SETTINGS.map((row) => {
    const heading = HEADINGS[row.name];
    const [variable = ""] = row.environment;
    // Of these every value means the same.
    const value = row.offWhenSet || defaults.get(row.name) === "unset" ? "" : defaults.get(row.name);
    return [
      ...(heading ? [`\n# ---- ${heading}`] : []),
      `# ${row.meaning}${row.schema.enum ? ` ${row.expected[0]?.toUpperCase()}${row.expected.slice(1)}.` : ""}`,
      row.secret ? `${variable}=${placeholderOf(variable)}` : `# ${variable}=${value}`,
    ].join("\n");
  });
  return `${HEAD}${blocks.join("\n")}\n`;
}

/** Counts as unset wherever it is read. */
const placeholderOf = (variable: string): string => `your-${variable.toLowerCase().replaceAll("_", "-")}`;

const HEAD = `# Settings of goald, one NAME=value a line. Keep this file to yourself (chmod 600): the environment
# beats it, it beats config/goald.json. Names are AutoGPT's where it had one. A line "# NAME=value"
# shows a default; take the "# " away to change it.
`;

/** Above the first setting of each part. */
export const HEADINGS: Readonly<Partial<Record<SettingName, string>>> = {
  "openai.apiKey": "the model server",
  embedder: "memory",
  approve: "what runs by itself, and how far",
  "daemon.concurrency": "the daemon",
  "web.allow": "the web",
  "search.providers": "search",
  "images.model": "services that some commands need",
  "keys.yes": "the terminal",
};
