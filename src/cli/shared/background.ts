/**
 * background.ts -- agents that a daemon runs: created and resumed there, then followed, waited for, or left to themselves.
 */
import type { Client } from "#api/client.ts";
import { EXIT } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import type { AgentSpec } from "#core/ports/agent.ts";
import { activeFrame, isOver } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import type { AgentView } from "#views/agent-view.ts";
import { connected } from "./connect.ts";
import { type CliContext, formatCall } from "./context.ts";
import type { Found } from "./find.ts";
import { followAgent } from "./follow-agent.ts";
import { showLastStep } from "./past.ts";
import { reachHost } from "./reach.ts";
import { exitCodeOf, isAwaitingPerson, outcomeOf, type Shown, sayEnd } from "./result.ts";
import { type GoOptions, modeOf, newSettings, resumedSettings } from "./run-settings.ts";
import { followOnScreen, type KnownOf, openScreen, sayGoesOn } from "./screen.ts";
import { viewWhenHeard } from "./steering.ts";

export interface BackgroundOptions extends GoOptions {
  readonly detach?: boolean;
  readonly wait?: boolean;
  /** A file; for agents that run in this process. */
  readonly record?: string;
}

/** Resolves to the exit code. `up`: the daemon, when there is one. */
export async function createThere(
  agent: Pick<AgentSpec, "name" | "role" | "goals">,
  visited: CliContext,
  options: BackgroundOptions,
  up: Client | undefined,
): Promise<number> {
  const reached = await reach(visited, options, up);
  if (reached.kind === "done") return reached.exitCode;
  const { context, client } = reached;
  const { scrub, output } = context;
  const isApart = options.detach === true || options.wait === true;
  const approve = await modeOf(context, options, isApart);
  const now = systemClock.now();
  const view = await client.create({
    name: agent.name,
    role: scrub(agent.role),
    goals: agent.goals.map(scrub),
    settings: {
      ...(await newSettings(context, options, now, { approve, unattended: isApart || approve !== "always" })),
      background: true,
    },
    key: `run/${process.pid}/${now.toISOString()}`,
  });
  if (options.detach && !options.wait) return sayStarted(view, context, "");
  const { events } = await client.page(view.id, 0, 1);
  const known = { after: events.length, state: replay(events) };
  if (options.wait) return waitForEnd(view, context, client, known);
  output.say(`${clean(view.name)} (${view.id}) works in ${view.workspace}`);
  const screen = await openScreen(context, []);
  for (const event of events) screen.show(event);
  return followOnScreen(view, context, client, known, screen);
}

/** The same for one that is there. */
export async function resumeThere(
  { row, state, head }: Found,
  visited: CliContext,
  options: BackgroundOptions,
  up: Client | undefined,
): Promise<number> {
  const reached = await reach(visited, options, up);
  if (reached.kind === "done") return reached.exitCode;
  const { context, client } = reached;
  const changes = resumedSettings(state, row.id, context, options, systemClock.now());
  const { agent, note } = await client.resume(row.id, changes);
  if (options.detach) return sayStarted(await viewWhenHeard(client, agent), context, note);
  context.output.say(`${clean(agent.name)} (${agent.id}) works in ${agent.workspace}`);
  const screen = await openScreen(context, state.open);
  // What is under way, or waits for a yes, is shown from its beginning: the person may have come back days later.
  const isUnderWay = !isOver(state) || activeFrame(state).phase.kind === "awaiting-approval";
  if (isUnderWay && !context.output.json) await showLastStep(row.id, head, context, screen.show);
  return followOnScreen(agent, context, client, { after: head, state }, screen);
}

type Reached =
  | { readonly kind: "reached"; readonly context: CliContext; readonly client: Client }
  | { readonly kind: "done"; readonly exitCode: number };

/** A daemon that is up has settings of its own; one that is started inherits ours, and a missing key is found first. */
async function reach(context: CliContext, options: BackgroundOptions, up: Client | undefined): Promise<Reached> {
  if (up) return { kind: "reached", context, client: up };
  const connection = await connected(context, { ...options, forDaemon: true });
  if (connection.kind === "done") return connection;
  return { kind: "reached", context: connection.context, client: await reachHost(connection.context) };
}

/** Standard output has the id alone where it is read by a program. */
function sayStarted(view: AgentView, { output, home }: CliContext, note: string): number {
  if (output.json) output.data(JSON.stringify({ agent: view, note }));
  else {
    output.data(view.id);
    const say = process.stdout.isTTY ? output.say : console.error;
    if (note !== "") say(note);
    say(`Workspace:   ${view.workspace}`);
    say(`Follow it:   ${formatCall(home, "attach", view.id)}`);
    say(`Talk to it:  ${formatCall(home, "say", view.id, '"…"')}`);
    say(`Stop it:     ${formatCall(home, "stop", view.id)}`);
  }
  return EXIT.ok;
}

/** Silently, until it does nothing more by itself or waits for a person. */
async function waitForEnd(agent: Shown, context: CliContext, client: Client, known: KnownOf): Promise<number> {
  const { output } = context;
  const { state, left } = await followAgent({
    context,
    client,
    agent: agent.id,
    ...known,
    show: () => {},
    ask: undefined,
    isEnd: (now) => isOver(now) || isAwaitingPerson(now),
  });
  if (left) {
    sayGoesOn(agent, context, true);
    return EXIT.interrupted;
  }
  const { outcome, reason } = outcomeOf(state);
  if (!output.json) output.data(context.redact(clean(`${agent.id}: ${outcome}${reason ? `: ${reason}` : ""}`)));
  const exitCode = exitCodeOf(state, false);
  sayEnd(agent, state, exitCode, context);
  return exitCode;
}
