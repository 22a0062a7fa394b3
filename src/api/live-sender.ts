/**
 * live-sender.ts -- sends a following client the reply that is arriving, as pieces without an id.
 *
 * Sends at most twenty times a second, only while the client is caught up and reading.
 */
import { cutToWholeWords } from "#util/outside-text.ts";
import type { Control, LiveReply } from "./control.ts";

/** The client's connection. */
export interface LiveResponse {
  readonly writableNeedDrain: boolean;
  write(text: string): unknown;
}

export interface LiveSenderParts {
  readonly control: Pick<Control, "live">;
  toJson(value: unknown): string;
  redact(text: string): string;
}

export interface LiveSender {
  /** Sends pieces only after `setCaughtUp(true)`. */
  setCaughtUp(isCaughtUp: boolean): void;
  close(): void;
}

const LIVE_EVERY_MS = 50;

export function openLiveSender(
  agent: string,
  response: LiveResponse,
  { control, toJson, redact }: LiveSenderParts,
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

interface LivePiece {
  /** Number of the event that requested the reply. */
  readonly seq: number;
  /** Characters of the reply before this piece. */
  readonly from: number;
  readonly text: string;
}

const OPENS_JSON = /^\s*(?:```json\s*)?\{/;
const NOTHING = { seq: 0, sent: "", isLost: false };

/**
 * The returned function returns the next piece to send, or undefined.
 *
 * Pieces are whole words. Secrets are redacted from the text so far; when that changes text that was returned before, no
 * more of this reply is returned.
 */
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
