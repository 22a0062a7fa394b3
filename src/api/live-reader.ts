/**
 * live-reader.ts -- what one reader of an event stream was sent of a reply that is still arriving.
 *
 * Pieces are ends of words, at most twenty times a second, and only what is certain: secrets are taken out of the text as
 * far as it is known, and when that changes what was sent already, no more of this reply is sent.
 */
import { wholeWordsOf } from "#util/whole-words.ts";
import type { LiveReply } from "./live-text.ts";

export interface Piece {
  /** Number of the event that asked for the reply. */
  readonly seq: number;
  /** Characters of the reply that came before this piece. */
  readonly from: number;
  readonly text: string;
}

const NOTHING = { seq: 0, sent: "", isLost: false };

/** Returns what is to be sent next, or undefined. */
export function createLiveReader(redact: (text: string) => string): (reply: LiveReply) => Piece | undefined {
  let shown = NOTHING;
  return ({ seq, text }) => {
    if (shown.seq !== seq) shown = { ...NOTHING, seq };
    if (shown.isLost) return undefined;
    const whole = redact(wholeWordsOf(text));
    if (!whole.startsWith(shown.sent)) {
      shown = { ...shown, isLost: true };
      return undefined;
    }
    const from = shown.sent.length;
    if (whole.length === from) return undefined;
    shown = { ...shown, sent: whole };
    return { seq, from, text: whole.slice(from) };
  };
}
