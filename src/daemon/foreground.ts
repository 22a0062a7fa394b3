/**
 * foreground.ts -- runs one agent in front of a person, or in front of nobody.
 *
 * The person's yes, no and words go through the same inbox as everybody's, so that a
 * crash between an answer and its effect loses neither. Ctrl-C once is a pause message: the step
 * is finished first. Twice is the caller's business: everything shown is durable already.
 */
import type { Move } from "#core/decide.ts";
import type { CommandCall } from "#core/event.ts";
import type { InboxMessage, Lease, Store } from "#core/ports.ts";
import { type AgentState, activeFrame, openCommand } from "#core/state.ts";
import { type RunParts, run } from "./run.ts";

/** What a person answered to "may this run?". */
export type Answer =
  | { readonly kind: "approved"; readonly count: number }
  | { readonly kind: "feedback"; readonly text: string }
  /** Stop here; nothing of it has run. */
  | { readonly kind: "leave" };

export interface ForegroundParts extends Omit<RunParts, "wait" | "store"> {
  readonly store: RunParts["store"] & Pick<Store, "deliver">;
  /** Asks the person; absent when there is none. */
  readonly ask?: (call: CommandCall, interrupt: AbortSignal) => Promise<Answer>;
  /** Aborted by the first Ctrl-C. */
  readonly interrupt: AbortSignal;
}

export async function runForeground(lease: Lease, parts: ForegroundParts): Promise<AgentState> {
  const { store, clock, interrupt } = parts;
  let pausing: Promise<unknown> = Promise.resolve();
  const onInterrupt = (): void => {
    pausing = tell(`interrupt/${clock.now().toISOString()}`, {
      type: "pause",
      reason: "Stopped by the person at the terminal.",
    });
    // Heard where it is waited for.
    pausing.catch(() => undefined);
  };
  if (interrupt.aborted) onInterrupt();
  interrupt.addEventListener("abort", onInterrupt, { once: true });
  try {
    return await run(lease, { ...parts, wait });
  } finally {
    interrupt.removeEventListener("abort", onInterrupt);
    await pausing;
  }

  async function wait(move: Extract<Move, { kind: "wait" }>, state: AgentState): Promise<boolean> {
    await pausing;
    if (move.waitFor === "approval") return askPerson(state);
    if (move.waitFor !== "time" || move.until === null) return interrupt.aborted;
    await clock.sleep(Date.parse(move.until) - clock.now().getTime(), interrupt);
    await pausing;
    return true;
  }

  async function askPerson(state: AgentState): Promise<boolean> {
    const { phase } = activeFrame(state);
    if (interrupt.aborted) return true;
    if (!parts.ask || phase.kind !== "awaiting-approval") return false;
    const open = openCommand(state, phase.callId);
    if (!open) return false;
    const answer = await parts.ask(open.call, interrupt);
    await pausing;
    const { callId } = phase;
    const key = `approval/${callId}/${lease.epoch}/${clock.now().toISOString()}`;
    switch (answer.kind) {
      case "approved":
        return tell(key, { type: "approval", callId, verdict: "approved", count: answer.count });
      case "feedback":
        return tell(key, { type: "approval", callId, verdict: "denied", text: answer.text });
      case "leave":
        return interrupt.aborted || tell(key, { type: "pause", reason: "The person at the terminal stopped here." });
    }
  }

  async function tell(key: string, message: InboxMessage): Promise<true> {
    await store.deliver(lease.agent, key, message, clock.now().toISOString());
    return true;
  }
}
