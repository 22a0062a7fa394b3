/** models.ts -- `goald models`: the models of the server, what each is set for, its window and its price. */

import { type ListedModel, listModels } from "#app/services.ts";
import { renderTable } from "#cli/terminal/print.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import type { Price } from "#core/limits.ts";
import { withCommas } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { requireServer } from "../connect.ts";
import { formatCall, openContext } from "../context.ts";
import { defineVerb } from "../verb.ts";

const TIMEOUT_MS = 10_000;

export const verb = defineVerb({
  description: "list the models of the server and those that are set, with context window and price; costs nothing",
  examples: ["goald models", "goald models --json", "goald config models.smart gpt-4.1"],
  exitCodes: { keyMissing: "no server is set", error: "the server does not answer" },
  run: async (_args, options) => {
    using context = await openContext(options);
    const { home, output, settings } = context;
    requireServer(context);
    const listed = await listModels(home, settings, TIMEOUT_MS);
    const { baseUrl } = settings.openai;
    if ("problem" in listed)
      throw new GoaldError("GOALD_MODEL", listed.problem, {
        hint: `Check the settings: ${formatCall(home, "doctor")}`,
      });
    if (output.printJson({ server: baseUrl, ...listed })) return EXIT.ok;
    output.say(clean(`Models of ${baseUrl}${listed.hasList ? "" : ", which has no list"}:`));
    const rows = listed.models.map((model) => [
      clean(model.name),
      model.setFor.join(", "),
      model.isForChat ? withCommas(model.contextTokens) : "",
      describePrice(model.price),
      notesOn(model, listed.hasList).join(", "),
    ]);
    output.page(renderTable(["MODEL", "SET FOR", "CONTEXT", "PRICE", "NOTES"], rows));
    output.say(`Set one: ${formatCall(home, "config", "models.smart", "NAME")}`);
    return EXIT.ok;
  },
});

function notesOn({ isForChat, isOffered, isReasoning }: ListedModel, hasList: boolean): readonly string[] {
  return [
    ...(isReasoning ? ["reasons first"] : []),
    ...(isForChat ? [] : ["not for chat"]),
    ...(isOffered || !hasList ? [] : ["not on this server"]),
  ];
}

/** US dollars of a million tokens in and out. */
export function describePrice(price: Price | null | undefined): string {
  if (!price) return "unknown";
  const { input, output } = price;
  return input === 0 && output === 0 ? "free" : `$${input} in, $${output} out`;
}
