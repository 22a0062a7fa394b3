/** play-recording.ts -- plays all sessions of a recording, and compares their end with the recorded one. */
import { resolve } from "node:path";
import { openAgentFolder } from "#app/agent.ts";
import { catalogueHash } from "#app/catalogue.ts";
import { type Host, openHost } from "#app/host.ts";
import { hashAll, replaceAll } from "#cassette/folder.ts";
import { type Cassette, headOf, ofType, type Session, stateHash } from "#cassette/format.ts";
import { CutOff, Player } from "#cassette/player.ts";
import { readCassette } from "#cassette/recording-file.ts";
import type { ShowRun } from "#cli/terminal/show-run.ts";
import { loadSettings, type SettingFlags } from "#config/load-settings.ts";
import { SETTING_NAMES, type Settings } from "#config/settings.ts";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { AgentRow, Store } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { clean } from "#util/outside-text.ts";
import { stateOf } from "#views/read-agent.ts";
import { type CliContext, redactorsFor } from "./context.ts";
import { openHostLog } from "./open-host.ts";
import { createPresenter } from "./result.ts";
import { quoteForShell } from "./verb-list.ts";

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
export function readPlayable(file: string): Cassette {
  const cassette = readCassette(resolve(file));
  const { path, sessions } = cassette;
  if (sessions.some((session) => session.end || ofType(session, "committed").length > 0)) return cassette;
  throw new GoaldError("GOALD_REPLAY", `Nothing is recorded in ${path}: the run was cut off as it began.`, {
    hint: `Go on with its agent, into the same file: goald resume ${sessions[0].start.agent.id} --record ${quoteForShell(path)}`,
  });
}

export type PlayedCassette = Awaited<ReturnType<typeof playAll>>;

/**
 * `context`: the home to play in; `visited`: the present one. `show`: replaces the usual output. Throws GOALD_REPLAY for
 * the first difference.
 */
export const playCassette = (...given: Parameters<typeof playAll>): Promise<PlayedCassette> =>
  playAll(...given).catch(refuse);

async function playAll(cassette: Cassette, context: CliContext, visited: CliContext, show?: ShowRun) {
  const { sessions } = cassette;
  let requests = 0;
  const events = { same: 0, all: 0 };
  let played: Awaited<ReturnType<typeof playSession>> | undefined;
  for (const [index, session] of sessions.entries()) {
    const cutAfter = session.end ? undefined : (sessions[index + 1]?.start.head ?? headOf(session));
    const settings = await settingsOf(session, visited);
    played = await playSession(session, cutAfter, { ...context, settings }, show);
    requests += played.requests;
    events.same += played.events.same;
    events.all += played.events.all;
  }
  const last = sessions.at(-1) ?? sessions[0];
  const { state, files } = played as NonNullable<typeof played>;
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
  const known = new Set(SETTING_NAMES);
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

interface Stage {
  host?: Host;
  folder?: Workspace;
  show?: ShowRun;
  failure?: Error;
}

/** `cutAfter`: the last event of a killed process. `files`: hashes by path. Throws GOALD_REPLAY for the first difference. */
async function playSession(session: Session, cutAfter: number | undefined, context: CliContext, show?: ShowRun) {
  const { start } = session;
  const stage: Stage = {};
  const player = openPlayer(session, cutAfter, stage, context);
  await using host = await openPlayingHost(player, session, stage, context);
  const { store, catalogue, home } = host;
  stage.host = host;
  const row = await agentOf(session, store);
  const folder = await openAgentFolder(home, row);
  stage.folder = folder;
  await replaceAll(start.files, folder);
  stage.show = show ?? createPresenter(context, catalogue.readThoughts, (await stateOf(store, row)).open);
  // Shows the creation of a new agent, as a run does.
  if (row.head === 1) for (const event of await store.read(row.id, 0, 1)) stage.show(event);
  if (cutAfter === undefined || cutAfter > start.head) {
    await runSession(session, host);
    requirePlayed(player, stage.failure);
  }
  await host.supervisor.drain(0);
  const { events, answers } = player;
  return {
    events,
    requests: answers,
    state: await stateOf(store, row),
    files: await hashAll(folder, context.redact),
  };
}

function openPlayer(session: Session, cutAfter: number | undefined, stage: Stage, { redact }: CliContext): Player {
  const { agent, catalogue } = session.start;
  return new Player({
    session,
    cutAfter,
    redact,
    folder: () => stage.folder as Workspace,
    deliver: async (key, message, at) => stage.host?.store.deliver(agent.id, key, message, at),
    hint: () => (stage.host && catalogueHash(stage.host.catalogue) !== catalogue ? OTHER_CATALOGUE : OTHER_GOALD),
  });
}

async function openPlayingHost(player: Player, session: Session, stage: Stage, context: CliContext): Promise<Host> {
  const { home, settings, redact, scrub, output } = context;
  const log = await openHostLog(context);
  // Drains the host, because one run is one session.
  const endRun = (): void => void stage.host?.supervisor.drain(0);
  return openHost({
    home,
    settings,
    redact,
    scrub,
    player,
    log,
    services: Object.fromEntries(session.start.services?.map((name) => [name, { ready: true }]) ?? []),
    onProblem: (problem) => output.say(redact(clean(problem))),
    onCommitted: (_agent, events) => {
      for (const event of events) stage.show?.(event);
    },
    onStopped: endRun,
    onFailed: (_agent, error) => {
      stage.failure = error;
      endRun();
    },
  });
}

/** Finds or creates the agent with its recorded id. Its next lease must have the recorded epoch. */
async function agentOf({ start }: Session, store: Store): Promise<AgentRow> {
  const { agent, name, role, goals, given, epoch } = start;
  const spec = { ...given, name, role, goals, id: agent.id };
  const row = await store.create(spec, `replay/${agent.id}/${agent.createdAt}`, agent.createdAt);
  if (row.head !== start.head || row.epoch >= epoch)
    throw new GoaldError(
      "GOALD_REPLAY",
      `Expected ${agent.id} at event ${start.head} with a lease before ${epoch}, found event ${row.head} and lease ${row.epoch}.`,
      { hint: "Play it in a home where it was not played before." },
    );
  for (let claimed = row.epoch; claimed < epoch - 1; ) claimed = (await store.claim(agent.id)).epoch;
  return row;
}

async function runSession({ start }: Session, { supervisor }: Host): Promise<void> {
  const { agent, pause } = start;
  // The player keeps the first difference, which is thrown later.
  if (pause) return supervisor.pause(agent.id, pause.code, pause.reason).catch(() => undefined);
  supervisor.wake(agent.id);
  await supervisor.runners.get(agent.id)?.settled();
}

function requirePlayed(player: Player, failure: Error | undefined): void {
  if (player.miss) throw player.miss;
  try {
    if (failure) throw failure;
    player.finish();
  } catch (thrown) {
    if (toError(thrown).name !== CutOff.name) throw thrown;
  }
}

const OTHER_CATALOGUE =
  "The commands or words are not those of the recording. Play it in the home that it was made in, or with the goald that made it.";
const OTHER_GOALD =
  "Another goald, other settings and a memory that a person changed meanwhile ask in another way. Record it again: goald run --record FILE";
