/** table.ts -- prints the layouts of a prompt, of which the others are compared with the first, and the forms. */
import type { ReplyForm } from "#core/agent-settings.ts";
import { rowOf } from "../shared/print.ts";

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

const line = rowOf(54, 10);

export interface FormRow {
  readonly form: ReplyForm;
  readonly batch: number;
  /** Tokens of the system message. */
  readonly systemTokens: number;
  /** Tokens of the messages of a request, on average. */
  readonly tokens: number;
  /** Tokens in beginnings that equal the previous request's, of all tokens of the messages. */
  readonly share: number;
  /** The same with the tools, which come before the messages and never change. */
  readonly withTools: number;
}

export function showForms(rows: readonly FormRow[], firstStep: number): void {
  console.log(`\nShare of a request's tokens that equal the previous request's beginning, from step ${firstStep} on.`);
  console.log(line("", "system", "tokens", "share", "and tools"));
  for (const { form, batch, systemTokens, tokens, share, withTools } of rows) {
    const sizes = [systemTokens, tokens].map(String);
    console.log(line(`${form}, window.batch ${batch}`, ...sizes, share.toFixed(2), withTools.toFixed(2)));
  }
}
