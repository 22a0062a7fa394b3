/**
 * halt.ts -- `goald pause`, `goald stop` and `goald kill`: three ways to keep an agent from going on, one or all of them.
 */

import type { Client } from "#api/client.ts";
import type { ControlResult } from "#api/control.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { isOver } from "#core/state.ts";
import type { AgentView } from "#views/agent-view.ts";
import { type CliContext, type GlobalOptions, openContext } from "../shared/context.ts";
import { reachHost } from "../shared/reach.ts";
import { withReading } from "../shared/reading.ts";
import { steering, tellDone, viewNow } from "../shared/steering.ts";
import { isGoing } from "./ps.ts";

export type Halt = "pause" | "stop" | "kill";

export interface HaltOptions extends GlobalOptions {
  readonly all?: boolean;
  /** Seconds; with `stop`. */
  readonly timeout?: number;
}

export async function haltVerb(halt: Halt, name: string | undefined, options: HaltOptions): Promise<number> {
  if (options.all ? name !== undefined : name === undefined)
    throw new GoaldError("GOALD_USAGE", `Expected an agent or --all, got ${name === undefined ? "neither" : "both"}.`, {
      hint: `Such as: goald ${halt} foo, or: goald ${halt} --all`,
    });
  if (name === undefined) return haltAll(halt, options);
  return steering(name, options, async ({ row, state, context, reach }) => {
    // No daemon is started to stop what stands.
    if (isOver(state)) return tellDone({ agent: await viewNow(context, row), note: STANDS_ALREADY }, context);
    return tellDone(withNote(halt, await halted(halt, row.id, await reach(), options)), context);
  });
}

/** Those that would go on. All are tried, whatever fails; the first failure is thrown when the others are told. */
async function haltAll(halt: Halt, options: HaltOptions): Promise<number> {
  const context = await openContext(options);
  try {
    const going = await goingOn(context);
    const client = going.length > 0 ? await reachHost(context) : undefined;
    const ended = client ? await Promise.allSettled(going.map(({ id }) => halted(halt, id, client, options))) : [];
    const done = ended.flatMap((end) => (end.status === "fulfilled" ? [withNote(halt, end.value)] : []));
    if (context.output.json) context.output.data(JSON.stringify({ agents: done }));
    else if (going.length === 0) context.output.say("No agent is running.");
    else for (const one of done) tellDone(one, context);
    const failed = ended.find((end) => end.status === "rejected");
    if (failed) throw failed.reason;
    return EXIT.ok;
  } finally {
    context.output.close();
  }
}

async function goingOn(context: CliContext): Promise<readonly AgentView[]> {
  const views = await withReading(context, (reading) => reading.agents());
  return views.filter((view) => isGoing(view) || (view.state === "interrupted" && view.background));
}

function halted(halt: Halt, agent: string, client: Client, { timeout = 30 }: HaltOptions): Promise<ControlResult> {
  switch (halt) {
    case "pause":
      return client.pause(agent, "Paused by a person.");
    case "stop":
      return client.stop(agent, timeout * 1000);
    case "kill":
      return client.kill(agent);
  }
}

const STANDS_ALREADY = "It stands already.";
const DONE = { pause: "Paused.", stop: "Stopped.", kill: "Killed." } as const;

const withNote = (halt: Halt, { agent, note }: ControlResult): ControlResult => ({ agent, note: note || DONE[halt] });
