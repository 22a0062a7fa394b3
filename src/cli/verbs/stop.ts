/** stop.ts -- `goald pause` and `goald stop`: pauses or stops agents after their step. */
import type { Client } from "#api/client.ts";
import type { ControlResult } from "#api/schemas.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { isOver } from "#core/state.ts";
import type { AgentView } from "#views/agent-view.ts";
import { isGoing, withReading } from "../agents.ts";
import { type CliContext, formatCall, type GlobalOptions, openContext } from "../context.ts";
import { ANY_AGENTS, defineVerb, flag, HOST_CODES, NO_AGENT, value, wholeSeconds } from "../verb.ts";
import { reachHost, stateWord, tellDone, viewNow, withAgent } from "../with-agent.ts";

export const PAUSE = defineVerb({
  description: "pause an agent after its step, until goald resume",
  examples: ["goald pause chef", "goald pause --all"],
  arguments: [ANY_AGENTS],
  options: { all: flag("--all", "pause every agent that is not done") },
  exitCodes: { ...NO_AGENT, ...HOST_CODES },
  run: (agents, options) => haltVerb("pause", agents, options),
});

export const STOP = defineVerb({
  description:
    "let an agent finish its step and write its report, and wait for that; with --now stop in the middle of the step",
  examples: ["goald stop chef", "goald stop chef -t 120", "goald stop chef --now", "goald stop --all"],
  arguments: [ANY_AGENTS],
  options: {
    all: flag("--all", "stop every agent that is not done"),
    now: flag("--now", "stop at once, in the middle of the step; goald resume continues from there"),
    timeout: {
      ...value("-t, --timeout <seconds>", "cut the step off after this many seconds", wholeSeconds),
      default: 30,
    },
  },
  exitCodes: { ...NO_AGENT, ...HOST_CODES },
  run: (agents, { now, ...options }) => haltVerb(now ? "kill" : "stop", agents, options),
});

type Halt = "pause" | "stop" | "kill";

type HaltOptions = GlobalOptions & { readonly all?: boolean; readonly timeout?: number };

const CALL = { pause: "pause", stop: "stop", kill: "stop --now" } as const;

async function haltVerb(halt: Halt, names: readonly string[], options: HaltOptions): Promise<number> {
  if (options.all && names.length > 0)
    throw new GoaldError("GOALD_USAGE", "Expected agents or --all, got both.", {
      hint: `Such as: goald ${CALL[halt]} chef, or: goald ${CALL[halt]} --all`,
    });
  if (options.all) return haltAll(halt, options);
  for (const name of names.slice(1)) await withAgent(name, options, async () => EXIT.ok);
  for (const name of names.slice(0, -1)) await haltNamed(halt, name, options);
  return haltNamed(halt, names.at(-1), options);
}

const haltNamed = (halt: Halt, name: string | undefined, options: HaltOptions): Promise<number> =>
  withAgent(name, options, async ({ row, state, context, reach }) => {
    // An agent that does not run needs no daemon.
    if (isOver(state)) return tellHalt(halt, { agent: await viewNow(context, row), note: ALREADY }, context);
    return tellHalt(halt, await haltAgent(halt, row.id, await reach(), options), context);
  });

/** Halts every agent that runs or waits. Throws the first failure after trying all of them. */
async function haltAll(halt: Halt, options: HaltOptions): Promise<number> {
  using context = await openContext(options);
  const going = await goingOn(context);
  const client = going.length > 0 ? await reachHost(context) : undefined;
  const ended = client ? await Promise.allSettled(going.map(({ id }) => haltAgent(halt, id, client, options))) : [];
  const done = ended.flatMap((end) => (end.status === "fulfilled" ? [withNote(halt, end.value)] : []));
  if (context.output.json) context.output.data(JSON.stringify({ agents: done }));
  else if (going.length === 0) context.output.say("No agent is running.");
  else for (const one of ended) if (one.status === "fulfilled") tellHalt(halt, one.value, context);
  const failed = ended.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
  return EXIT.ok;
}

async function goingOn(context: CliContext): Promise<readonly AgentView[]> {
  const views = await withReading(context, (reading) => reading.agents());
  return views.filter((view) => isGoing(view) || (view.state === "interrupted" && view.background));
}

function haltAgent(halt: Halt, agent: string, client: Client, { timeout = 30 }: HaltOptions): Promise<ControlResult> {
  switch (halt) {
    case "pause":
      return client.pause(agent, "Paused by a person.");
    case "stop":
      return client.stop(agent, timeout * 1000);
    case "kill":
      return client.kill(agent);
  }
}

/** The host's note for an agent that is already paused or finished. */
const ALREADY = "It is already stopped.";
const DONE = { pause: "Paused.", stop: "Stopped.", kill: "Killed." } as const;

/** Adds a note for the JSON output. */
const withNote = (halt: Halt, { agent, note }: ControlResult): ControlResult => ({ agent, note: note || DONE[halt] });

function tellHalt(halt: Halt, done: ControlResult, context: CliContext): number {
  const { agent, note } = done;
  const { output, home } = context;
  if (output.json || (note !== "" && note !== ALREADY)) return tellDone(withNote(halt, done), context);
  if (note === ALREADY) output.say(`${agent.id} is already ${stateWord(agent)} (step ${agent.step}).`);
  else output.say(`${agent.id} ${PAST[halt]} (step ${agent.step}). Continue: ${formatCall(home, "resume", agent.id)}`);
  return EXIT.ok;
}

const PAST = { pause: "is paused", stop: "is stopped", kill: "was killed" } as const;
