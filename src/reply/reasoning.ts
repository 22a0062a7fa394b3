/**
 * reasoning.ts -- what a model thought aloud before its answer, told from the answer.
 *
 * A draft inside a reasoning block is no reply, however complete it looks. Marks count outside
 * of objects only, so that a tag inside an argument stays part of the argument.
 */
import type { Piece } from "./extract-json.ts";

const NAME =
  "(?:think(?:ing)?|thoughts?|(?:thought|thinking)_process|chain_of_thought|cot|reasoning|reflection|scratch_?pad|analysis|(?:inner_|internal_)?monologue)";
/** As tags with a family's prefix (`<seed:think>`, `<antThinking>`), between bars, in square brackets and as channels. */
const OPEN = [
  `<(?:[a-z]{1,9}:|ant)?${NAME}(?:\\s[^<>]{0,200})?>`,
  `<[|｜](?:(?:begin|start)[_▁](?:of[_▁])?)?${NAME}[|｜]>`,
  "\\[think\\]|◁think▷|\\|startthink\\||<\\|channel\\|?>\\s?(?:analysis|thought)|<(?:unused|ctrl)94>",
  // A harmony reply from a server that dropped its special tokens.
  "^analysis(?=[a-z])",
].join("|");
const CLOSE = [
  `</(?:[a-z]{1,9}:|ant)?${NAME}\\s{0,9}>`,
  `<[|｜](?:/|end[_▁](?:of[_▁])?)${NAME}[|｜]>`,
  "\\[/think\\]|◁/think▷|\\|endthink\\||<\\|channel\\|>\\s?(?:final|commentary)|<channel\\|>|<(?:unused|ctrl)95>|assistantfinal",
].join("|");
const MARK = new RegExp(`(?<open>${OPEN})|(?:${CLOSE})`, "gi");
const OPENING = new RegExp(OPEN, "i");

/** True when a reasoning block opens in the text, which begins with the reply or somewhere in it. */
export const opensReasoning = (text: string): boolean => OPENING.test(text);

export interface Answer {
  /** Objects outside the model's reasoning, in order. */
  readonly objects: readonly Piece[];
  /** A reasoning block was opened and never closed: what follows is no answer. */
  readonly unclosed: boolean;
}

/** Drops the objects inside reasoning blocks; a closing mark without its opening ends what began with the reply. */
export function dropReasoning(text: string, pieces: readonly Piece[]): Answer {
  let open = 0;
  let objects: Piece[] = [];
  for (const piece of pieces) {
    if (piece.kind === "object") {
      if (open === 0) objects.push(piece);
      continue;
    }
    for (const mark of text.slice(piece.start, piece.end).matchAll(MARK)) {
      if (mark.groups?.open !== undefined) open++;
      else if (open > 0) open--;
      else objects = [];
    }
  }
  return { objects, unclosed: open > 0 };
}

/** First index after a reasoning block that comes before every bracket: its own braces and quotes need not balance. */
export function endOfLeadingReasoning(text: string): number {
  let open = 0;
  for (const mark of text.matchAll(MARK)) {
    if (open === 0 && /[{[]/.test(text.slice(0, mark.index))) return 0;
    open += mark.groups?.open === undefined ? -1 : 1;
    if (open <= 0) return mark.index + mark[0].length;
  }
  return 0;
}
