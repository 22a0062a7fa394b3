/**
 * live-sender.ts -- sends a following client the reply that is arriving, as pieces without an id.
 *
 * Pieces are whole words, sent at most twenty times a second, only while the client is caught up and reading. Secrets are
 * redacted from the text so far; when that changes text that was sent, no more of this reply is sent.
 */
import { cutToWholeWords } from "#util/whole-words.ts";
import type { Response, StreamParts } from "./event-stream.ts";
import type { LiveReply } from "./live-text.ts";

export interface LiveSender {
  /** Nothing is sent before. */
  setCaughtUp(isCaughtUp: boolean): void;
  close(): void;
}

const LIVE_EVERY_MS = 50;

export function openLiveSender(
  agent: string,
  response: Response,
  { control, toJson, redact }: Pick<StreamParts, "control" | "toJson" | "redact">,
): LiveSender {
  const nextPiece = createLiveReader(redact);
  let isCaughtUp = false;
  let timer: NodeJS.Timeout | undefined;

  function send(): void {
    timer = undefined;
    const reply = isCaughtUp && !response.writableNeedDrain ? control.live.of(agent) : undefined;
    const piece = reply && nextPiece(reply);
    if (piece) response.write(`event: delta\ndata: ${toJson(piece)}\n\n`);
  }

  const sendSoon = (): void => {
    timer ??= setTimeout(send, LIVE_EVERY_MS);
  };
  const stopListening = control.live.listen(agent, sendSoon);
  return {
    setCaughtUp: (is) => {
      isCaughtUp = is;
      if (is) sendSoon();
    },
    close: () => {
      stopListening();
      clearTimeout(timer);
      isCaughtUp = false;
    },
  };
}

export interface LivePiece {
  /** Number of the event that requested the reply. */
  readonly seq: number;
  /** Characters of the reply before this piece. */
  readonly from: number;
  readonly text: string;
}

const NOTHING = { seq: 0, sent: "", isLost: false };

/** Returns the next piece to send, or undefined. */
export function createLiveReader(redact: (text: string) => string): (reply: LiveReply) => LivePiece | undefined {
  let shown = NOTHING;
  return ({ seq, text }) => {
    if (shown.seq !== seq) shown = { ...NOTHING, seq };
    if (shown.isLost) return undefined;
    const whole = redact(cutToWholeWords(text));
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
