/**
 * host-agent.ts -- runs one agent in this process, shows it, and says how it ended.
 */

import { createLiveThoughts } from "#app/catalogue.ts";
import { composeAgent, type Host } from "#app/main.ts";
import type { Recorder } from "#cassette/recorder.ts";
import { EXIT } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { Store } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import { type Attended, createAttended } from "#host/attended.ts";
import { type ForegroundParts, runForeground } from "#host/foreground.ts";
import type { LiveTextWriter } from "#host/live-text.ts";
import { createStepLog } from "#host/log-step.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { type Log, openLog } from "#util/log.ts";
import type { CliContext } from "./context.ts";
import { beginRecording, endRecording } from "./recording.ts";
import { createPresenter, createShow, exitCodeOf, type Show, sayEnd } from "./result.ts";

export interface Hosted {
  readonly state: AgentState;
  readonly exitCode: number;
}

export const openHostLog = ({ home, redact, settings }: CliContext): Promise<Log> =>
  openLog({ folder: home.logFolder, redact, level: settings.logLevel });

export interface Attendance {
  /** The person who says yes or no; absent when there is none. */
  readonly ask?: ForegroundParts["ask"];
  /** Who answers the agent's own questions. */
  readonly askWords?: ForegroundParts["askWords"];
  /** By which others speak to the agent meanwhile. */
  readonly attended?: Attended;
  /** For those who look on from elsewhere. */
  readonly live?: LiveTextWriter;
  /** When the run is recorded. */
  readonly recorder?: Recorder | undefined;
  /** Told when something of it is under way. */
  onBegun?(): void;
}

export async function hostAgent(
  host: Host,
  row: AgentRow,
  context: CliContext,
  { ask, askWords, attended = createAttended(row.id, systemClock), live, onBegun, recorder }: Attendance = {},
): Promise<Hosted> {
  const { output } = context;
  const watch = watchSignals(context);
  const { interrupt, restore } = watch;
  const logStep = createStepLog(host.log, row.id);
  let show: Show = () => {};
  const report = (problem: string): void => {
    host.log.warn({ agent: row.id }, problem);
    output.say(context.redact(clean(problem)));
  };
  try {
    await using agent = await composeAgent(host, row, {
      onCommitted: (events) => {
        onBegun?.();
        live?.committed(row.id, events);
        for (const event of events) {
          logStep(event);
          show(event);
        }
      },
      onText: (piece) => {
        show.onText?.(piece);
        live?.tell(row.id, piece);
      },
      report,
      scrub: context.scrub,
      redact: context.redact,
      signal: attended.signal,
      ...(recorder ? { tape: recorder } : {}),
    });
    const thoughtsOf = (reply: string, finishReason: string) => host.catalogue.readReply(reply, finishReason).thoughts;
    const beginning = await beginningOf(host.store, row);
    const onOpened = ({ open }: AgentState): void => {
      show = createPresenter(context, thoughtsOf, open, createLiveThoughts);
      for (const event of beginning) show(event);
    };
    // The question's own line ends first.
    const withdrawn = (verdict?: string): void => output.say(verdict ? `\nIt was ${verdict} elsewhere.` : "");
    output.say(`${clean(row.name)} (${row.id}) works in ${agent.folder}`);
    if (ask) await showWaiting(host, row, createShow(context, thoughtsOf));
    if (recorder) await beginRecording(recorder, host, agent);
    const asking = { ...(ask ? { ask, withdrawn } : {}), ...(askWords ? { askWords } : {}) };
    const state = await runForeground(agent.lease, { ...agent.parts, onOpened, interrupt, attended, ...asking });
    const exitCode = exitCodeOf(state, interrupt.aborted || output.interrupted);
    sayEnd({ id: row.id, workspace: agent.folder }, state, exitCode, context);
    if (recorder) await endRecording(recorder, state, context);
    // Whoever closed the pipe has read enough: that is no failure.
    return { state, exitCode: watch.isUnread() ? EXIT.ok : exitCode };
  } finally {
    restore();
  }
}

/** Of a new agent all is shown, its creation too: what a program reads of a run is the log. */
export const beginningOf = async (store: Pick<Store, "read">, row: AgentRow): Promise<readonly RecordedEvent[]> =>
  row.head === 1 ? await store.read(row.id, 0, 1) : [];

/** The command that waits for a yes, with the thoughts behind it: the person may have come back days later. */
async function showWaiting({ store }: Host, row: AgentRow, show: Show): Promise<void> {
  const tail = await store.read(row.id, Math.max(0, row.head - WAITING_TAIL), WAITING_TAIL);
  const asked = tail.findLast((event) => event.type === "approval-asked");
  if (!asked || tail.some((event) => event.seq > asked.seq && "callId" in event && event.callId === asked.callId))
    return;
  for (const event of tail)
    if ((event.type === "model-replied" || event.type === "command-requested") && event.step === asked.step)
      show(event);
}

/** Behind a command that waits there are only pauses and resumptions. */
const WAITING_TAIL = 200;

/**
 * The first Ctrl-C (or SIGTERM) finishes the step; the second leaves at once: all that was shown is durable. A terminal that
 * goes away finishes the step, however often that is told.
 */
function watchSignals({ output }: CliContext): {
  readonly interrupt: AbortSignal;
  isUnread(): boolean;
  restore(): void;
} {
  let isUnread = false;
  const soft = new AbortController();
  const onSignal = (): void => {
    if (soft.signal.aborted) process.exit(EXIT.interrupted);
    output.say("\nFinishing this step. Again to stop at once.");
    soft.abort();
  };
  // Nobody reads any more: like a Ctrl-C, but however often it is found out.
  const onClosedPipe = (): void => {
    isUnread = true;
    soft.abort();
  };
  const onHangUp = (): void => {
    if (!soft.signal.aborted) onSignal();
  };
  process.stdout.on("unread", onClosedPipe);
  process.on("SIGHUP", onHangUp);
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, onSignal);
  return {
    interrupt: soft.signal,
    isUnread: () => isUnread,
    restore: () => {
      process.stdout.off("unread", onClosedPipe);
      process.off("SIGHUP", onHangUp);
      for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, onSignal);
    },
  };
}
