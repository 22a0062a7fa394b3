/**
 * interrupts.ts -- collects Ctrl-C, SIGTERM, a closed terminal and a closed pipe for a terminal's client.
 *
 * A closed terminal counts as one Ctrl-C, even if the system reports it several times. The third interrupt ends this
 * process at once.
 */
import { EXIT } from "#core/errors.ts";

export type Interrupt = "signal" | "closed-pipe";

export class Interrupts implements Disposable {
  #count = 0;
  #isUnread = false;
  #onInterrupt: ((count: number, kind: Interrupt) => void) | undefined;
  readonly #onSignal = (): void => this.#note("signal");
  readonly #onHangUp = (): void => {
    if (this.#count === 0) this.#note("signal");
  };
  readonly #onUnread = (): void => {
    this.#isUnread = true;
    if (this.#count === 0) this.#note("closed-pipe");
  };

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#onSignal);
    process.on("SIGHUP", this.#onHangUp);
    process.stdout.on("unread", this.#onUnread);
  }

  /** True after a signal. */
  get isInterrupted(): boolean {
    return this.#count > 0;
  }

  /** True when the reader of standard output has closed it. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  /** Calls `take` for each interrupt, and at once for an earlier one. */
  listen(take: (count: number, kind: Interrupt) => void): void {
    this.#onInterrupt = take;
    if (this.#count > 0) take(this.#count, this.#isUnread ? "closed-pipe" : "signal");
  }

  [Symbol.dispose](): void {
    for (const name of SIGNALS) process.off(name, this.#onSignal);
    process.off("SIGHUP", this.#onHangUp);
    process.stdout.off("unread", this.#onUnread);
  }

  #note(kind: Interrupt): void {
    this.#count += 1;
    this.#onInterrupt?.(this.#count, kind);
    if (this.#count > MOST) process.exit(EXIT.interrupted);
  }
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
const MOST = 2;
