/**
 * context-window.ts -- how many tokens a model takes, by its name.
 *
 * The table is data (config/models.json): prefixes of model names, the longest that matches
 * counts. Local models are served with far less than they were trained for, so their
 * families stand there with what common servers give them by default.
 */

export interface ContextWindows {
  /** Prefix of a model's name to its window in tokens. */
  readonly contextTokens: Readonly<Record<string, number>>;
  readonly unknownModelTokens: number;
}

/** In tokens, prompt and reply together; `override` is a person's own figure and wins. */
export function contextWindowOf(model: string, table: ContextWindows, override?: number): number {
  if (override !== undefined) return override;
  if (newest.model !== model || newest.table !== table)
    newest = { model, table, tokens: longestPrefixOf(bareName(model), table) };
  return newest.tokens;
}

/** Asked for at each step, of one model as a rule. */
let newest: { readonly model: string; readonly table: ContextWindows | undefined; readonly tokens: number } = {
  model: "",
  table: undefined,
  tokens: 0,
};

function longestPrefixOf(name: string, table: ContextWindows): number {
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

/** Without a router's or publisher's path (`openai/gpt-4o`) and the mark of a fine-tuned model (`ft:gpt-4o:…`). */
function bareName(model: string): string {
  const lower = model.trim().toLowerCase().replace(/^ft:/, "");
  return lower.slice(lower.lastIndexOf("/") + 1);
}
