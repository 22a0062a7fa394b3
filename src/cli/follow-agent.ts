/**
 * follow-agent.ts -- shows an agent's events and asks the person its questions. It ends when the agent stops, when it
 * waits for a person and no terminal can ask one, or when the person leaves. An interrupt pauses an agent that was
 * started here, and only detaches from others. If the daemon dies, it is started again and goes on with an agent that
 * is held here, and every event is shown exactly once.
 */
import type { Client } from "#api/client.ts";
import { isDaemonMissing, isHostHeld } from "#api/daemon-files.ts";
import type { Followed } from "#api/socket.ts";
import type { LinesBelow } from "#cli/terminal/print.ts";
import type { ShowRun } from "#cli/terminal/show-run.ts";
import { EXIT, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { type AgentState, isAwaitingPerson, isFinished, isOver } from "#core/state.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import { type AgentView, RATE_LIMITED } from "#views/agent-view.ts";
import { allEvents, findBefore, type LoadedAgent } from "#views/read-agent.ts";
import { logReader, lookAgain, withReading } from "./agents.ts";
import { Questions, type QuestionsParts } from "./ask-person.ts";
import { type CliContext, formatCall } from "./context.ts";
import { LivingLine } from "./living-line.ts";
import type { KnownOf } from "./result.ts";
import { reachHost } from "./with-agent.ts";

export interface FollowParts extends KnownOf, Pick<QuestionsParts, "context" | "agent" | "ask"> {
  readonly client: Client;
  /** When the last known event was recorded; default: now. */
  readonly changedAt?: string;
  readonly show: ShowRun;
  /** Where the living line is shown; undefined: nowhere. */
  readonly below?: LinesBelow | undefined;
  readonly interrupts: Interrupts;
  /** Effect of an interrupt: pause the agent, or only stop following. */
  readonly onInterrupt: "pause" | "leave";
}

/** Wait for a lost host in ms, before checking whether it must be restarted. */
const PATIENCE_MS = 2_000;
/** How often the host's views of agents are looked at, in ms. */
const LOOK_MS = 2_000;
/** Usual maximum time until a host has recorded a pause, in ms. */
const SENDING_MS = 1_000;

/** `left`: true when the person left, false when following ended with the agent. */
export const followAgent = (parts: FollowParts) => new Follower(parts).follow();

/** True for an agent that waits for a person, also after it has read what has arrived for it. */
export async function keepsAwaiting(agent: string, { after, state }: KnownOf, client: Client): Promise<boolean> {
  if (!isAwaitingPerson(state)) return false;
  const heard = await lookAgain({ looks: 40, everyMs: 50 }, async () => {
    const { events } = await client.page(agent, after, 100);
    return events.length > 0 ? events.reduce(evolve, state) : undefined;
  });
  return isAwaitingPerson(heard ?? state);
}

class Follower {
  readonly #parts: FollowParts;
  readonly #questions: Questions;
  readonly #leaving = new AbortController();
  #client: Client;
  #failure: Error | undefined;
  /** The requested halt, sent again to a new host. */
  #halt: "none" | "pause" | "kill" = "none";
  #sending: Promise<unknown> = Promise.resolve();
  readonly #ended = new AbortController();
  #isStuck = false;
  #shown = { seq: 0, chars: 0 };
  readonly #living: LivingLine | undefined;

  constructor(parts: FollowParts) {
    this.#parts = parts;
    this.#client = parts.client;
    this.#questions = new Questions({
      ...parts,
      client: () => this.#client,
      onLeft: () => (parts.onInterrupt === "pause" ? this.#requestHalt("pause") : this.#leaving.abort()),
      onStop: () => this.#requestHalt("pause"),
      onFailed: (error) => {
        this.#failure = error;
        this.#leaving.abort();
      },
    });
    this.#living = this.#openLivingLine();
  }

  #openLivingLine(): LivingLine | undefined {
    const { context, state, changedAt, ask, below, onInterrupt } = this.#parts;
    const { output, redact } = context;
    if (!below) return undefined;
    const input = ask && output.input();
    const parts = {
      below,
      colour: output.colour,
      redact,
      typed: () => input?.typed ?? "",
      isAway: () => this.#questions.isOpen || this.#ended.signal.aborted,
    };
    const since = changedAt === undefined ? systemClock.now() : new Date(changedAt);
    const living = new LivingLine(parts, state, since, onInterrupt === "pause" ? "pauses" : "leaves");
    input?.watchTyping(() => {
      living.draw();
      void this.#questions.sendTyped();
    });
    return living;
  }

  async follow() {
    const { interrupts, ask, show, onInterrupt } = this.#parts;
    const endOf = (now: AgentState): "over" | "asking" | undefined =>
      isOver(now) ? "over" : ask === undefined && isAwaitingPerson(now) ? "asking" : undefined;
    let { state } = this.#parts;
    interrupts.listen((count, kind) => this.#interrupt(count, kind));
    try {
      this.#questions.lookAt(state);
      this.#living?.draw();
      void this.#watchHold();
      if (ask === undefined || onInterrupt === "pause")
        void this.#watchBelow(() => Object.keys(state.children).length > 0);
      for await (const event of this.#events()) {
        const before = state;
        state = evolve(state, event);
        await this.#questions.withdraw(event);
        show(event);
        this.#questions.noteRead(event);
        // Ignores an end state that the agent was already in, such as the pause before a resume.
        const isNew = endOf(state) !== endOf(before);
        if (endOf(state) && isNew && !(await this.#hasGoneOn(state, event, endOf))) return { state, left: false };
        this.#questions.lookAt(state);
        this.#living?.see(event, state);
      }
      if (this.#failure) throw this.#failure;
      return { state, left: this.#leaving.signal.aborted && !this.#isStuck };
    } finally {
      this.#ended.abort();
      this.#living?.end();
      await this.#questions.end();
    }
  }

  /**
   * True when words that were typed here and not read yet open the next turn of an agent that has finished, and when
   * its log leaves the end state again at once: a pause and a resume may have been read together, and a resume may have
   * brought what the agent waits for, such as settings that ask nobody.
   */
  async #hasGoneOn(
    state: AgentState,
    { type, seq }: RecordedEvent,
    endOf: (now: AgentState) => unknown,
  ): Promise<boolean> {
    const { agent } = this.#parts;
    if (type === "agent-resumed")
      return !(await keepsAwaiting(agent, { after: seq, state }, this.#client).catch(() => true));
    if (isFinished(state) || this.#halt !== "none") return this.#halt === "none" && (await this.#questions.hasUnread());
    const page = await this.#client.page(agent, seq, 100).catch(() => ({ events: [] }));
    return endOf(page.events.reduce(evolve, state)) === undefined;
  }

  /** Ends when the person leaves. Throws GOALD_DAEMON when the daemon has ended and none can replace it. */
  async *#events(): AsyncGenerator<RecordedEvent> {
    const { agent, context, show, onInterrupt } = this.#parts;
    const { signal } = this.#leaving;
    const options = { signal, live: show.onText !== undefined, hold: onInterrupt === "pause", patienceMs: PATIENCE_MS };
    let { after } = this.#parts;
    for (;;) {
      try {
        for await (const followed of this.#client.follow(agent, { ...options, after })) {
          if (followed.kind === "delta") this.#showPiece(followed);
          else if (followed.kind === "printed") this.#living?.print(followed.line);
          else if (followed.kind === "bye")
            context.output.say(clean(`The host goes down${followed.reason ? `: ${followed.reason}` : ""}`));
          else if (followed.kind === "event") {
            after = followed.event.seq;
            yield followed.event;
          }
        }
        return;
      } catch (thrown) {
        if (!isGoaldError(thrown, "GOALD_DAEMON") || signal.aborted) throw thrown;
        this.#client = (await this.#findNextHost()) ?? this.#client;
        this.#sendHalt();
      }
    }
  }

  /** Shows until when the server's limit holds the request back; a limit that another agent met is no event of this one. */
  async #watchHold(): Promise<void> {
    while (this.#living && !this.#ended.signal.aborted) {
      const view = await this.#client.agent(this.#parts.agent).catch(() => undefined);
      this.#living.heldUntil = view?.state === RATE_LIMITED ? view.until : null;
      await systemClock.sleep(LOOK_MS, this.#ended.signal);
    }
  }

  /** Says which of its agents wait for a person, each time once. Without a terminal, ends when nothing else goes on. */
  async #watchBelow(hasStarted: () => boolean): Promise<void> {
    const { agent, ask, context } = this.#parts;
    const told = new Set<string>();
    while (!this.#ended.signal.aborted) {
      const views = hasStarted() ? await this.#client.agents().catch(() => []) : [];
      const below = belowOf(agent, views);
      const fresh = below.filter((view) => isAsking(view) && !told.has(`${view.id} ${view.changedAt}`));
      const all = [...views.filter(({ id }) => id === agent), ...below];
      this.#isStuck = ask === undefined && fresh.length === 0 && below.some(isAsking) && all.every(isStill);
      if (this.#isStuck) this.#leaving.abort();
      for (const { id, state, reason, changedAt } of fresh) {
        told.add(`${id} ${changedAt}`);
        const answer = state === "waiting: approval" ? ["approve", id] : ["say", id, '"…"'];
        const asked = `${id} ${(reason ?? "It waits.").replace(/^It /, "")}`;
        context.output.say(context.redact(clean(`\n${asked}\n  Answer with: ${formatCall(context.home, ...answer)}`)));
      }
      await systemClock.sleep(LOOK_MS, this.#ended.signal);
    }
  }

  /** Prints each piece once and in order. After a missed piece, skips the rest of that reply. */
  #showPiece({ seq, from, text }: Extract<Followed, { kind: "delta" }>): void {
    if (this.#shown.seq !== seq) this.#shown = { seq, chars: 0 };
    const { chars } = this.#shown;
    const end = from + text.length;
    if (from > chars || end <= chars) return;
    this.#parts.show.onText?.(text.slice(chars - from));
    this.#living?.receive(end - chars);
    this.#shown = { seq, chars: end };
  }

  #interrupt(count: number, kind: Interrupt): void {
    if (this.#parts.onInterrupt === "leave") this.#leaving.abort();
    else if (count === 2) this.#requestHalt("kill");
    else if (count > 2) this.#sayLeft();
    else {
      this.#requestHalt("pause");
      if (kind === "signal") void this.#sayFinishing();
    }
  }

  /** Prints the message after the host has received the request, since the agent could start another step before. */
  async #sayFinishing(): Promise<void> {
    await Promise.race([this.#sending, systemClock.sleep(SENDING_MS)]);
    if (this.#halt !== "pause" || this.#ended.signal.aborted) return;
    this.#parts.context.output.say("\nFinishing this step. Again to stop at once.");
  }

  /** Prints before this process exits, even if the host has not received the request. */
  #sayLeft(): void {
    const { agent, context } = this.#parts;
    context.output.say(`\nLeft at once. See whether ${agent} goes on: ${formatCall(context.home, "ps")}`);
  }

  #requestHalt(halt: "pause" | "kill"): void {
    this.#halt = halt;
    this.#living?.setKey(halt === "kill" ? "ends" : "stops");
    this.#sendHalt();
  }

  /** Sends the request again when a new host replaces a lost one. */
  #sendHalt(): void {
    const { agent, context } = this.#parts;
    if (this.#halt === "none") return;
    const reason = "Stopped by the person at the terminal.";
    const sent = this.#halt === "kill" ? this.#client.kill(agent) : this.#client.pause(agent, reason);
    this.#sending = sent.then(undefined, (thrown) => {
      if (!isGoaldError(thrown, "GOALD_DAEMON")) context.output.say(context.redact(clean(toError(thrown).message)));
    });
  }

  /** Returns the next host of the home; undefined while the lock's holder does not respond. */
  async #findNextHost(): Promise<Client | undefined> {
    const { agent, context, state } = this.#parts;
    const { home } = context;
    if (isHostHeld(home.lock)) return (await import("#api/find-daemon.ts")).findHost(home);
    if (isDaemonMissing(home)) return reachHost(context);
    throw new GoaldError("GOALD_DAEMON", `The daemon is down, and ${agent} does not go on meanwhile.`, {
      hint: state.settings.background
        ? `Start it: ${formatCall(home, "up")}`
        : `Go on with it: ${formatCall(home, "resume", agent)}`,
    });
  }
}

const isAsking = ({ state }: AgentView): boolean => state === "waiting: approval" || state === "waiting: person";

/** True for an agent that does not go on by itself. */
const isStill = ({ state, until }: AgentView): boolean => until === null && STILL.test(state);
const STILL = /^(?:waiting: (?:approval|person|agent)|paused|completed|stopped|killed|ended)/;

/** The agents that it has started, and those that they have started. */
const belowOf = (agent: string, views: readonly AgentView[]): readonly AgentView[] =>
  views.filter(({ parent }) => parent === agent).flatMap((view) => [view, ...belowOf(view.id, views)]);

/** Shows all events from a step on, up to the agent's known head; by default from the last step on. */
export const showFrom = (found: LoadedAgent, since: number | undefined, context: CliContext, show: ShowRun) =>
  withReading(context, async (reading) => {
    const { row, head, state } = found;
    const reader = logReader(reading);
    const step = Math.min(since ?? state.step, state.step);
    const after = await findBefore(step, { id: row.id, head }, reader);
    let isBegun = after === 0;
    for await (const event of allEvents(reader, row.id, after)) {
      if (event.seq > head) return;
      isBegun ||= event.type === "model-asked" && event.step >= step;
      if (isBegun) show(event);
    }
  });

type Interrupt = "signal" | "closed-pipe";

/**
 * Collects Ctrl-C, SIGTERM, a closed terminal and a closed pipe for a terminal's client. A closed terminal counts as
 * one Ctrl-C, even if the system reports it several times. The third interrupt ends this process at once.
 */
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
