/**
 * google -- searches the web with the first configured provider that answers, in the order of the settings.
 *
 * The name is AutoGPT's. Results are text from outside: titles, addresses and a few sentences.
 */
import { defineCommand, succeed } from "#core/command.ts";
import { countNoun } from "#core/text.ts";
import { listOf, open, text } from "#util/schema.ts";

/** AutoGPT's number of results. */
const COUNT = 8;

export default defineCommand({
  name: "google",
  label: "Google Search",
  group: "web",
  summary: "searches the web; gives titles, addresses and a few sentences of each.",
  args: {
    type: "object",
    properties: {
      input: {
        type: "string",
        description: "what to search for",
        minLength: 1,
        maxLength: 400,
        pattern: "\\S",
      },
    },
    required: ["input"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: ["input"],
  returns: listOf(open({ title: text, href: text, body: text })),
  effect: "pure",
  timeoutMs: 90_000,
  needs: ["search"],

  async run({ input }, { signal, use }) {
    const { provider, results, failed, isCached } = await use("search").search(input, COUNT, signal);
    const others = failed.map((one) => ` ${one.provider} did not answer: ${one.reason}.`).join("");
    if (results.length === 0)
      return succeed(`${provider} found nothing for this. Try other words.${others}`, { source: "web", value: [] });
    const kept = isCached ? ", as it answered within the last 24 hours" : "";
    const head = `${countNoun(results.length, "result")} from ${provider}${kept}.${others}`;
    return succeed(`${head}\n${JSON.stringify(results, null, 1)}`, { source: "web", value: results });
  },
});
