/**
 * live-reader.ts -- cuts a reply that is arriving into the pieces that one reader has not seen.
 *
 * Pieces are whole words. Secrets are redacted from the text so far; when that changes text that was returned before, no
 * more of this reply is returned.
 */
import { cutToWholeWords } from "#util/whole-words.ts";
import type { LiveReply } from "./live-text.ts";

export interface LivePiece {
  /** Number of the event that requested the reply. */
  readonly seq: number;
  /** Characters of the reply before this piece. */
  readonly from: number;
  readonly text: string;
}

const OPENS_JSON = /^\s*(?:```json\s*)?\{/;
const NOTHING = { seq: 0, sent: "", isLost: false };

/** The returned function returns the next piece to send, or undefined. */
export function createLiveReader(redact: (text: string) => string): (reply: LiveReply) => LivePiece | undefined {
  let shown = NOTHING;
  return ({ seq, text }) => {
    if (shown.seq !== seq) shown = { ...NOTHING, seq };
    if (shown.isLost) return undefined;
    const whole = redact(cutToWholeWords(text, OPENS_JSON.test(text)));
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
