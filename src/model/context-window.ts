/**
 * context-window.ts -- looks up how many tokens a model accepts, by its name.
 *
 * The table is config/models.json: prefixes of model names, of which the longest match counts. Local servers accept far
 * less than the model was trained for, so local model families have the defaults of common servers.
 */

export interface ContextWindows {
  /** Maps a prefix of model names to the window in tokens. */
  readonly contextTokens: Readonly<Record<string, number>>;
  readonly unknownModelTokens: number;
}

/** Returns the tokens of prompt and reply together. `override` is the person's setting and wins. */
export function contextWindowOf(model: string, table: ContextWindows, override?: number): number {
  if (override !== undefined) return override;
  if (lastLookup.model !== model || lastLookup.table !== table)
    lastLookup = { model, table, tokens: findLongestPrefix(removeModelPath(model), table) };
  return lastLookup.tokens;
}

/** The last result: each step asks, usually for the same model. */
let lastLookup: { readonly model: string; readonly table: ContextWindows | undefined; readonly tokens: number } = {
  model: "",
  table: undefined,
  tokens: 0,
};

function findLongestPrefix(name: string, table: ContextWindows): number {
  let longest = "";
  let tokens = table.unknownModelTokens;
  for (const [prefix, window] of Object.entries(table.contextTokens)) {
    if (prefix.length > longest.length && name.startsWith(prefix)) {
      longest = prefix;
      tokens = window;
    }
  }
  return tokens;
}

/** Removes a router's path (`openai/gpt-4o`) and the prefix of a fine-tuned model (`ft:gpt-4o:…`). */
function removeModelPath(model: string): string {
  const lower = model.trim().toLowerCase().replace(/^ft:/, "");
  return lower.slice(lower.lastIndexOf("/") + 1);
}
