/**
 * approve.ts -- what a person's line means when a command waits for a yes.
 *
 * AutoGPT's grammar: the yes key, the yes key with `-N` for N commands, the exit key; everything else is feedback
 * and the command does not run. In doubt nothing runs: an empty line or a count that is none is asked again.
 */
import { clean } from "#util/clean.ts";

export interface AnswerKeys {
  readonly yes: string;
  readonly no: string;
}

export type ParsedAnswer =
  /** `count` commands in all, the one that waits included. */
  | { readonly kind: "approved"; readonly count: number }
  | { readonly kind: "denied-exit" }
  | { readonly kind: "feedback"; readonly text: string }
  | { readonly kind: "again"; readonly why: string };

const MAX_COUNT = 1_000;

export function parseAnswer(line: string, { yes, no }: AnswerKeys): ParsedAnswer {
  const text = clean(line).trim();
  const answer = text.toLowerCase();
  if (answer === "") return { kind: "again", why: `Answer ${yes}, ${yes} -N, ${no}, or say what to do instead.` };
  if (answer === yes.toLowerCase()) return { kind: "approved", count: 1 };
  if (answer === no.toLowerCase()) return { kind: "denied-exit" };
  const [, key, count] = /^(\S+)\s+-\s*(.*)$/s.exec(answer) ?? [];
  if (key !== yes.toLowerCase() || count === undefined) return { kind: "feedback", text };
  const number = /^\d{1,4}$/.test(count) ? Number(count) : 0;
  if (number >= 1 && number <= MAX_COUNT) return { kind: "approved", count: number };
  return {
    kind: "again",
    why: `Expected ${yes} -N with N from 1 to ${MAX_COUNT.toLocaleString("en-US")}, got ${JSON.stringify(text.slice(0, 80))}. Nothing was run.`,
  };
}
