/**
 * run-here.ts -- an agent in this process, which is the host of its home until the agent's run is over.
 *
 * It takes calls like a daemon: the agent is steered from anywhere, and others may be given to it. That begins when
 * the run's first model call is under way, is over as soon as the run is, and the run needs it for nothing. Agents of the
 * background that are not done then go on in a daemon.
 */

import { readHostInfo } from "#api/host-lock.ts";
import { spawnDaemon } from "#api/spawn-daemon.ts";
import type { ForegroundServer } from "#app/foreground.ts";
import { type Host, openHost } from "#app/main.ts";
import type { Recorder } from "#cassette/recorder.ts";
import { chooseSocketPath } from "#config/open-home.ts";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import { type AgentState, questionOf } from "#core/state.ts";
import { oneLine } from "#core/text.ts";
import { type Attended, createAttended } from "#host/attended.ts";
import { createLiveText, type LiveTextWriter } from "#host/live-text.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { askInForeground, createAskWords } from "./ask-person.ts";
import { type CliContext, counted, formatCall } from "./context.ts";
import { hostAgent, openHostLog } from "./host-agent.ts";

/** Long enough for what a request needs to be loaded and the request to be on its way; a run that is over by then needs no calls. */
const AFTER_BEGIN_MS = 400;
/** Of a run that waits before it asks a model anything. */
const AFTER_START_MS = 800;

/** `agentIn`: makes the agent, or readies it. Resolves to the exit code. Throws as `openHost` does. */
export async function runHere(
  context: CliContext,
  agentIn: (host: Host) => Promise<AgentRow>,
  recorder?: Recorder,
): Promise<number> {
  const log = await openHostLog(context);
  let left: readonly string[] = [];
  try {
    const socket = await chooseSocketPath(context.home, process.getuid?.()).catch(toError);
    const place = typeof socket === "string" ? { socket } : {};
    await using host = await openHost(context.home, context.settings, log, { role: "foreground", ...place }).catch(
      (thrown) => refused(thrown, context),
    );
    const row = await agentIn(host);
    const attended = createAttended(row.id, systemClock);
    const live = createLiveText();
    const calls = takeCalls(host, socket, { attended, live }, context);
    const [ask, askWords] = [askInForeground(context), createAskWords(context)];
    try {
      const present = {
        attended,
        live,
        recorder,
        onBegun: () => calls.begin(AFTER_BEGIN_MS),
        ...(ask ? { ask } : {}),
        ...(askWords ? { askWords } : {}),
      };
      return (await hostAgent(host, row, context, present)).exitCode;
    } finally {
      attended.end();
      left = await calls.end();
    }
  } finally {
    if (left.length > 0) await handOver(left.length, context);
  }
}

/** A run that takes calls takes agents, too. */
function refused(thrown: unknown, { home }: CliContext): never {
  const holder = readHostInfo(home.lock);
  const takesCalls = holder?.role === "foreground" && holder.socket !== undefined;
  if (!isGoaldError(thrown, "GOALD_ALREADY_RUNNING") || !takesCalls) throw thrown;
  const hint = "Add --detach to have it run there in the background, or wait for that run to end.";
  throw new GoaldError(thrown.code, thrown.message, { hint, cause: thrown });
}

interface Calls {
  /** Takes calls after so long; does nothing the second time. */
  begin(afterMs: number): void;
  /** Resolves to the ids of the agents that a daemon is to go on with. */
  end(): Promise<readonly string[]>;
}

/** `socket`: where, or why nowhere. */
function takeCalls(
  host: Host,
  socket: string | Error,
  { attended, live }: { readonly attended: Attended; readonly live: LiveTextWriter },
  context: CliContext,
): Calls {
  const { redact, scrub, output, home } = context;

  let server: Promise<ForegroundServer | undefined> | undefined;
  let hasBegun = false;

  /** It does not wait in front of the person, as the agent of this run does. */
  function onQuestion(agent: string, state: AgentState): void {
    const question = questionOf(state);
    const answer = question === undefined ? formatCall(home, "approve", agent) : formatCall(home, "say", agent, '"…"');
    const what = question === undefined ? "waits for a yes" : `asks: ${oneLine(question, 200)}`;
    output.say(redact(clean(`\n${agent} ${what}\n  Answer with: ${answer}`)));
  }

  async function open(): Promise<ForegroundServer | undefined> {
    try {
      // Loaded now: none of it is needed to run the agent.
      const { serveForeground } = await import("#app/foreground.ts");
      return attended.running || attended.hasOthers
        ? await serveForeground(host, socket, { attended, live, redact, scrub, onQuestion })
        : undefined;
    } catch (thrown) {
      host.log.warn(`This run takes no calls, and runs no other agents: ${toError(thrown).message}`);
      return undefined;
    }
  }
  const openLater = (afterMs: number): NodeJS.Timeout =>
    setTimeout(() => {
      server ??= open();
    }, afterMs);
  const timers = [openLater(AFTER_START_MS)];

  return {
    begin: (afterMs) => {
      if (!hasBegun) timers.push(openLater(afterMs));
      hasBegun = true;
    },
    end: async () => {
      for (const timer of timers) clearTimeout(timer);
      try {
        // A run that was over before it took calls: what it told others, or what a killed one did, is heard all the same.
        if (attended.hasOthers) server ??= open();
        return (await (await server)?.close()) ?? [];
      } catch (thrown) {
        host.log.warn(`Calls to this run did not come to their end: ${toError(thrown).message}`);
        return [];
      }
    },
  };
}

/** The lock is free; whoever comes by would start the daemon too, if this fails. */
async function handOver(count: number, { home }: CliContext): Promise<void> {
  const agents = `${counted(count, "agent")} ${count === 1 ? "goes" : "go"} on in the background`;
  try {
    await spawnDaemon(home);
    console.error(`${agents}: ${formatCall(home, "ps")}`);
  } catch (thrown) {
    const { message } = toError(thrown);
    console.error(clean(`goald: ${agents} when the daemon is up: ${formatCall(home, "up")}\n  ${message}`));
  }
}
