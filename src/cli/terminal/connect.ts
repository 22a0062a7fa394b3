/**
 * connect.ts -- lets a person without a key choose: paste one, use a server on this machine, or watch the demo.
 *
 * There is no default: Enter asks again. The key is not shown while it is typed, and is saved only after a yes.
 */
import { saveToEnvFile } from "#config/env-file.ts";
import { isPlaceholder } from "#config/load-settings.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import type { LineInput } from "./line-input.ts";
import { askYesNo } from "./questions.ts";

export interface FoundServer {
  readonly name: string;
  readonly baseUrl: string;
  /** Names from the server; untrusted text. */
  readonly models: readonly string[];
}

export type ConnectionChoice =
  | { readonly kind: "key"; readonly apiKey: string; readonly save: boolean }
  | { readonly kind: "server"; readonly baseUrl: string; readonly model: string }
  | { readonly kind: "demo" }
  /** Ctrl-C or the end of input. */
  | { readonly kind: "left" };

const LEFT: ConnectionChoice = { kind: "left" };
const MAX_MODELS_SHOWN = 30;

export async function chooseConnection(
  input: Pick<LineInput, "askLine" | "askSecret">,
  say: (line: string) => void,
  servers: readonly FoundServer[],
): Promise<ConnectionChoice> {
  const usable = servers.filter((server) => server.models.length > 0);
  const ways: readonly (readonly [label: string, choose: () => Promise<ConnectionChoice | undefined>])[] = [
    ["paste an OpenAI key", () => askForKey(input, say)],
    ...usable.map((server) => [labelOf(server), () => askForModel(input, say, server)] as const),
    ["watch the demo: a scripted agent, no key and no network", () => Promise.resolve({ kind: "demo" } as const)],
  ];
  say("There is no model to talk to yet. You can:");
  for (const [index, [label]] of ways.entries()) say(`  ${index + 1}  ${label}`);
  for (;;) {
    const answer = await input.askLine(`Your choice (1 to ${ways.length}, Ctrl-C to leave): `);
    if (answer === undefined) return LEFT;
    const way = ways[numberIn(answer)];
    const choice = await way?.[1]();
    if (choice) return choice;
    if (!way) say(`Type a number from 1 to ${ways.length}, or press Ctrl-C to leave.`);
  }
}

/** Saves the key in a home's `.env` (0600) and keeps its other lines. Throws GOALD_CONFIG. */
export const saveKey = (envFile: string, apiKey: string): Promise<void> =>
  saveToEnvFile(envFile, "OPENAI_API_KEY", apiKey);

function labelOf({ name, baseUrl, models }: FoundServer): string {
  const count = models.length === 1 ? shown(models[0] ?? "") : `${models.length} models`;
  return `use ${shown(name)} on this machine, ${shown(baseUrl)} (${count})`;
}

/** Undefined when the pasted text is not a key. */
async function askForKey(
  input: Pick<LineInput, "askLine" | "askSecret">,
  say: (line: string) => void,
): Promise<ConnectionChoice | undefined> {
  const pasted = await input.askSecret("Your key (it is not shown): ");
  if (pasted === undefined) return LEFT;
  const apiKey = pasted.trim();
  if (!/^[\x21-\x7e]{8,1000}$/.test(apiKey) || isPlaceholder(apiKey)) {
    say("That is not a key: expected at least 8 characters without spaces.");
    return undefined;
  }
  const save = await askYesNo(
    { input, say },
    {
      question: "Keep it in this home's .env, readable by you only?",
      default: false,
      help: "  y  save the key, so that goald does not ask again\n  n  use the key for this run only",
    },
  );
  return save === undefined ? LEFT : { kind: "key", apiKey, save };
}

async function askForModel(
  input: Pick<LineInput, "askLine">,
  say: (line: string) => void,
  { baseUrl, models }: FoundServer,
): Promise<ConnectionChoice> {
  const [only, second] = models;
  if (only !== undefined && second === undefined) return { kind: "server", baseUrl, model: only };
  const listed = models.slice(0, MAX_MODELS_SHOWN);
  for (const [index, model] of listed.entries()) say(`  ${index + 1}  ${shown(model)}`);
  if (listed.length < models.length) say(`  and ${models.length - listed.length} more`);
  for (;;) {
    const answer = await input.askLine("Which model (number or name)? ");
    if (answer === undefined) return LEFT;
    const model = models.find((name) => name === answer.trim()) ?? listed[numberIn(answer)];
    if (model !== undefined) return { kind: "server", baseUrl, model };
    say("That model is not in the list. Type its number or its name.");
  }
}

/** Index from 0; -1 when the answer is not a number. */
const numberIn = (answer: string): number => (/^\s*[1-9]\d{0,3}\s*$/.test(answer) ? Number(answer) - 1 : -1);

const shown = (text: string): string => oneLine(clean(text), 80);
