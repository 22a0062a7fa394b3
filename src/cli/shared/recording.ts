/** recording.ts -- says at the end of a run what its recording holds. */
import { ofType } from "#cassette/format.ts";
import { readCassette } from "#cassette/read-cassette.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { type CliContext, counted } from "./context.ts";

const LOOKS = 40;
const LOOK_AGAIN_MS = 50;

/** The host writes the end of a run some moments after the last event. */
export async function sayRecorded(path: string, { output }: CliContext): Promise<void> {
  for (let look = 1; ; look++) {
    const { sessions } = readCassette(path);
    const end = sessions.at(-1)?.end;
    if (!end && look < LOOKS) {
      await systemClock.sleep(LOOK_AGAIN_MS);
      continue;
    }
    const requests = sessions.reduce((sum, session) => sum + ofType(session, "exchange").length, 0);
    output.say(clean(`Recorded in ${path}: ${counted(requests, "request")}.`));
    output.say(end ? `State: ${end.state}` : "The recording has no end yet: what was cut off is not in it.");
    return;
  }
}
