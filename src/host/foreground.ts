/**
 * foreground.ts -- runs one agent in front of a person, or in front of nobody.
 *
 * The person's yes, no and words go through the same inbox as everybody's, so that a
 * crash between an answer and its effect loses neither. What comes from elsewhere is heard where the agent stands, and a
 * question that is open then is taken back. Ctrl-C once is a pause message: the step
 * is finished first. Twice is the caller's business: everything shown is durable already.
 */

import type { CommandCall } from "#core/call.ts";
import type { Move } from "#core/decide.ts";
import { toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Lease } from "#core/ports/agent.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import type { Store } from "#core/ports/store.ts";
import { type AgentState, activeFrame, isOver, openCommand, questionOf } from "#core/state.ts";
import { pauseAgent } from "#loop/pause-agent.ts";
import { type RunParts, run } from "#loop/run.ts";
import { type Attended, createAttended } from "./attended.ts";

/** What a person answered to "may this run?". */
export type Answer =
  | { readonly kind: "approved"; readonly count: number }
  | { readonly kind: "feedback"; readonly text: string }
  /** Stop here; nothing of it has run. */
  | { readonly kind: "leave" };

export interface ForegroundParts extends Omit<RunParts, "wait" | "store"> {
  readonly store: RunParts["store"] & Pick<Store, "deliver">;
  /** Asks the person; absent when there is none. Aborted, the question is taken back, and its answer is "leave". */
  readonly ask?: (call: CommandCall, signal: AbortSignal) => Promise<Answer>;
  /** Puts the agent's own question to the person; undefined when they leave, or when it is aborted. Absent when there is none. */
  readonly askWords?: (question: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Told that the question was taken back, and what somebody answered to it elsewhere, when that is why. */
  withdrawn?(verdict: "approved" | "denied" | undefined): void;
  /** Aborted by the first Ctrl-C. */
  readonly interrupt: AbortSignal;
  /** By which others speak to the agent meanwhile; without it nobody does. */
  readonly attended?: Attended;
  /** What the loop gets in place of its parts, when its run is recorded or played. */
  readonly through?: (parts: RunParts) => RunParts;
}

export async function runForeground(lease: Lease, given: ForegroundParts): Promise<AgentState> {
  const attended = given.attended ?? createAttended(lease.agent, given.clock);
  const parts = { ...given, ...seenBy(attended, given) };
  const { clock, interrupt } = parts;
  const tell = async (key: string, message: InboxMessage): Promise<true> => {
    await parts.store.deliver(lease.agent, key, message, clock.now().toISOString());
    return true;
  };
  let pausing: Promise<unknown> = Promise.resolve();
  const onInterrupt = (): void => {
    const reason = "Stopped by the person at the terminal.";
    pausing = tell(`interrupt/${clock.now().toISOString()}`, { type: "pause", reason });
    // Heard where it is waited for.
    pausing.catch(() => undefined);
  };
  if (interrupt.aborted) onInterrupt();
  interrupt.addEventListener("abort", onInterrupt, { once: true });
  const wait = createWait({
    ...parts,
    lease,
    attended,
    isHosted: given.attended !== undefined,
    tell,
    pauseTold: () => pausing,
  });
  try {
    const doors: RunParts = { ...parts, wait };
    const state = await run(lease, parts.through?.(doors) ?? doors).catch((thrown: unknown) => {
      if (!attended.signal.aborted) throw thrown;
      return undefined;
    });
    if (state && (isOver(state) || !attended.pausing)) return state;
    // What was cut off stays in the log as begun.
    const { code, reason } = attended.pausing ?? { code: "killed", reason: toError(attended.signal.reason).message };
    return await pauseAgent(lease, parts, { code, reason });
  } finally {
    interrupt.removeEventListener("abort", onInterrupt);
    await pausing;
  }
}

/** What is known of the agent outside follows what is durable. */
const seenBy = (attended: Attended, parts: ForegroundParts): Pick<RunParts, "onCommitted" | "onOpened" | "onSent"> => ({
  onSent: attended.sent,
  onCommitted: (events: readonly RecordedEvent[], state: AgentState): void => {
    attended.committed(events, state);
    parts.onCommitted(events, state);
  },
  onOpened: (state: AgentState): void => {
    attended.opened(state);
    parts.onOpened?.(state);
  },
});

interface WaitParts extends Pick<ForegroundParts, "store" | "clock" | "interrupt" | "ask" | "askWords" | "withdrawn"> {
  readonly lease: Lease;
  readonly attended: Attended;
  /** Others can speak to it. */
  readonly isHosted: boolean;
  tell(key: string, message: InboxMessage): Promise<true>;
  /** Resolves when the pause that Ctrl-C means is durable. */
  pauseTold(): Promise<unknown>;
}

const LEFT = "The person at the terminal stopped here.";
/** A day: then it is looked at again. */
const LONG_MS = 86_400_000;

function createWait(parts: WaitParts): RunParts["wait"] {
  const { store, clock, interrupt, lease, attended, isHosted, tell, pauseTold } = parts;

  async function wait(move: Extract<Move, { kind: "wait" }>, state: AgentState): Promise<boolean> {
    await pauseTold();
    const called = attended.listen();
    if (called.aborted) return isHeard();
    if (move.waitFor === "approval") return askPerson(state, called);
    if (move.waitFor === "person") return askForWords(state, called);
    if (move.waitFor === "time" && move.until === null) return interrupt.aborted;
    // Other agents speak by a host: without one none is waited for.
    if (move.waitFor === "agent" && !isHosted) return interrupt.aborted;
    const ms = move.until === null ? LONG_MS : Date.parse(move.until) - clock.now().getTime();
    await clock.sleep(ms, AbortSignal.any([interrupt, called]));
    await pauseTold();
    return isHeard();
  }

  async function askForWords(state: AgentState, called: AbortSignal): Promise<boolean> {
    const { phase } = activeFrame(state);
    if (interrupt.aborted) return true;
    if (!parts.askWords || phase.kind !== "waiting") return false;
    const { callId } = phase;
    const question = questionOf(state) ?? "";
    const text = await parts.askWords(question, AbortSignal.any([interrupt, called]));
    await pauseTold();
    const at = clock.now().toISOString();
    if (text !== undefined)
      return tell(`words/${callId}/${lease.epoch}/${at}`, { type: "say", from: "a person", text });
    if (interrupt.aborted) return true;
    if (!called.aborted) return tell(`leave/${callId}/${at}`, { type: "pause", reason: LEFT });
    parts.withdrawn?.(undefined);
    return isHeard();
  }

  /** What has come lies in the inbox, and is read next. */
  function isHeard(): true {
    attended.signal.throwIfAborted();
    return true;
  }

  async function askPerson(state: AgentState, called: AbortSignal): Promise<boolean> {
    const { phase } = activeFrame(state);
    if (interrupt.aborted) return true;
    if (!parts.ask || phase.kind !== "awaiting-approval") return false;
    const { callId } = phase;
    const open = openCommand(state, callId);
    if (!open) return false;
    const answer = await parts.ask(open.call, AbortSignal.any([interrupt, called]));
    await pauseTold();
    const key = `approval/${callId}/${lease.epoch}/${clock.now().toISOString()}`;
    switch (answer.kind) {
      case "approved":
        return tell(key, { type: "approval", callId, verdict: "approved", count: answer.count });
      case "feedback":
        return tell(key, { type: "approval", callId, verdict: "denied", text: answer.text });
      case "leave":
        if (interrupt.aborted) return true;
        if (!called.aborted) return tell(key, { type: "pause", reason: LEFT });
        parts.withdrawn?.(await verdictOn(callId));
        return isHeard();
    }
  }

  async function verdictOn(callId: string): Promise<"approved" | "denied" | undefined> {
    for (const { message } of await store.inbox(lease.agent))
      if (message.type === "approval" && message.callId === callId) return message.verdict;
    return undefined;
  }

  return wait;
}
