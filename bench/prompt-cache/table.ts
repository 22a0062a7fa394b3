/** table.ts -- prints the layouts of a prompt; the others are compared with the first. */

export interface Row {
  readonly title: string;
  /** All prompts together. */
  readonly tokens: number;
  /** Tokens in beginnings that equal the previous request's. */
  readonly same: number;
  /** Tokens that a server caches. */
  readonly cached: number;
  /** Cost of the run with replies; one figure per model. */
  readonly usd: readonly number[];
}

export function showTable(rows: readonly Row[], steps: number, models: readonly string[]): void {
  console.log(`A run of ${steps} steps: tokens of all prompts, and US dollars for the whole run with replies.`);
  console.log("Ratios compare with the first row. A server without a prompt cache charges for all tokens.\n");
  const [first] = rows;
  const share = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;
  console.log(line("", "tokens", "identical", "cached", ...models.flatMap((model) => [model, "ratio"])));
  for (const { title, tokens, same, cached, usd } of rows) {
    const costs = usd.flatMap((cost, model) => [
      cost.toFixed(4),
      (cost / (first?.usd[model] ?? Number.NaN)).toFixed(2),
    ]);
    console.log(line(title, String(tokens), share(same, tokens), share(cached, tokens), ...costs));
  }
}

const line = (title: string, ...cells: readonly string[]): string =>
  title.padEnd(54) + cells.map((cell) => cell.padStart(10)).join("");
