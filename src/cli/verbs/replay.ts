/**
 * replay.ts -- `goald replay`: replays a recording through the real loop, without a network. It uses a separate home
 * with the commands and prompts of the current home. That home is temporary and removed at the end, or is named by
 * --home. Time, responses, messages and files come from the recording. The exit code is 0 only when the agent reaches
 * the same state, with the same files.
 */
import { EXIT } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { type CliContext, makeTemporaryHome, openContext } from "../context.ts";
import { type PlayedCassette, playCassette, readPlayable, withoutOwnSecrets } from "../play-recording.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  description: "replay a recorded run offline, through the real loop, and check that it ends in the same state",
  examples: ["goald replay chef.ndjson", "goald replay chef.ndjson --home ./played", "goald replay chef.ndjson --json"],
  arguments: [{ name: "<file>", about: "file that goald run --record has written" }],
  exitCodes: { ok: "the replay ended in the same state", error: "the replay differs", notFound: "no such file" },
  run: async ([file = ""], options) => {
    using visited = await openContext({ ...options, input: false, revives: false });
    const cassette = readPlayable(file);
    await using temporary =
      options.home === undefined
        ? await makeTemporaryHome(visited.home, options, { prefix: "goald-replay-" })
        : undefined;
    const context = { ...withoutOwnSecrets(visited), home: temporary?.home ?? visited.home };
    const { output, home } = context;
    let isSame = false;
    try {
      const { name, agent } = cassette.sessions[0].start;
      output.say(
        clean(`${name} (${agent.id}) is played from ${cassette.path}, offline, in a home of its own: ${home.root}`),
      );
      const played = await playCassette(cassette, context, visited);
      isSame = played.problems.length === 0;
      say(played, context);
      return isSame ? EXIT.ok : EXIT.error;
    } finally {
      if (temporary && !isSame) output.say("To keep the result, play it again with --home FOLDER.");
    }
  },
});

function say(played: PlayedCassette, { output, redact }: CliContext): void {
  const { state, expected, step, requests, sessions, events, files, problems } = played;
  const same = problems.length === 0;
  const result = { type: "replay", same, state, expected, step, sessions, requests, events, files, problems };
  if (output.printJson(result)) return;
  const counts = `${countNoun(step, "step")} in ${countNoun(sessions, "session")}, ${countNoun(requests, "request")}`;
  output.say(
    `\nPlayed ${counts}; ${events.same} of ${countNoun(events.all, "event")} the same to the letter; ${countNoun(files, "file")}.`,
  );
  output.say(`State: ${state}${state === expected ? ", as recorded." : `\nRecorded: ${expected}`}`);
  for (const problem of problems) output.say(redact(clean(problem)));
}
