/**
 * attach.ts -- `goald attach`: follows an agent from any of its steps on, as if it ran on this terminal. Ctrl-C leaves it to itself.
 */

import { GoaldError } from "#core/errors.ts";
import { isOver } from "#core/state.ts";
import { isHostHeld } from "#store/host-lock.ts";
import { clean } from "#util/clean.ts";
import { again, type GlobalOptions } from "./house.ts";
import { showFrom, showLastStep } from "./past.ts";
import { folderOf } from "./reading.ts";
import { followOnScreen, openScreen, sayResult } from "./screen.ts";
import { steering } from "./steering.ts";

export interface AttachOptions extends GlobalOptions {
  /** Step. */
  readonly since?: number;
}

export async function attachVerb(name: string, options: AttachOptions): Promise<number> {
  return steering(name, options, async ({ row, state, head, house, reach }) => {
    const { since } = options;
    const { talk, home } = house;
    if (since !== undefined && since > Math.max(1, state.step))
      throw new GoaldError("GOALD_NOT_FOUND", `${row.id} has no step ${since} yet: it is at step ${state.step}.`, {
        hint: `From the last one on: ${again(home, "attach", row.id)}`,
      });
    const agent = { id: row.id, workspace: folderOf(house, row) };
    talk.say(`${clean(state.name)} (${row.id}) works in ${agent.workspace}`);
    if (talk.interactive && !isOver(state)) talk.say("Ctrl-C leaves it to itself: it goes on.");
    const screen = await openScreen(house, []);
    if (since === undefined) await showLastStep(row.id, head, house, screen.show);
    else await showFrom(row.id, since, head, house, screen.show);
    if (isOver(state)) return sayResult(agent, state, house);
    // A daemon that were started for it would not go on with an agent of a terminal.
    const client = state.settings.background || isHostHeld(home.lock) ? await reach() : undefined;
    const view = await client?.agent(row.id);
    if (!client || (view?.state === "interrupted" && !view.background)) {
      talk.say(`\nNobody runs ${row.id}: it belongs to a terminal.`);
      return sayResult(agent, state, house);
    }
    return followOnScreen(agent, house, client, { after: head, state }, screen);
  });
}
