/**
 * execute.ts -- prepares, runs and probes one command within its time limit, and bounds its output.
 *
 * Any failure of a command becomes an observation and cannot stop the loop. Only a full disk, an abort by the host, or a bug
 * in goald passes through.
 */

import type { ReplyForm } from "#core/agent-settings.ts";
import { MAX_OBSERVATION_CHARS, type Observation } from "#core/call.ts";
import { type CommandContext, type CommandWrite, fail, type Probe, type Waiting } from "#core/command.ts";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { isNestedCall } from "#core/frames.ts";
import { listAsked } from "#core/guarded-files.ts";
import type { FileChange } from "#core/ports/store.ts";
import type { OpenWorkspace } from "#core/ports/workspace.ts";
import { addSources, type OutsideSource, sourcesOf, withSources } from "#core/provenance.ts";
import type { ServiceName, Services } from "#core/services.ts";
import { checkWrite, copyJson, parseResult } from "./call-result.ts";
import { type CommandPart, guardWorkspace, requireRun } from "./guard-workspace.ts";
import type { RegisteredCommand } from "./registry.ts";
import { spillOutput } from "./spill-output.ts";
import { startTimeLimit, type TimeLimit } from "./time-limit.ts";
import { sourcesBeforeCrash, trackService } from "./track-services.ts";
import { type FileSources, SourceTracker, trackWorkspace } from "./track-sources.ts";

/** Code reads the text of a nested call whole, and a file holds what is longer. */
const MAX_CODE_CHARS = 2_000_000;

/** `received`: sources of the outside words that the command has received so far. */
export interface NestedWork {
  call(
    ...given: [...Parameters<CommandContext["call"]>, received: readonly OutsideSource[]]
  ): ReturnType<CommandContext["call"]>;
  run(
    task: string,
    returns: Readonly<Record<string, unknown>>,
    how: { readonly form?: ReplyForm | undefined; readonly received: readonly OutsideSource[] },
  ): ReturnType<CommandContext["run"]>;
}

export interface CallFrame {
  readonly command: RegisteredCommand;
  readonly args: Readonly<Record<string, unknown>>;
  readonly callId: string;
  readonly step: number;
  readonly script?: CommandContext["script"];
  readonly agent: CommandContext["agent"];
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  readonly openWorkspace: OpenWorkspace;
  /** May write below `_goald/`, unlike commands. */
  readonly openOwnWorkspace: OpenWorkspace;
  /** Services that are set up. */
  readonly services: Partial<Services>;
  readonly signal: AbortSignal;
  /** Absent: no file has outside words. */
  readonly fileSources?: FileSources;
  /** Sources that earlier parts and attempts of the call received. */
  readonly received?: readonly OutsideSource[];
  /** Absent while the command is prepared or probed. */
  readonly nest?: NestedWork & {
    /** Sources of the outside words in the results of sub-tasks so far. */
    readonly outside?: readonly OutsideSource[];
  };
}

export interface Execution<T> {
  readonly result: T;
  /** Changed files in order, with the content for the history. */
  readonly files: readonly FileChange[];
  readonly staged: readonly CommandWrite[];
  /** Sources of the outside words that this part of the call received. */
  readonly outside: readonly OutsideSource[];
}

export type Prepared = { readonly prepared: unknown } | { readonly refused: Observation };

/** Calls the command's `prepare`. Resolves to an observation when the command cannot run. */
export async function prepareCall(call: CallFrame): Promise<Execution<Prepared>> {
  const { command, args } = call;
  const execution = await runWithin(call, "prepare", async (context, limit, tracker): Promise<Prepared> => {
    if (!command.prepare) return { prepared: null };
    try {
      const late = Symbol("late");
      const prepared = await limit.race<unknown, symbol>(command.prepare(args as never, context), () => late);
      if (prepared === late) return { refused: createNotStarted(command) };
      return { prepared: copyJson(`The value prepared by ${command.name}`, prepared) };
    } catch (error) {
      call.signal.throwIfAborted();
      return { refused: toFailure(error, command, tracker) };
    }
  });
  const { result, outside } = execution;
  return "refused" in result ? { ...execution, result: { refused: withSources(result.refused, outside) } } : execution;
}

/** Never rejects for failures of a command; rejects with GOALD_STORE_FULL and aborts of the host. */
export async function runCall(call: CallFrame, prepared: unknown): Promise<Execution<Observation | Waiting>> {
  const { command, args } = call;
  const execution = await runWithin(call, "run", async (context, limit, tracker) => {
    try {
      const returned = await limit.race(command.run(args as never, context, prepared), () => createTimeout(command));
      return parseResult(command, returned);
    } catch (error) {
      call.signal.throwIfAborted();
      return toFailure(error, command, tracker);
    }
  });
  if (execution.result.status === "waiting") return execution;
  // A call of unknown outcome may have received words from any source.
  const possible = execution.result.status === "unknown" ? sourcesBeforeCrash(command, args) : [];
  const outside = addSources(execution.outside, possible);
  const result = withSources(execution.result, outside);
  const mostChars = isNestedCall(call.callId) ? MAX_CODE_CHARS : MAX_OBSERVATION_CHARS;
  if (typeof result.text !== "string" || result.text.length <= mostChars) return { ...execution, result, outside };
  return spillOutput(call, result, result.text, { ...execution, outside });
}

interface Probed {
  readonly found: Probe;
  /** Why `probe` failed, as a sentence. */
  readonly problem?: string;
}

export async function probeCall(call: CallFrame, prepared: unknown): Promise<Execution<Probed>> {
  const { command, args } = call;
  return runWithin(call, "probe", async (context, limit) => {
    if (!command.probe) return { found: "unknown" };
    try {
      const found = await limit.race(command.probe(args as never, context, prepared), () => "unknown" as const);
      return { found: found === "done" || found === "not-done" ? found : "unknown" };
    } catch (error) {
      call.signal.throwIfAborted();
      return { found: "unknown", problem: toError(error).message };
    }
  });
}

async function runWithin<T>(
  call: CallFrame,
  part: CommandPart,
  act: (context: CommandContext, limit: TimeLimit, tracker: SourceTracker) => Promise<T>,
): Promise<Execution<T>> {
  const { command, agent, callId, step } = call;
  const files: FileChange[] = [];
  const staged: CommandWrite[] = [];
  const tracker = new SourceTracker(call.fileSources, call.received);
  using limit = startTimeLimit(call.signal, command.timeoutMs);
  const inTime = (): void => {
    if (limit.isOver)
      throw new GoaldError("GOALD_FILE", `${command.name} exceeded its time limit and can change nothing more.`);
  };
  const check = (change: string): void => {
    requireRun(command.name, part, change);
    inTime();
  };
  const context: CommandContext = {
    workspace: guardWorkspace(
      trackWorkspace(
        call.openWorkspace(call.folder, (change) => files.push(change)),
        tracker,
      ),
      { check, inTime, asked: listAsked(call.args, command.writes) },
    ),
    signal: limit.signal,
    callId,
    step,
    ...(call.script ? { script: call.script } : {}),
    agent,
    stage: (write) => {
      check("stage a write");
      checkWrite(command.name, write);
      staged.push(write);
    },
    use: (name) => trackService(name, findService(call, name), tracker),
    call: async (name, args) => {
      const given = copyJson(`The arguments of ${name}`, args);
      const observation = await limit.standStill(() => findNest(call).call(name, given, tracker.sources));
      tracker.add(sourcesOf(observation));
      return observation;
    },
    run: (task, returns, form) => {
      const how = { form, received: tracker.sources };
      return limit.standStill(() => findNest(call).run(task, copyJson("The JSON Schema of a sub-task", returns), how));
    },
  };
  // Copies keep later changes by a timed-out command out of the commit.
  const result = await act(context, limit, tracker);
  tracker.add(call.nest?.outside ?? []);
  return { result, files: [...files], staged: [...staged], outside: tracker.sources };
}

function findService<N extends ServiceName>({ command, services }: CallFrame, name: N): Services[N] {
  const service = command.needs.includes(name) ? services[name] : undefined;
  if (service !== undefined) return service as Services[N];
  const problem = command.needs.includes(name) ? "is not set up" : "it does not declare in `needs`";
  throw new GoaldError("GOALD_NOT_CONFIGURED", `${command.name} used the service ${name}, which ${problem}.`, {
    hint: "See the missing settings: goald commands",
  });
}

function findNest({ command, nest }: CallFrame): NonNullable<CallFrame["nest"]> {
  if (nest) return nest;
  throw new GoaldError("GOALD_COMMAND_INVALID", `${command.name} can run other work only in \`run\`.`);
}

const createNotStarted = ({ name, timeoutMs }: RegisteredCommand): Observation =>
  fail("timeout", `${name} was not run: its preparation took more than ${Math.round(timeoutMs / 1000)} s.`);

function createTimeout({ name, timeoutMs, annotations }: RegisteredCommand): Observation {
  const late = `${name} did not finish within ${Math.round(timeoutMs / 1000)} s.`;
  if (annotations.readOnly) return fail("timeout", late);
  return {
    ...fail("timeout", `${late} It may or may not have had its effect: look before you repeat it.`),
    status: "unknown",
  };
}

/** Separates goald's own sentences from outside words. */
function toFailure(error: unknown, { name, annotations }: RegisteredCommand, tracker: SourceTracker): Observation {
  if (isGoaldError(error, "GOALD_STORE_FULL")) throw error;
  if (!isGoaldError(error)) {
    const source = annotations.openWorld && tracker.sources.length === 0 ? "web" : "goald";
    return fail("command-error", `${name} failed: ${toError(error).message}`, { source });
  }
  const { message, hint, words } = error;
  const said = words === "" ? "" : `\nThe other side said, in its own words: “${words}”`;
  const source = words !== "" && tracker.sources.length === 0 ? "web" : "goald";
  return fail(codeOfError(error), `${hint === "" ? message : `${message} ${hint}`}${said}`, { source });
}

/** GOALD_FILE_MISSING -> file-missing */
export const codeOfError = (error: GoaldError): string =>
  error.code
    .replace(/^GOALD_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
