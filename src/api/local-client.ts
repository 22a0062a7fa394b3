/** local-client.ts -- implements the host interface of a terminal for a host in this process. */
import type { HostClient } from "./client.ts";
import type { Control } from "./control.ts";
import type { Followed, FollowOptions } from "./follow.ts";
import { createLiveReader } from "./live-sender.ts";

/** Events read at a time. */
const PAGE_EVENTS = 100;
/** Minimum time between two pieces of a reply. */
const LIVE_EVERY_MS = 50;

export class LocalClient implements HostClient {
  readonly #control: Control;
  readonly #redact: (text: string) => string;
  readonly #failures = new Map<string, Error>();
  readonly #ended = new Set<string>();
  /** Functions that wake the followers of an agent. */
  readonly #followers = new Map<string, Set<() => void>>();

  constructor(control: Control, redact: (text: string) => string) {
    this.#control = control;
    this.#redact = redact;
  }

  /** Ends all followers of the agent with this error. */
  fail(agent: string, error: Error): void {
    this.#failures.set(agent, error);
    for (const wake of this.#followers.get(agent) ?? []) wake();
  }

  /** Ends all followers of the agent after they have seen its events so far. */
  end(agent: string): void {
    this.#ended.add(agent);
    for (const wake of this.#followers.get(agent) ?? []) wake();
  }

  agents: HostClient["agents"] = () => this.#control.agents();
  agent: HostClient["agent"] = (name) => this.#control.agent(name);
  create: HostClient["create"] = (agent) => this.#control.create(agent);
  resume: HostClient["resume"] = (name, settings, how) => this.#control.resume(name, settings, how);
  beginTurn: HostClient["beginTurn"] = (name, turn) => this.#control.beginTurn(name, turn);
  pause: HostClient["pause"] = (name, reason) => this.#control.pause(name, reason);
  kill: HostClient["kill"] = (name) => this.#control.kill(name);
  say: HostClient["say"] = (name, words) => this.#control.say(name, words);
  answer: HostClient["answer"] = (name, answer) => this.#control.answer(name, answer);
  page: HostClient["page"] = (name, after, limit) => this.#control.page(name, after, limit);

  async *follow(name: string, options: FollowOptions): AsyncGenerator<Followed> {
    const { signal = new AbortController().signal } = options;
    const { id } = await this.#control.agent(name);
    const nextPiece = options.live ? createLiveReader(this.#redact) : undefined;
    let { after } = options;
    while (!signal.aborted) {
      const { events } = await this.#control.page(id, after, PAGE_EVENTS);
      for (const event of events) {
        after = event.seq;
        yield { kind: "event", event };
        if (signal.aborted) return;
      }
      if (events.length > 0) continue;
      const failure = this.#failures.get(id);
      if (failure) throw failure;
      if (this.#ended.has(id)) return;
      const reply = this.#control.live.of(id);
      const piece = reply && nextPiece?.(reply);
      if (piece) yield { kind: "delta", ...piece };
      else await this.#untilMore(id, after, signal, nextPiece !== undefined);
    }
  }

  /** Resolves when the log is longer, more of a reply has arrived, or the agent has failed. */
  async #untilMore(id: string, after: number, signal: AbortSignal, live: boolean): Promise<void> {
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    let timer: NodeJS.Timeout | undefined;
    const onPiece = (): void => {
      timer ??= setTimeout(wake, LIVE_EVERY_MS);
    };
    const stopListening = live ? this.#control.live.listen(id, onPiece) : undefined;
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers.add(wake));
    try {
      await this.#control.whenLonger(id, after, AbortSignal.any([signal, woken.signal]));
    } finally {
      followers.delete(wake);
      stopListening?.();
      clearTimeout(timer);
    }
  }
}
