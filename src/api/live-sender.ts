/**
 * live-sender.ts -- sends a following client the reply that is arriving, as pieces without an id.
 *
 * Sends at most twenty times a second, only while the client is caught up and reading.
 */
import type { Control } from "./control.ts";
import { createLiveReader } from "./live-reader.ts";

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
