/**
 * live-sender.ts -- sends a following client the reply that is arriving, as pieces without an id.
 *
 * Sends at most twenty times a second, only while the client is caught up and reading.
 */
import type { Response, StreamParts } from "./event-stream.ts";
import { createLiveReader } from "./live-reader.ts";

export interface LiveSender {
  /** Sends pieces only after `setCaughtUp(true)`. */
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
