/** run-agent.ts -- creates or resumes an agent in the daemon, then follows it, waits for it, or detaches. */
import { lstatSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { printNote } from "#cli/terminal/print.ts";
import type { AgentDraft } from "#config/agent-spec.ts";
import { EXIT, orUndefined } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import { activeFrame, isOver } from "#core/state.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import { redactJson } from "#util/redact.ts";
import type { AgentView } from "#views/agent-view.ts";
import { connectRun } from "./connect.ts";
import { type CliContext, callsHere, formatCall } from "./context.ts";
import { type FollowParts, followAgent, Interrupts, keepsAwaiting, showFrom } from "./follow-agent.ts";
import {
  countSessions,
  exitCodeOf,
  type KnownOf,
  openScreen,
  outcomeOf,
  type Screen,
  type Shown,
  sayEnd,
  sayGoesOn,
  sayRecorded,
  sayResult,
} from "./result.ts";
import { type GoOptions, modeOf, newSettings, resumedSettings } from "./run-options.ts";
import { askThroughDeaths, type Found, viewWhenHeard } from "./with-agent.ts";

export type RunAgentOptions = GoOptions & { readonly wait?: boolean; readonly record?: string };

/** `playDemo`: called when a person without a key chooses the demo; resolves to the exit code. */
type Started = RunAgentOptions & { playDemo(): Promise<number> };

export type RunParts = Pick<FollowParts, "context" | "client" | "interrupts">;

/** Resolves to the exit code. */
export async function createAgent(agent: AgentDraft, visited: CliContext, options: Started): Promise<number> {
  const background = options.detach === true || options.wait === true;
  const connected = await connectRun(visited, { ...options, inBackground: background, hasAgent: true });
  if (typeof connected === "number") return connected;
  const { context, client } = connected;
  using interrupts = new Interrupts();
  const parts = { context, client, interrupts };
  const approve = await modeOf(context, options, background);
  const now = systemClock.now();
  const draft = {
    ...redactJson(agent, context.scrub),
    settings: { ...(await newSettings(context, options, now, { approve, unattended: background })), background },
    key: `run/${process.pid}/${now.toISOString()}`,
    ...recordIn(options),
  };
  const { view, events } = await askThroughDeaths(context, async () => {
    const view = await client.create(draft);
    return { view, events: (await client.page(view.id, 0, 1)).events };
  });
  if (holdsOlderFiles(view)) printNote(`Its folder has files from before: ${view.workspace}`);
  if (options.detach && !options.wait) return sayStarted(view, context, "");
  const known = { after: events.length, state: replay(events) };
  if (options.wait) return await waitForEnd(view, parts, known);
  context.output.say(`${clean(view.name)} (${view.id}) works in ${view.workspace}`);
  const screen = await openScreen(context, []);
  for (const event of events) screen.show(event);
  return await runOnScreen(view, parts, known, screen, options);
}

/** An agent that was removed had the same folder, or a person put files there. The new one may have written files already. */
export function holdsOlderFiles({ workspace, createdAt }: Pick<AgentView, "workspace" | "createdAt">): boolean {
  const found = orUndefined(() => readdirSync(workspace)) ?? [];
  const bornAt = (name: string) => lstatSync(join(workspace, name), { throwIfNoEntry: false })?.birthtime;
  return found.some((name) => name !== "_goald" && (bornAt(name)?.toISOString() ?? createdAt) < createdAt);
}

/** Continues an agent from the end of its log. `next`: begins the next turn of a finished agent with these goals. */
export async function resumeAgent(
  found: Found,
  visited: CliContext,
  options: Started,
  next?: Pick<AgentDraft, "goals" | "checks">,
): Promise<number> {
  const { row, state, head } = found;
  const now = systemClock.now();
  const call = next === undefined ? ["resume", row.id] : ["run", "--continue", row.id, "-g", '"…"'];
  const changes = resumedSettings(state, call, visited, options, now);
  const background = options.detach === true || options.wait === true || state.settings.background;
  const connected = await connectRun(visited, { ...options, inBackground: background, hasAgent: true });
  if (typeof connected === "number") return connected;
  const { context, client } = connected;
  using interrupts = new Interrupts();
  const parts = { context, client, interrupts };
  const sessions = options.record === undefined ? 0 : countSessions(resolve(options.record));
  const settings = { ...changes, background };
  const key = `continue/${process.pid}/${now.toISOString()}`;
  const { agent, note } =
    next === undefined
      ? await client.resume(row.id, settings, recordIn(options))
      : await client.beginTurn(row.id, { ...goalsIn(next, context), settings, key, ...recordIn(options) });
  if (options.detach && !options.wait) {
    // The second event shows whether it goes on, or pauses again at once, as for a request that exceeds a limit.
    const view = await viewWhenHeard(client, await viewWhenHeard(client, agent));
    const isPaused = view.standing.kind === "paused" && view.head > head;
    return sayStarted(view, context, isPaused ? clean(callsHere(context.home, `Paused: ${view.reason}`)) : note);
  }
  if (options.wait) return await waitForEnd(agent, parts, { after: head, state });
  context.output.say(`${clean(agent.name)} (${agent.id}) works in ${agent.workspace}`);
  const screen = await openScreen(context, state.open);
  // Shows the unfinished step from its beginning, because the person may have been away for days.
  const isUnderWay = !isOver(state) || activeFrame(state).phase.kind === "awaiting-approval";
  if (isUnderWay && !context.output.json) await showFrom(found, undefined, context, screen.show);
  if (screen.ask === undefined && (await keepsAwaiting(row.id, { after: head, state }, client)))
    return sayResult(agent, state, context);
  return await runOnScreen(agent, parts, { after: head, state }, screen, { ...options, sessions });
}

const goalsIn = ({ goals, checks = [] }: Pick<AgentDraft, "goals" | "checks">, { scrub }: CliContext) =>
  redactJson({ goals, checks }, scrub);

/** A daemon may have another current folder, so the path is made absolute. */
const recordIn = ({ record }: RunAgentOptions): { readonly record?: string } =>
  record === undefined ? {} : { record: resolve(record) };

/**
 * Shows an agent that was started here until it ends, or waits for a person without a terminal to ask on; an interrupt
 * pauses it. `sessions`: number recorded before.
 */
export async function runOnScreen(
  agent: Shown,
  { context, client, interrupts }: RunParts,
  known: KnownOf,
  screen: Screen,
  { record, sessions = 0 }: Pick<RunAgentOptions, "record"> & { readonly sessions?: number } = {},
): Promise<number> {
  const following = { context, client, agent: agent.id, ...known, ...screen, interrupts };
  const { state } = await followAgent({ ...following, onInterrupt: "pause" });
  const exitCode = exitCodeOf(state, interrupts.isInterrupted || context.output.interrupted);
  sayEnd(agent, state, exitCode, context);
  if (record !== undefined) await sayRecorded(resolve(record), sessions, context);
  // A closed pipe is not a failure: its reader has read enough.
  return interrupts.isUnread ? EXIT.ok : exitCode;
}

/** Prints only the id to standard output when a program reads it. */
function sayStarted(view: AgentView, { output, home }: CliContext, note: string): number {
  if (output.printJson({ agent: view, note })) return EXIT.ok;
  output.data(view.id);
  const say = process.stdout.isTTY ? output.page : printNote;
  const call = (verb: string, ...words: readonly string[]): string => formatCall(home, verb, view.id, ...words);
  if (note !== "") say(note);
  say(`Workspace: ${view.workspace}`);
  say(`Follow: ${call("attach")}   Talk: ${call("say", '"…"')}   Stop: ${call("stop")}`);
  return EXIT.ok;
}

/** Waits silently until the agent stops, or waits for a person itself or through the agents that it started. */
async function waitForEnd(agent: Shown, parts: RunParts, known: KnownOf): Promise<number> {
  const { context } = parts;
  const following = { ...parts, agent: agent.id, ...known, show: () => {}, ask: undefined };
  const { state, left } = await followAgent({ ...following, onInterrupt: "leave" });
  if (left) {
    sayGoesOn(agent, context, true);
    return EXIT.interrupted;
  }
  const { outcome, reason } = outcomeOf(state);
  const line = `${agent.id}: ${outcome}${reason ? `: ${reason}` : ""}`;
  if (!context.output.json) context.output.data(context.redact(clean(line)));
  return sayResult(agent, state, context);
}
