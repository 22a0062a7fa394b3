/** play-cassette.ts -- plays all sessions of a recording, and compares their end with the recorded one. */
import { type Cassette, headOf, ofType, type Session, stateHash } from "#cassette/format.ts";
import { loadSettings, type SettingFlags } from "#config/load-settings.ts";
import { SETTINGS, type Settings } from "#config/settings.ts";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { AgentState } from "#core/state.ts";
import { type CliContext, redactorsFor } from "./context.ts";
import { quoteForShell } from "./own-calls.ts";
import { type Played, playSession } from "./play-session.ts";
import type { Show } from "./result.ts";

/** A replay needs none of a home's secrets. */
export function withoutOwnSecrets(visited: CliContext): CliContext {
  const redactors = redactorsFor([]);
  return { ...visited, ...redactors, scrub: redactors.redact };
}

/** A recording may come from anybody, so its content can break the loop in any way. */
function refuse(thrown: unknown): never {
  if (isGoaldError(thrown)) throw thrown;
  throw new GoaldError("GOALD_REPLAY", `The recording cannot be played: ${toError(thrown).message}`, { cause: thrown });
}

/** Throws GOALD_REPLAY for a run that was killed at once, which has no state to compare with. */
export function requireState({ path, sessions: [first, ...more] }: Cassette): void {
  if ([first, ...more].some((session) => session.end || ofType(session, "committed").length > 0)) return;
  throw new GoaldError("GOALD_REPLAY", `Nothing is recorded in ${path}: the run was cut off as it began.`, {
    hint: `Go on with its agent, into the same file: goald resume ${first.start.agent.id} --record ${quoteForShell(path)}`,
  });
}

export interface PlayedCassette {
  readonly agent: AgentState;
  readonly state: string;
  readonly expected: string;
  readonly step: number;
  readonly requests: number;
  readonly sessions: number;
  readonly events: { readonly same: number; readonly all: number };
  readonly files: number;
  readonly problems: readonly string[];
}

/**
 * `context`: the home to play in; `visited`: the present one. `show`: replaces the usual output. Throws GOALD_REPLAY for
 * the first difference.
 */
export async function playCassette(
  cassette: Cassette,
  context: CliContext,
  visited: CliContext,
  show?: Show,
): Promise<PlayedCassette> {
  return playAll(cassette, context, visited, show).catch(refuse);
}

async function playAll(
  cassette: Cassette,
  context: CliContext,
  visited: CliContext,
  show: Show | undefined,
): Promise<PlayedCassette> {
  const { sessions } = cassette;
  let requests = 0;
  const events = { same: 0, all: 0 };
  let played: Played | undefined;
  for (const [index, session] of sessions.entries()) {
    const cutAfter = session.end ? undefined : (sessions[index + 1]?.start.head ?? headOf(session));
    const settings = await settingsOf(session, visited);
    played = await playSession(session, cutAfter, { ...context, settings }, show);
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
  return { ...sum, agent: state, state: stateHash(state), step: state.step };
}

async function settingsOf({ start }: Session, { home }: CliContext): Promise<Settings> {
  const known = new Set<string>(SETTINGS.map(({ name }) => name));
  const recorded = Object.entries(start.settings).filter(([name]) => known.has(name));
  const flags = { ...Object.fromEntries(recorded), ...WITHOUT_A_SERVER } as SettingFlags;
  return (await loadSettings({ home, env: process.env, flags })).settings;
}

const WITHOUT_A_SERVER = {
  "openai.apiKey": "a-replay-needs-no-key",
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
