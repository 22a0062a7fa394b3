/**
 * resume.ts -- `goald resume`: goes on with an agent where its log ends, after a pause, a limit or a crash.
 *
 * It runs where it belongs: in the daemon when one is up or the agent is one of the background, else in this process.
 */

import { EXIT } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import { isFinished } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import type { Host } from "../main.ts";
import { type BackgroundOptions, resumeThere } from "./background.ts";
import { connected } from "./connect.ts";
import { type Found, findNamedOrLast } from "./find.ts";
import { again, type House, openHouse } from "./house.ts";
import { findDaemon } from "./reach.ts";
import { openRecording, requireHere } from "./recording.ts";
import { outcomeOf } from "./result.ts";
import { runHere } from "./run-here.ts";
import { checkOptions, flagsOf, givenMode, requireSomebody, resumedSettings } from "./run-settings.ts";

/** `name`: id or name; without one, the last agent that is not finished. */
export async function resumeVerb(name: string | undefined, options: BackgroundOptions): Promise<number> {
  checkOptions(options);
  const house = await openHouse(options, flagsOf(options));
  try {
    const found = await findNamedOrLast(name, house);
    if (isFinished(found.state)) return alreadyFinished(found, house);
    const { approve, background } = found.state.settings;
    if (!background && !options.detach) requireSomebody(house, givenMode(options) ?? approve);
    return await goOn(found, house, options);
  } finally {
    house.talk.close();
  }
}

export async function goOn(found: Found, visited: House, options: BackgroundOptions): Promise<number> {
  const { row, state } = found;
  const daemon = await findDaemon(visited);
  requireHere(options, daemon !== undefined || state.settings.background);
  if (daemon || options.detach || state.settings.background) return resumeThere(found, visited, options, daemon);
  const now = systemClock.now();
  const settings = resumedSettings(state, row.id, visited, options, now);
  const connection = await connected(visited, options);
  if (connection.kind === "done") return connection.exitCode;
  const recording = openRecording(options, connection.house, row);
  using recorder = recording?.recorder;
  const { house } = recording ?? connection;
  const at = now.toISOString();
  const key = `resume/${process.pid}/${at}`;
  const ready = async ({ store }: Pick<Host, "store">): Promise<AgentRow> => {
    if (Object.keys(settings).length > 0)
      await store.deliver(row.id, `${key}/settings`, { type: "settings", ...settings }, at);
    await store.deliver(row.id, key, { type: "resume" }, at);
    return row;
  };
  return await runHere(house, ready, recorder);
}

function alreadyFinished({ row, state }: Found, { talk, home }: House): number {
  const { outcome, reason } = outcomeOf(state);
  if (talk.json) talk.data(JSON.stringify({ type: "result", agent: row.id, outcome, reason, exitCode: EXIT.ok }));
  else
    talk.say(
      clean(`${state.name} (${row.id}) has finished already: ${reason}\nIts files: ${again(home, "files", row.id)}`),
    );
  return EXIT.ok;
}
