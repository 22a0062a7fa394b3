/**
 * resume.ts -- `goald resume`: goes on with an agent where its log ends, after a pause, a limit or a crash.
 *
 * It runs where it belongs: in the daemon when one is up or the agent is one of the background, else in this process.
 */

import type { Host } from "#app/main.ts";
import { EXIT } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import { isFinished } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { NO_AGENT, RUN_CODES } from "../exit-codes.ts";
import { flag } from "../option.ts";
import { type BackgroundOptions, resumeThere } from "../shared/background.ts";
import { connected } from "../shared/connect.ts";
import { type CliContext, formatCall, openContext } from "../shared/context.ts";
import { type Found, findNamedOrLast } from "../shared/find.ts";
import { findDaemon } from "../shared/reach.ts";
import { openRecording, requireHere } from "../shared/recording.ts";
import { outcomeOf } from "../shared/result.ts";
import { runHere } from "../shared/run-here.ts";
import { approveOption, RUN_OPTIONS } from "../shared/run-options.ts";
import { checkOptions, flagsOf, givenMode, requireSomebody, resumedSettings } from "../shared/run-settings.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "resume",
  group: "Set agents going",
  summary: "continue an agent after a pause, a limit or a crash",
  description: "continue an agent where its log ends, after a pause, a limit or a crash; limits count from there",
  examples: ["goald resume", "goald resume foo --max-steps 50", "goald resume foo -d --approve risky --max-time 2h"],
  arguments: [{ name: "[agent]", about: "id or name (default: the last agent that is not finished)" }],
  options: {
    detach: flag("-d, --detach", "continue in the background and return at once"),
    approve: approveOption("unchanged"),
    ...RUN_OPTIONS,
  },
  exitCodes: { ...NO_AGENT, ...RUN_CODES },
  run: ([agent], options) => resumeVerb(agent, options),
});

/** `name`: id or name; without one, the last agent that is not finished. */
export async function resumeVerb(name: string | undefined, options: BackgroundOptions): Promise<number> {
  checkOptions(options);
  const context = await openContext(options, flagsOf(options));
  try {
    const found = await findNamedOrLast(name, context);
    if (isFinished(found.state)) return alreadyFinished(found, context);
    const { approve, background } = found.state.settings;
    if (!background && !options.detach) requireSomebody(context, givenMode(options) ?? approve);
    return await goOn(found, context, options);
  } finally {
    context.output.close();
  }
}

export async function goOn(found: Found, visited: CliContext, options: BackgroundOptions): Promise<number> {
  const { row, state } = found;
  const daemon = await findDaemon(visited);
  requireHere(options, daemon !== undefined || state.settings.background);
  if (daemon || options.detach || state.settings.background) return resumeThere(found, visited, options, daemon);
  const now = systemClock.now();
  const settings = resumedSettings(state, row.id, visited, options, now);
  const connection = await connected(visited, options);
  if (connection.kind === "done") return connection.exitCode;
  const recording = openRecording(options, connection.context, row);
  using recorder = recording?.recorder;
  const { context } = recording ?? connection;
  const at = now.toISOString();
  const key = `resume/${process.pid}/${at}`;
  const ready = async ({ store }: Pick<Host, "store">): Promise<AgentRow> => {
    if (Object.keys(settings).length > 0)
      await store.deliver(row.id, `${key}/settings`, { type: "settings", ...settings }, at);
    await store.deliver(row.id, key, { type: "resume" }, at);
    return row;
  };
  return await runHere(context, ready, recorder);
}

function alreadyFinished({ row, state }: Found, { output, home }: CliContext): number {
  const { outcome, reason } = outcomeOf(state);
  if (output.json) output.data(JSON.stringify({ type: "result", agent: row.id, outcome, reason, exitCode: EXIT.ok }));
  else
    output.say(
      clean(
        `${state.name} (${row.id}) has finished already: ${reason}\nIts files: ${formatCall(home, "files", row.id)}`,
      ),
    );
  return EXIT.ok;
}
