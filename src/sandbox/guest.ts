/** guest.ts -- the program of a cell process, which the host starts in a cage. An import does nothing. */
import { readFrame, writeFrame } from "#cage/frames.ts";
import {
  type EngineHost,
  type FromGuest,
  type GuestOptions,
  MAX_LOADING_MS,
  MAX_SAVING_MS,
  type Question,
  type Reply,
  type RunCell,
  type ToGuest,
} from "./protocol.ts";

/** The process stops loading and saving itself, before the host's limit kills it: then only some names are lost. */
const OWN_LOADING_MS = 0.6 * MAX_LOADING_MS;
const OWN_SAVING_MS = 0.6 * MAX_SAVING_MS;
/** The process stops code itself this much before its limit, so that it is heard before the host's limit. */
const EARLY_MS = 50;
const NOTHING = new Uint8Array();
const now = performance.now.bind(performance);
/** An engine closes node's ways out, this one too. */
const exit: (code?: number) => never = process.exit.bind(process);

/** The time of one cell. It stands still while `since` is undefined. */
interface Clock {
  leftMs: number;
  since: number | undefined;
  phase: "loading" | "code" | "saving";
  readonly codeMs: number;
}

/**
 * The process's end of the conversation: reads cells, asks the host, and measures the time of code. All of it blocks.
 * While the process waits for a reply, the host may send another cell, which runs inside that wait.
 */
class GuestConversation implements EngineHost {
  readonly #clocks: Clock[] = [];
  #run: RunCell | undefined;

  /** Serves cells until the host closes the channel. */
  serve(run: RunCell): void {
    this.#run = run;
    send({ type: "ready" });
    for (let heard = hear(); heard; heard = hear()) if (heard.message.type === "cell") this.#runCell(heard.message);
  }

  ask(question: Question, bytes: Uint8Array = NOTHING): { readonly reply: Reply; readonly bytes: Uint8Array } {
    const clock = this.#clocks.at(-1);
    if (clock) {
      clock.leftMs -= elapsedMs(clock);
      clock.since = undefined;
    }
    send(question, bytes);
    for (let heard = hear(); heard; heard = hear()) {
      if (heard.message.type === "reply") {
        if (clock) clock.since = now();
        return { reply: heard.message, bytes: heard.bytes };
      }
      this.#runCell(heard.message);
    }
    return exit();
  }

  timeLeftMs(): number {
    const clock = this.#clocks.at(-1);
    return clock ? clock.leftMs - elapsedMs(clock) : Infinity;
  }

  startCode(): void {
    const clock = this.#clocks.at(-1);
    if (clock?.phase !== "loading") return;
    Object.assign(clock, { leftMs: clock.codeMs, since: now(), phase: "code" });
    send({ type: "loaded" });
  }

  show(line: string): void {
    send({ type: "printed", line });
  }

  endCode(): void {
    const clock = this.#clocks.at(-1);
    if (!clock || clock.phase === "saving") return;
    Object.assign(clock, { leftMs: OWN_SAVING_MS, since: now(), phase: "saving" });
    send({ type: "ended" });
  }

  #runCell({ cell, saved }: Extract<ToGuest, { type: "cell" }>): void {
    const codeMs = Math.max(0.9 * cell.timeLimitMs, cell.timeLimitMs - EARLY_MS);
    const phase = saved ? "loading" : "code";
    this.#clocks.push({ leftMs: saved ? OWN_LOADING_MS : codeMs, phase, since: now(), codeMs });
    const outcome = this.#run?.(cell, saved);
    this.#clocks.pop();
    // Hostile code may have replaced the outcome by null, for which the host ends the process.
    if (outcome !== undefined) send({ type: "done", outcome });
  }
}

const elapsedMs = ({ since }: Clock): number => (since === undefined ? 0 : now() - since);

const send = (message: FromGuest, bytes: Uint8Array = NOTHING): void => writeFrame(message, bytes);

function hear(): { readonly message: ToGuest; readonly bytes: Uint8Array } | undefined {
  const frame = readFrame();
  return frame && { message: frame.value as ToGuest, bytes: frame.bytes };
}

if (import.meta.main) {
  const options = JSON.parse(process.argv[2] ?? "") as GuestOptions;
  const { openEngine } = await import("./python-engine.ts");
  const conversation = new GuestConversation();
  conversation.serve(await openEngine(options, conversation));
  exit();
}
