/** play-session.ts -- plays one session of a recording, in a separate host. */
import { openAgentFolder } from "#app/agent.ts";
import { catalogueHash } from "#app/catalogue.ts";
import { type Host, openHost } from "#app/host.ts";
import { hashAll, replaceAll } from "#cassette/folder.ts";
import type { Session } from "#cassette/format.ts";
import { CutOff, Player } from "#cassette/player.ts";
import { GoaldError, toError } from "#core/errors.ts";
import type { AgentRow, Store } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { AgentState } from "#core/state.ts";
import { clean } from "#util/outside-text.ts";
import { stateOf } from "#views/read-agent.ts";
import type { CliContext } from "./context.ts";
import { openHostLog } from "./private-host.ts";
import { createPresenter, type Show } from "./result.ts";

export interface Played {
  readonly requests: number;
  /** Number of events whose content is identical to the recording, and of all events. */
  readonly events: { readonly same: number; readonly all: number };
  readonly state: AgentState;
  /** Hash by path. */
  readonly files: Readonly<Record<string, string>>;
}

/** Parts that are created after the player. */
interface Stage {
  host?: Host;
  folder?: Workspace;
  show?: Show;
  failure?: Error;
}

/**
 * `cutAfter`: the last event of a killed process. `show`: replaces the usual output. Throws GOALD_REPLAY for the first
 * difference.
 */
export async function playSession(
  session: Session,
  cutAfter: number | undefined,
  context: CliContext,
  show?: Show,
): Promise<Played> {
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
    ...{ session, cutAfter, redact },
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
    ...{ home, settings, redact, scrub, player, log },
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
const OTHER_GOALD = "Another goald or other settings ask in another way. Record it again: goald run --record FILE";
