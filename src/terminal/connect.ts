/**
 * connect.ts -- a person without a key chooses: paste one, use a server found on this machine, or watch the demo.
 *
 * Nothing is chosen for them: Enter alone asks again, and a server that was found is one line of the list. The key is
 * not shown while it is typed, and is kept only after a yes.
 */
import { saveToEnvFile } from "#config/env-file.ts";
import { isPlaceholder } from "#config/find-settings.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import type { LineInput } from "./ask.ts";

export interface FoundServer {
  readonly name: string;
  readonly baseUrl: string;
  /** What the server says of itself: not to be trusted. */
  readonly models: readonly string[];
}

export type ConnectionChoice =
  | { readonly kind: "key"; readonly apiKey: string; readonly save: boolean }
  | { readonly kind: "server"; readonly baseUrl: string; readonly model: string }
  | { readonly kind: "demo" }
  /** By Ctrl-C or the end of input. */
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
    ["watch the demo: a recorded agent, no key and no network", () => Promise.resolve({ kind: "demo" } as const)],
  ];
  say("There is no model to talk to yet. You can:");
  for (const [index, [label]] of ways.entries()) say(`  ${index + 1}  ${label}`);
  for (;;) {
    const answer = await input.askLine(`Your choice (1 to ${ways.length}, Ctrl-C to leave): `);
    if (answer === undefined) return LEFT;
    const way = ways[numberIn(answer)];
    const choice = await way?.[1]();
    if (choice) return choice;
    if (!way) say(`Type a number from 1 to ${ways.length}.`);
  }
}

/** Keeps the key in a home's `.env`, 0600, and leaves its other lines as they are. Throws GOALD_CONFIG. */
export const saveKey = (envFile: string, apiKey: string): Promise<void> =>
  saveToEnvFile(envFile, "OPENAI_API_KEY", apiKey);

function labelOf({ name, baseUrl, models }: FoundServer): string {
  const count = models.length === 1 ? shown(models[0] ?? "") : `${models.length} models`;
  return `use ${shown(name)} on this machine, ${shown(baseUrl)} (${count})`;
}

/** undefined: what was pasted is no key. */
async function askForKey(
  input: Pick<LineInput, "askLine" | "askSecret">,
  say: (line: string) => void,
): Promise<ConnectionChoice | undefined> {
  const pasted = await input.askSecret("Your key (it is not shown): ");
  if (pasted === undefined) return LEFT;
  const apiKey = pasted.trim();
  if (!/^[\x21-\x7e]{8,1000}$/.test(apiKey) || isPlaceholder(apiKey)) {
    say("That is not a key: expected 8 characters or more, without blanks.");
    return undefined;
  }
  const answer = await input.askLine("Keep it in this home's .env, readable by you only? (y/n) ");
  if (answer === undefined) return LEFT;
  return { kind: "key", apiKey, save: /^y(?:es)?$/i.test(answer.trim()) };
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
    say("There is no such model in the list.");
  }
}

/** Counted from 0; -1 for what is no number. */
const numberIn = (answer: string): number => (/^\s*[1-9]\d{0,3}\s*$/.test(answer) ? Number(answer) - 1 : -1);

const shown = (text: string): string => oneLine(clean(text), 80);
