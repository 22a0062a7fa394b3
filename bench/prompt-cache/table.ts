/** table.ts -- the layouts of a prompt beside each other, the first of them being what the others are compared with. */

export interface Row {
  readonly title: string;
  /** Of all prompts together. */
  readonly tokens: number;
  /** Of those, in beginnings that are the same as in the request before. */
  readonly same: number;
  /** Of those, as much as a server keeps. */
  readonly cached: number;
  /** Of the run, replies included; one figure per model. */
  readonly usd: readonly number[];
}

export function showTable(rows: readonly Row[], steps: number, models: readonly string[]): void {
  console.log(`A run of ${steps} steps: prompts in tokens, and US dollars for the whole run, replies included.`);
  console.log("A ratio compares with the first row. On a server that keeps nothing, cost goes by the tokens alone.\n");
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
