/**
 * recording.ts -- `--record FILE`: a run in this process, with all that comes to it from outside written down.
 *
 * Secrets are taken out before anything is written, and the run itself keeps its texts with the same net: what is in the
 * recording is what the run has seen.
 */
import { hash } from "node:crypto";
import { resolve } from "node:path";
import type { ComposedAgent, Host } from "#app/main.ts";
import { openRecorder, type Recorder } from "#cassette/recorder.ts";
import { continueRecordingFile, createRecordingFile } from "#cassette/recording-file.ts";
import { SETTINGS, type Settings, valueAt } from "#config/settings.ts";
import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { AgentState } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { readVersion } from "../../shipped.ts";
import { type CliContext, counted } from "./context.ts";

export interface RecordOptions {
  readonly record?: string;
  readonly detach?: boolean;
  readonly wait?: boolean;
}

export interface Recording {
  readonly recorder: Recorder;
  /** Whose texts are kept as the recording has them. */
  readonly context: CliContext;
}

/** Throws GOALD_USAGE: what a daemon runs cannot be recorded. `inDaemon`: it would run there. */
export function requireHere({ record, detach, wait }: RecordOptions, inDaemon: boolean): void {
  if (record === undefined || !(detach || wait || inDaemon)) return;
  throw new GoaldError("GOALD_USAGE", "An agent that runs in the daemon cannot be recorded yet.", {
    hint:
      detach || wait
        ? "Leave out --detach and --wait: with --record it runs here."
        : "Record where no daemon is up: goald down, or another home with --home FOLDER. An agent of the background stays there.",
  });
}

/** `row`: the agent whose recording is gone on with; without it a new file is begun. Undefined when nothing is to be recorded. */
export function openRecording({ record }: RecordOptions, context: CliContext, row?: AgentRow): Recording | undefined {
  if (record === undefined) return undefined;
  const path = resolve(record);
  const file = row ? continueRecordingFile(path, row) : createRecordingFile(path, readVersion());
  const { redact } = context;
  return { recorder: openRecorder({ file, clock: systemClock, redact }), context: { ...context, scrub: redact } };
}

export async function beginRecording(recorder: Recorder, host: Host, { lease, folder }: ComposedAgent): Promise<void> {
  const row = await host.store.agent(lease.agent);
  const [created] = await host.store.read(lease.agent, 0, 1);
  if (!row || created?.type !== "agent-created")
    throw new GoaldError("GOALD_NOT_FOUND", `The agent ${lease.agent} was removed.`);
  await recorder.begin({
    row,
    created,
    epoch: lease.epoch,
    settings: recordedSettings(host.settings),
    services: Object.entries(host.services).flatMap(([name, { ready }]) => (ready ? [name] : [])),
    catalogue: catalogueHash(host),
    folder: openLocalWorkspace(folder, undefined, { own: true }),
  });
}

export async function endRecording(recorder: Recorder, state: AgentState, { output }: CliContext): Promise<void> {
  const end = await recorder.end(state);
  output.say(clean(`Recorded in ${recorder.path}: ${counted(recorder.exchanges, "request")}.`));
  if (end) output.say(`State: ${end.state}`);
  else
    output.say("It was ended from elsewhere: the recording holds what came before that, and cannot be gone on with.");
}

/** Of the commands and the words: with others, the same run asks something else. */
export function catalogueHash({ catalogue: { commandList, words } }: Pick<Host, "catalogue">): string {
  const texts = Object.entries(words).map(([name, { text }]) => [name, text]);
  return hash("sha256", JSON.stringify([commandList, texts.sort()]), "hex");
}

/** Those that say how a run looks, or where and whether it runs, have no say in what happens in it. */
const BESIDE =
  /^(?:openai\.organization|approve|keys\..*|daemon\..*|agentFile|plainOutput|color|logLevel|limits\.unattended\w+)$/;

export function recordedSettings(settings: Settings): Record<string, unknown> {
  const names = SETTINGS.filter(({ name, secret }) => secret !== true && !BESIDE.test(name)).map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, valueAt(settings, name)]));
}
