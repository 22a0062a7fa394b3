/**
 * questions.ts -- every question to a person, with one grammar of answers.
 *
 *   y, yes, n, no   in any case
 *   y -N            approves N commands, as in AutoGPT; `y N` does the same
 *   Enter           takes the default, where the question shows one: [Y/n], [name]
 *   ?, help         explains the answers and asks again
 *
 * An answer that a question cannot use is asked for again. Nothing is approved, removed or kept by a guess.
 */
import { withCommas } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import type { LineInput } from "./line-input.ts";

/** Where a question is asked and its explanations are printed. */
export interface QuestionScreen {
  input(): Pick<LineInput, "askLine">;
  say(line: string): void;
}

type Word = "yes" | "no" | "help" | "empty" | "other";

function readWord(line: string): Word {
  const word = clean(line).trim().toLowerCase();
  if (word === "") return "empty";
  if (word === "n" || word === "no") return "no";
  if (word === "y" || word === "yes") return "yes";
  return word === "?" || word === "help" ? "help" : "other";
}

export interface YesNoQuestion {
  /** Without the answers, such as `Remove it?`. */
  readonly question: string;
  /** The answer that Enter means, shown as a capital. */
  readonly default: boolean;
  /** What yes and no do, for `?`. */
  readonly help: string;
}

/** Resolves to undefined when the person leaves. */
export async function askYesNo(
  { input, say }: QuestionScreen,
  { question, default: isYes, help }: YesNoQuestion,
): Promise<boolean | undefined> {
  for (;;) {
    const line = await input().askLine(`${question} ${isYes ? "[Y/n]" : "[y/N]"} `);
    if (line === undefined) return undefined;
    switch (readWord(line)) {
      case "yes":
        return true;
      case "no":
        return false;
      case "empty":
        return isYes;
      case "help":
        say(help);
        break;
      case "other":
        say(`Answer y or n; Enter means ${isYes ? "yes" : "no"}, ? explains.`);
    }
  }
}

export interface TextQuestion {
  readonly question: string;
  /** For `?`. */
  readonly help: string;
  /** The reason why an answer cannot be used; undefined when it can. Not called for an empty line. */
  problemWith?(text: string): string | undefined;
}

/** Resolves to the trimmed text, "" for Enter, undefined when the person leaves. */
export async function askText(
  { input, say }: QuestionScreen,
  { question, help, problemWith }: TextQuestion,
): Promise<string | undefined> {
  for (;;) {
    const line = await input().askLine(question);
    if (line === undefined) return undefined;
    const text = clean(line).trim();
    const problem = text === "?" ? help : text === "" ? undefined : problemWith?.(text);
    if (problem === undefined) return text;
    say(problem);
  }
}

export type ApprovalReply =
  /** `count` commands in all, the waiting one included. */
  | { readonly kind: "approved"; readonly count: number }
  | { readonly kind: "refused" }
  | { readonly kind: "feedback"; readonly text: string }
  /** Ask again after saying why. */
  | { readonly kind: "unclear"; readonly why: string };

const MAX_COUNT = 1_000;

/** Words that are neither a yes nor a no are feedback: the command does not run and the model reads them. */
export function readApproval(line: string): ApprovalReply {
  const text = clean(line).trim();
  switch (readWord(line)) {
    case "yes":
      return { kind: "approved", count: 1 };
    case "no":
      return { kind: "refused" };
    case "help":
      return { kind: "unclear", why: APPROVAL_HELP };
    case "empty":
      return { kind: "unclear", why: "Answer y, y -N, n, or say what to do instead." };
    case "other":
      return readCount(text) ?? { kind: "feedback", text };
  }
}

/** `y -5`, `y 5`, `yes -5`; undefined for other lines. */
function readCount(text: string): ApprovalReply | undefined {
  const [, dashed, plain] = /^y(?:es)?(?:\s*-\s*(.*)|\s*(\d+))$/is.exec(text) ?? [];
  const count = dashed ?? plain;
  if (count === undefined) return undefined;
  const number = /^\d{1,4}$/.test(count) ? Number(count) : 0;
  if (number >= 1 && number <= MAX_COUNT) return { kind: "approved", count: number };
  const most = withCommas(MAX_COUNT);
  const got = JSON.stringify(text.slice(0, 80));
  return { kind: "unclear", why: `Expected y -N with N from 1 to ${most}, got ${got}. Nothing was run.` };
}

export const APPROVAL_QUESTION = "Run it? [y/n/?, or say what to do instead] ";

const APPROVAL_HELP = `  y, yes       run this command
  y -5         run this and the next four commands of this turn without asking
  n, no        do not run it, and pause the agent
  other words  do not run it; the model reads your words instead`;
