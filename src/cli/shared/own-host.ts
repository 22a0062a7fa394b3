/**
 * own-host.ts -- runs the host of a home in a terminal's process, when no daemon is running.
 *
 * It accepts requests like a daemon, but starts its server late, so that the first model call is not delayed. When it
 * ends, a daemon continues its unfinished background agents.
 */

import { expectDaemon, isDaemonExpected, stopExpectingDaemon } from "#api/daemon-expected.ts";
import { readHostInfo } from "#api/host-lock.ts";
import { LocalClient } from "#api/local-client.ts";
import { type Host, openHost } from "#app/host.ts";
import type { HostParts } from "#app/host-parts.ts";
import { printNote } from "#cli/terminal/print.ts";
import { chooseSocketPath } from "#config/open-home.ts";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { type AgentState, questionOf } from "#core/state.ts";
import { countNoun, oneLine } from "#core/text.ts";
import { BackgroundAgents } from "#host/background-agents.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { type Log, openLog } from "#util/log.ts";
import { type CliContext, formatCall } from "./context.ts";
import { isAwaitingPerson } from "./result.ts";

/** Delay after the first commit, by which the first model request has been sent. */
const SERVE_AFTER_COMMIT_MS = 400;
/** Delay for a run that waits before its first model call. */
const SERVE_AFTER_OPEN_MS = 800;
/** Time for the steps of other agents when the host ends. A daemon continues them, except in a temporary home. */
const GRACE_MS = 5_000;
/** Limits how long a slow client can delay the end. */
const LIMITS = { closeMs: 2_000, flushMs: 500 };

/** Parts that change the host for the demo and for tests of agent files. */
export interface OwnHostParts extends Pick<HostParts, "services" | "edges"> {
  /** Its home is temporary: no other process reaches its agents, and no daemon continues them. */
  readonly isIsolated?: boolean;
}

/** Throws as `openHost` does. */
export async function openOwnHost(
  context: CliContext,
  { isIsolated = false, ...parts }: OwnHostParts = {},
): Promise<OwnHost> {
  const { home, settings, redact, scrub } = context;
  const log = await openHostLog(context);
  const socket = isIsolated ? undefined : await chooseSocketPath(home, process.getuid?.()).catch(toError);
  const own: { host?: OwnHost } = {};
  // With a person at the terminal, runs stay open while they wait. Otherwise they end at a question.
  const isAttended = context.output.interactive;
  const host = await openHost({
    ...parts,
    ...{ home, settings, redact, scrub, log, role: "foreground" },
    ...(socket === undefined ? {} : { socket }),
    longestWaitMs: (waitFor) => (isAttended || !isPerson(waitFor) ? Number.POSITIVE_INFINITY : 0),
    onStopped: (agent, state) => {
      if (!isAttended && isAwaitingPerson(state)) own.host?.client.end(agent);
    },
    onProblem: (problem) => context.output.say(redact(clean(problem))),
    onQuestion: (agent, state) => sayQuestion(agent, state, context),
    onBackground: (agent) => own.host?.addBackground(agent),
    onFailed: (agent, error) => own.host?.client.fail(agent, error),
    onCommitted: () => own.host?.serveWithin(SERVE_AFTER_COMMIT_MS),
  }).catch((thrown) => refused(thrown, context));
  own.host = new OwnHost(host, log, context, isIsolated);
  return own.host;
}

const isPerson = (waitFor: string): boolean => waitFor === "person" || waitFor === "approval";

export const openHostLog = ({ home, redact, settings }: CliContext): Promise<Log> =>
  openLog({ folder: home.logFolder, redact, level: settings.log.level });

export class OwnHost {
  readonly host: Host;
  readonly client: LocalClient;
  readonly #log: Log;
  readonly #context: CliContext;
  readonly #isIsolated: boolean;
  readonly #background: BackgroundAgents;
  readonly #wasDaemonExpected: boolean;
  #timer: { readonly handle: NodeJS.Timeout; readonly dueAt: number } | undefined;
  #serving: Promise<void> | undefined;

  constructor(host: Host, log: Log, context: CliContext, isIsolated: boolean) {
    const { home } = context;
    this.host = host;
    this.client = new LocalClient(host.control, host.redact);
    this.#log = log;
    this.#context = context;
    this.#isIsolated = isIsolated;
    this.#wasDaemonExpected = isDaemonExpected(home);
    const { store } = host;
    this.#background = new BackgroundAgents({ store, clock: systemClock, expectDaemon: () => expectDaemon(home) });
    this.serveWithin(SERVE_AFTER_OPEN_MS);
  }

  addBackground(agent: string): void {
    if (!this.#isIsolated) this.#background.add(agent);
  }

  /** Accepts requests after at most `ms`. */
  serveWithin(ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.#isIsolated || this.#serving || (this.#timer && this.#timer.dueAt <= dueAt)) return;
    clearTimeout(this.#timer?.handle);
    this.#timer = { dueAt, handle: setTimeout(() => this.#serve(), ms) };
  }

  #serve(): void {
    this.#serving ??= this.host.serve(LIMITS).catch((thrown) => {
      this.#log.warn(`This run takes no calls: ${toError(thrown).message}`);
    });
  }

  /** Finishes current steps and releases the lock. `started`: the agents that belong to this terminal. */
  async close(started: readonly string[]): Promise<void> {
    const { host } = this;
    let daemon: Promise<unknown> | undefined;
    let left: readonly string[] = [];
    clearTimeout(this.#timer?.handle);
    this.#serving ??= Promise.resolve();
    try {
      await this.#serving;
      await host.stopServing("The run on the terminal is over.");
      const graceMs = this.#isIsolated ? 0 : GRACE_MS;
      for (const id of started) await this.#background.settleBelow(id, host.supervisor, graceMs);
      await host.supervisor.drain(graceMs);
      left = this.#isIsolated ? [] : await this.#background.unfinished(started);
      if (left.length > 0) daemon = this.#startDaemon();
      else if (this.#background.hasAny && !this.#wasDaemonExpected) stopExpectingDaemon(this.#context.home);
    } catch (thrown) {
      this.#log.warn(`The end of this run met a problem: ${toError(thrown).message}`);
    } finally {
      await host[Symbol.asyncDispose]();
    }
    if (daemon) await this.#sayHandedOver(left.length, daemon);
  }

  /** The daemon waits for the lock, so that the agents have a host again soon. */
  #startDaemon(): Promise<unknown> {
    const { home } = this.#context;
    expectDaemon(home);
    const started = import("#api/spawn-daemon.ts").then(({ spawnDaemon }) =>
      spawnDaemon(home, { predecessor: process.pid }),
    );
    started.catch(() => undefined);
    return started;
  }

  async #sayHandedOver(count: number, daemon: Promise<unknown>): Promise<void> {
    const { home } = this.#context;
    const agents = `${countNoun(count, "agent")} ${count === 1 ? "goes" : "go"} on in the background`;
    try {
      await daemon;
      printNote(`${agents}: ${formatCall(home, "ps")}`);
    } catch (thrown) {
      const { message } = toError(thrown);
      printNote(`goald: ${agents} when the daemon is up: ${formatCall(home, "up")}\n  ${message}`);
    }
  }
}

/** Prints how to answer a background agent. The terminal asks the questions of its own agent directly. */
function sayQuestion(agent: string, state: AgentState, { output, redact, home }: CliContext): void {
  if (!state.settings.background) return;
  const question = questionOf(state);
  const answer = question === undefined ? formatCall(home, "approve", agent) : formatCall(home, "say", agent, '"…"');
  const what = question === undefined ? "waits for an approval" : `asks: ${oneLine(question, 200)}`;
  output.say(redact(clean(`\n${agent} ${what}\n  Answer with: ${answer}`)));
}

/** The hint suggests --detach, since a host in another terminal's process accepts background agents. */
function refused(thrown: unknown, { home }: CliContext): never {
  const holder = readHostInfo(home.lock);
  const takesCalls = holder?.role === "foreground" && holder.socket !== undefined;
  if (!isGoaldError(thrown, "GOALD_ALREADY_RUNNING") || !takesCalls) throw thrown;
  const hint = "Add --detach to have it run there in the background, or wait for that run to end.";
  throw new GoaldError(thrown.code, thrown.message, { hint, cause: thrown });
}
