/** recording.ts -- describes the recording at the end of a run. */

import { ofType } from "#cassette/format.ts";
import { readSessions } from "#cassette/read-cassette.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import type { CliContext } from "./context.ts";

const LOOKS = 40;
const LOOK_AGAIN_MS = 50;

/** Returns the number of sessions in a recording; 0 when it cannot be read. */
export function countSessions(path: string): number {
  try {
    return readSessions(path).sessions.length;
  } catch {
    return 0;
  }
}

/** `before`: sessions before this run. The host writes the end of a run shortly after the last event. */
export async function sayRecorded(path: string, before: number, { output }: CliContext): Promise<void> {
  for (let look = 1; ; look++) {
    const { sessions } = readSessions(path);
    const end = sessions.at(-1)?.end;
    if (!end && look < LOOKS) {
      await systemClock.sleep(LOOK_AGAIN_MS);
      continue;
    }
    const requests = sessions.slice(before).reduce((sum, session) => sum + ofType(session, "answer").length, 0);
    output.say(clean(`Recorded in ${path}: ${countNoun(requests, "request")}.`));
    output.say(end ? `State: ${end.state}` : "The recording has no end yet: what was cut off is not in it.");
    return;
  }
}
