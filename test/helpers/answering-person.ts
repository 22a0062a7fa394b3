/** answering-person.ts -- a person in front of the main loop alone: what they do reaches the agent through its inbox. */
import type { CommandCall } from "#core/call.ts";
import type { InboxMessage, Lease, Store } from "#core/ports/store.ts";
import { activeFrame, openCommand } from "#core/state.ts";
import type { RunParts } from "#loop/run-parts.ts";

export type Answer =
  | { readonly kind: "approved"; readonly count: number }
  | { readonly kind: "feedback"; readonly text: string }
  | { readonly kind: "leave" };

export interface PersonParts {
  readonly store: Pick<Store, "deliver">;
  readonly clock: RunParts["clock"];
  readonly lease: Lease;
  /** Absent: there is nobody, and the run ends at a question. */
  readonly ask: ((call: CommandCall) => Promise<Answer>) | undefined;
  /** Aborted by Ctrl-C. */
  readonly interrupt: AbortSignal;
}

export function createPerson({ store, clock, lease, ask, interrupt }: PersonParts) {
  let count = 0;
  let pausing: Promise<unknown> = Promise.resolve();
  const send = (message: InboxMessage): Promise<unknown> => {
    count++;
    return store.deliver(lease.agent, `${lease.epoch}/${count}`, message, clock.now().toISOString());
  };
  const onInterrupt = (): void => {
    pausing = send({ type: "pause", reason: "Stopped by the person at the terminal." });
  };
  if (interrupt.aborted) onInterrupt();
  interrupt.addEventListener("abort", onInterrupt, { once: true });

  const wait: RunParts["wait"] = async ({ waitFor, until }, state) => {
    await pausing;
    if (interrupt.aborted) return true;
    const { phase } = activeFrame(state);
    if (waitFor === "time" && until !== null) {
      await clock.sleep(Date.parse(until) - clock.now().getTime(), interrupt);
      await pausing;
      return true;
    }
    const open = phase.kind === "awaiting-approval" ? openCommand(state, phase.callId) : undefined;
    if (!ask || !open) return false;
    const { callId } = open;
    const answer = await ask(open.call);
    if (answer.kind === "leave") await send({ type: "pause", reason: "The person stopped here." });
    else if (answer.kind === "feedback") await send({ type: "approval", callId, verdict: "denied", text: answer.text });
    else await send({ type: "approval", callId, verdict: "approved", count: answer.count });
    return true;
  };
  return { wait, settled: () => pausing };
}
