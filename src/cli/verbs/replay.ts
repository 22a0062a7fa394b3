/**
 * replay.ts -- `goald replay`: replays a recording through the real loop, without a network.
 *
 * It uses a separate home with the commands and prompts of the current home. That home is temporary and removed at the
 * end, or is named by --home. Time, responses, messages and files come from the recording. The exit code is 0 only
 * when the agent reaches the same state, with the same files.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Cassette, headOf, ofType, type Session, stateHash } from "#cassette/format.ts";
import { readCassette } from "#cassette/read-cassette.ts";
import { loadSettings, type SettingFlags } from "#config/load.ts";
import { SETTINGS, type Settings } from "#config/settings.ts";
import { EXIT, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { type CliContext, findContext, type GlobalOptions, openContext, redactorsFor } from "../shared/context.ts";
import { quoteForShell } from "../shared/own-calls.ts";
import { type Played, playSession } from "../shared/play-session.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "replay",
  group: "Set agents going",
  summary: "replay a recorded run, offline",
  description: "replay a recorded run offline, through the real loop, and check that it ends in the same state",
  examples: ["goald replay foo.ndjson", "goald replay foo.ndjson --home ./played", "goald replay foo.ndjson --json"],
  arguments: [{ name: "<file>", about: "file that goald run --record has written" }],
  exitCodes: { ok: "the replay ended in the same state", error: "the replay differs", notFound: "no such file" },
  run: ([file = ""], options) => replayVerb(file, options),
});

export async function replayVerb(file: string, options: GlobalOptions): Promise<number> {
  const visited = await openContext({ ...options, input: false, revives: false });
  const cassette = readCassette(resolve(file));
  requireState(cassette);
  const context = await ownHome(visited, options);
  const { output, home } = context;
  let isSame = false;
  try {
    const { name, agent } = cassette.sessions[0].start;
    output.say(
      clean(`${name} (${agent.id}) is played from ${cassette.path}, offline, in a home of its own: ${home.root}`),
    );
    const sum = await playAll(cassette, context, visited).catch(refuse);
    isSame = sum.problems.length === 0;
    say(sum, context);
    return isSame ? EXIT.ok : EXIT.error;
  } finally {
    if (options.home === undefined) {
      await rm(home.root, { recursive: true, force: true });
      if (!isSame) output.say("To keep the result, play it again with --home FOLDER.");
    }
    output.close();
  }
}

/** A recording may come from anybody, so its content can break the loop in any way. */
function refuse(thrown: unknown): never {
  if (isGoaldError(thrown)) throw thrown;
  throw new GoaldError("GOALD_REPLAY", `The recording cannot be played: ${toError(thrown).message}`, { cause: thrown });
}

/** A run that was killed at once has no state to compare with. */
function requireState({ path, sessions: [first, ...more] }: Cassette): void {
  if ([first, ...more].some((session) => session.end || ofType(session, "committed").length > 0)) return;
  throw new GoaldError("GOALD_REPLAY", `Nothing is recorded in ${path}: the run was cut off as it began.`, {
    hint: `Go on with its agent, into the same file: goald resume ${first.start.agent.id} --record ${quoteForShell(path)}`,
  });
}

/** Uses the commands, prompts and prices of the current home, but none of its secrets. */
async function ownHome(visited: CliContext, options: GlobalOptions): Promise<CliContext> {
  const redactors = redactorsFor([]);
  const context = { ...visited, ...redactors, scrub: redactors.redact };
  if (options.home !== undefined) return context;
  const root = await mkdtemp(join(tmpdir(), "goald-replay-"));
  const { home } = await findContext({ ...options, input: false, home: root });
  const { commandsFolder, methodsFolder, promptsFolder, configFolder } = visited.home;
  return { ...context, home: { ...home, commandsFolder, methodsFolder, promptsFolder, configFolder } };
}

interface Sum {
  readonly state: string;
  readonly expected: string;
  readonly step: number;
  readonly requests: number;
  readonly sessions: number;
  readonly events: { readonly same: number; readonly all: number };
  readonly files: number;
  readonly problems: readonly string[];
}

async function playAll(cassette: Cassette, context: CliContext, visited: CliContext): Promise<Sum> {
  const { sessions } = cassette;
  let requests = 0;
  const events = { same: 0, all: 0 };
  let played: Played | undefined;
  for (const [index, session] of sessions.entries()) {
    const cutAfter = session.end ? undefined : (sessions[index + 1]?.start.head ?? headOf(session));
    const settings = await settingsOf(session, visited);
    played = await playSession(session, cutAfter, { ...context, settings });
    requests += played.requests;
    events.same += played.events.same;
    events.all += played.events.all;
  }
  const last = sessions.at(-1) ?? sessions[0];
  const { state, files } = played as Played;
  const committed = sessions.flatMap((session) => ofType(session, "committed"));
  const expected = last.end?.state ?? committed.at(-1)?.state ?? "";
  const problems = [
    ...(stateHash(state) === expected ? [] : ["The state is another one than in the recording."]),
    ...(last.end ? differentFiles(last.end.files, files) : []),
  ];
  const sum = { requests, events, expected, sessions: sessions.length, files: Object.keys(files).length, problems };
  return { ...sum, state: stateHash(state), step: state.step };
}

async function settingsOf({ start }: Session, { home }: CliContext): Promise<Settings> {
  const known = new Set<string>(SETTINGS.map(({ name }) => name));
  const recorded = Object.entries(start.settings).filter(([name]) => known.has(name));
  const flags = { ...Object.fromEntries(recorded), ...WITHOUT_A_SERVER } as SettingFlags;
  return (await loadSettings({ home, env: process.env, flags })).settings;
}

const WITHOUT_A_SERVER = {
  "openai.apiKey": "a-replay-needs-no-key",
  "openai.organization": null,
  "daemon.requestsPerMinute": null,
} as const;

function differentFiles(
  recorded: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): readonly string[] {
  const paths = [...new Set([...Object.keys(recorded), ...Object.keys(now)])].sort();
  const word = (path: string): string =>
    now[path] === undefined ? "is missing" : recorded[path] === undefined ? "is new" : "has another content";
  return paths.filter((path) => recorded[path] !== now[path]).map((path) => `The file ${path} ${word(path)}.`);
}

function say(sum: Sum, { output, redact }: CliContext): void {
  const { state, expected, step, requests, sessions, events, files, problems } = sum;
  if (output.json) {
    const same = problems.length === 0;
    output.data(
      JSON.stringify({ type: "replay", same, state, expected, step, sessions, requests, events, files, problems }),
    );
  } else {
    const played = `${countNoun(step, "step")} in ${countNoun(sessions, "session")}, ${countNoun(requests, "request")}`;
    output.say(
      `\nPlayed ${played}; ${events.same} of ${countNoun(events.all, "event")} the same to the letter; ${countNoun(files, "file")}.`,
    );
    output.say(`State: ${state}${state === expected ? ", as recorded." : `\nRecorded: ${expected}`}`);
    for (const problem of problems) output.say(redact(clean(problem)));
  }
}
