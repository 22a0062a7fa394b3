/**
 * isolate-call.ts -- runs a command of an agent that may have ended the process (a suspect) while no other suspect's
 * runs. So the next death tells which command did it. A command that runs long does not hold up the others: after a
 * time alone it goes on beside them. The time doubles with each death, and so reaches a command that kills late.
 */
import type { OpenCall } from "#core/call.ts";
import type { OfCall } from "#core/event.ts";
import { stepOfCall } from "#core/state.ts";
import type { Journal } from "./journal.ts";
import type { RunParts } from "./run-parts.ts";

export interface Isolation {
  /** Resolves to true when no other suspect's command runs, to false when the host shuts down or cuts the agent off before. */
  enter(backOffMs: number): Promise<boolean>;
  readonly leave: () => void;
}

const FIRST_BACK_OFF_MS = 1_000;
const FIRST_ALONE_MS = 30_000;
const MAX_ALONE_MS = 600_000;

/**
 * `act` records what came of the call. Resolves to what it resolves to, or to false without calling it when the host shuts down
 * first. Commits before it gives the turn away: the next command may end the process, and that death is not this command's.
 */
export async function isolateCall(
  callId: string,
  journal: Journal,
  parts: RunParts,
  act: () => Promise<boolean>,
): Promise<boolean> {
  const { deaths, isolated } = journal.state;
  const { rules, isolation } = parts;
  // A command that is nested in an isolated one is isolated with it.
  if (deaths === 0 || isolated?.epoch === rules.epoch) return act();
  await journal.commit("now");
  if (isolation && !(await isolation.enter(FIRST_BACK_OFF_MS * 4 ** (deaths - 1)))) return false;
  try {
    const step = stepOfCall(journal.state, callId);
    journal.record({ events: [{ type: "call-isolated", step, callId, epoch: rules.epoch }] });
    await journal.commit("now");
    const acting = act();
    if (isolation && !parts.hasNoTimedCommits) await clearAfterTime({ step, callId }, acting, journal, parts);
    const hasEnded = await acting;
    await journal.commit("now");
    return hasEnded;
  } finally {
    isolation?.leave();
  }
}

async function clearAfterTime(
  of: OfCall,
  acting: Promise<unknown>,
  journal: Journal,
  { clock, isolation }: RunParts,
): Promise<void> {
  const aloneMs = Math.min(MAX_ALONE_MS, FIRST_ALONE_MS * 2 ** (journal.state.interruptions - 1));
  const ended = new AbortController();
  const end = (): void => ended.abort();
  acting.then(end, end);
  await clock.sleep(aloneMs, ended.signal);
  if (ended.signal.aborted) return;
  journal.record({ events: [{ type: "call-cleared", ...of }] });
  // A full disk may refuse the commit. The command runs on, and the commit of its result holds the event too.
  await journal.commit("now").then(isolation?.leave, () => undefined);
}

/** Waits for the run. An end in the middle of a command is recorded when it is orderly, not when the run fails. */
export async function leaveAfter(running: Promise<unknown>, journal: Journal, { cutOff }: RunParts): Promise<void> {
  try {
    await running;
  } catch (thrown) {
    if (cutOff?.aborted) await leaveCommand(journal).catch(() => undefined);
    throw thrown;
  }
  await leaveCommand(journal);
}

type Intent = NonNullable<Extract<OpenCall, { kind: "command" }>["intent"]>;

/** Records that this host leaves its command unfinished in an orderly way, so that the next host does not count a death. */
async function leaveCommand(journal: Journal): Promise<void> {
  const { state, lease } = journal;
  const isOwn = (epoch: number | undefined): boolean => epoch === lease.epoch;
  const callOf = (epochOf: (intent: Intent) => number | undefined): string | undefined =>
    state.open.find((call) => call.kind === "command" && call.intent && isOwn(epochOf(call.intent)))?.callId;
  const started = callOf(({ epoch }) => epoch);
  // A death that this host has counted, and whose command it has not run again: the next host must not count it too.
  const seen = state.paused ? undefined : callOf(({ seenInterruptedAt }) => seenInterruptedAt);
  const callId = started ?? (isOwn(state.isolated?.epoch) ? state.isolated?.callId : undefined) ?? seen;
  const waits = state.frames.length === 1 && state.frames[0].phase.kind === "waiting";
  if (callId === undefined || waits) return;
  const step = stepOfCall(state, callId);
  journal.record({ events: [{ type: "call-cut-off", step, callId, epoch: lease.epoch }] });
  await journal.commit();
}
