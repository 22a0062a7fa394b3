/**
 * execute.ts -- prepares, runs and probes one command within its time limit, and bounds its output. Any failure of a
 * command becomes an observation and cannot stop the loop. Only a full disk, an abort by the host, or a bug in goald
 * passes through.
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
import { clip } from "#core/text.ts";
import { checkWrite, copyJson, parseResult } from "./call-result.ts";
import { type CommandPart, openCallWorkspace, requireRun } from "./call-workspace.ts";
import type { RegisteredCommand } from "./registry.ts";
import { type FileSources, SourceTracker, sourcesBeforeCrash, trackService } from "./track-sources.ts";

/** Code reads the text of a nested call whole, and a file holds what is longer. */
const MAX_CODE_CHARS = 2_000_000;

/** A running command starts nested work by these. `received`: sources of the outside words that the command has received so far. */
export interface NestedWork {
  /** Sources of the outside words in the results of sub-tasks so far. */
  readonly outside?: readonly OutsideSource[];
  call(
    ...given: [...Parameters<CommandContext["call"]>, received: readonly OutsideSource[]]
  ): ReturnType<CommandContext["call"]>;
  run(
    task: string,
    returns: Readonly<Record<string, unknown>>,
    how: { readonly form?: ReplyForm | undefined; readonly received: readonly OutsideSource[] },
  ): ReturnType<CommandContext["run"]>;
}

export interface CallContext extends Pick<CommandContext, "callId" | "step" | "script" | "agent"> {
  readonly command: RegisteredCommand;
  readonly args: Readonly<Record<string, unknown>>;
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
  readonly nested?: NestedWork;
}

interface Execution<T> {
  readonly result: T;
  /** Changed files in order, with the content for the history. */
  readonly files: readonly FileChange[];
  readonly staged: readonly CommandWrite[];
  /** Sources of the outside words that this part of the call received. */
  readonly outside: readonly OutsideSource[];
}

export type Prepared = { readonly prepared: unknown } | { readonly refused: Observation };

/** Calls the command's `prepare`. Resolves to an observation when the command cannot run. */
export async function prepareCall(call: CallContext): Promise<Execution<Prepared>> {
  const { command, args } = call;
  const execution = await runWithin(call, "prepare", async (context, limit, tracker): Promise<Prepared> => {
    if (!command.prepare) return { prepared: null };
    try {
      const late = { refused: createNotStarted(command) };
      const prepared = await limit.race<unknown, Prepared>(command.prepare(args as never, context), () => late);
      return prepared === late ? late : { prepared: copyJson(`The value prepared by ${command.name}`, prepared) };
    } catch (error) {
      call.signal.throwIfAborted();
      return { refused: toFailure(error, command, tracker) };
    }
  });
  const { result, outside } = execution;
  return "refused" in result ? { ...execution, result: { refused: withSources(result.refused, outside) } } : execution;
}

/** Never rejects for failures of a command; rejects with GOALD_STORE_FULL and aborts of the host. */
export async function runCall(call: CallContext, prepared: unknown): Promise<Execution<Observation | Waiting>> {
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

export async function probeCall(call: CallContext, prepared: unknown): Promise<Execution<Probed>> {
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
  call: CallContext,
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
    workspace: openCallWorkspace(
      call.openWorkspace(call.folder, (change) => files.push(change)),
      { check, inTime, asked: listAsked(call.args, command.writes), tracker },
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
      const observation = await limit.standStill(() => findNested(call).call(name, given, tracker.sources));
      tracker.add(sourcesOf(observation));
      return observation;
    },
    run: (task, returns, form) => {
      const how = { form, received: tracker.sources };
      return limit.standStill(() =>
        findNested(call).run(task, copyJson("The JSON Schema of a sub-task", returns), how),
      );
    },
  };
  // Copies keep later changes by a timed-out command out of the commit.
  const result = await act(context, limit, tracker);
  tracker.add(call.nested?.outside ?? []);
  return { result, files: [...files], staged: [...staged], outside: tracker.sources };
}

function findService<N extends ServiceName>({ command, services }: CallContext, name: N): Services[N] {
  const service = command.needs.includes(name) ? services[name] : undefined;
  if (service !== undefined) return service as Services[N];
  const problem = command.needs.includes(name) ? "is not set up" : "it does not declare in `needs`";
  throw new GoaldError("GOALD_NOT_CONFIGURED", `${command.name} used the service ${name}, which ${problem}.`, {
    hint: "See the missing settings: goald commands",
  });
}

function findNested({ command, nested }: CallContext): NestedWork {
  if (nested) return nested;
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
    return fail("command-error", `${name} failed: ${toError(error).message}${placeIn(name, error)}`, { source });
  }
  const { message, hint, words } = error;
  const said = words === "" ? "" : `\nThe other side said, in its own words: “${words}”`;
  const source = words !== "" && tracker.sources.length === 0 ? "web" : "goald";
  return fail(codeOfError(error), `${hint === "" ? message : `${message} ${hint}`}${said}`, { source });
}

/** Where the command's file threw, such as ` (count_words.ts:7)`; empty when the stack does not name it. */
function placeIn(name: string, thrown: unknown): string {
  const [, file, line] = new RegExp(`/(${name}\\.m?[jt]s)[^:\\s]*:(\\d+)`).exec(toError(thrown).stack ?? "") ?? [];
  return file === undefined ? "" : ` (${file}:${line})`;
}

/** GOALD_FILE_MISSING -> file-missing */
export const codeOfError = (error: GoaldError): string =>
  error.code
    .replace(/^GOALD_/, "")
    .toLowerCase()
    .replaceAll("_", "-");

/** Puts the whole of a long output into a file, and a pointer to it into the observation. */
async function spillOutput(
  call: CallContext,
  observation: Observation,
  text: string,
  execution: Execution<unknown>,
): Promise<Execution<Observation>> {
  const path = `_goald/outputs/${call.callId}.txt`;
  const files = [...execution.files];
  const kept = await keepOutput();
  const pointer = kept
    ? `\n[${text.length} characters in all; the whole is in ${path}: read_file shows it in parts.]`
    : `\n[${text.length} characters in all; the rest could not be kept.]`;
  const shown = clip(text, MAX_OBSERVATION_CHARS - pointer.length) + pointer;
  const artifacts = kept ? [...observation.artifacts, path] : observation.artifacts;
  return { ...execution, result: { ...observation, text: shown, artifacts }, files };

  async function keepOutput(): Promise<boolean> {
    try {
      await call.openOwnWorkspace(call.folder, (change) => files.push(change)).write(path, text);
      return true;
    } catch (error) {
      if (isGoaldError(error, "GOALD_STORE_FULL")) throw error;
      return false;
    }
  }
}

type TimeLimit = ReturnType<typeof startTimeLimit>;

/**
 * Limits the time of a command: a signal aborts it, and `race` ends even a command that ignores the signal. Unlike
 * AbortSignal.timeout, the timer ends with the call.
 */
function startTimeLimit(host: AbortSignal, timeoutMs: number) {
  const controller = new AbortController();
  const { signal } = controller;
  let isDisposed = false;
  const onHostAbort = (): void => controller.abort(host.reason);
  const onTimeout = (): void => controller.abort(new DOMException("The time is up.", "TimeoutError"));
  let leftMs = timeoutMs;
  let startedAt = performance.now();
  let timer = setTimeout(onTimeout, timeoutMs);
  /** Number of works that stop the time. */
  let still = 0;
  host.addEventListener("abort", onHostAbort, { once: true });
  if (host.aborted) onHostAbort();

  /** The time of `work` does not count. */
  async function standStill<T>(work: () => Promise<T>): Promise<T> {
    if (still++ === 0) {
      clearTimeout(timer);
      leftMs -= performance.now() - startedAt;
    }
    try {
      return await work();
    } finally {
      if (--still === 0 && !isDisposed) {
        startedAt = performance.now();
        timer = setTimeout(onTimeout, Math.max(1, leftMs));
      }
    }
  }

  /** Settles with `running`, or resolves to `late()` at the time limit; rejects with the reason of the host's abort. */
  async function race<T, L>(running: T | Promise<T>, late: () => L): Promise<T | L> {
    const end = Promise.withResolvers<L>();
    const onEnd = (): void => (host.aborted ? end.reject(host.reason) : end.resolve(late()));
    signal.addEventListener("abort", onEnd, { once: true });
    if (signal.aborted) onEnd();
    try {
      return await Promise.race([running, end.promise]);
    } catch (error) {
      host.throwIfAborted();
      // A command that obeys the signal rejects: same outcome as for one that ignores it.
      if (signal.aborted) return late();
      throw error;
    } finally {
      signal.removeEventListener("abort", onEnd);
    }
  }

  return {
    /** Aborts with the host or at the time limit. */
    signal,
    standStill,
    race,
    /** True after the time limit or the end of the call: the command must change nothing more. */
    get isOver() {
      return isDisposed || signal.aborted;
    },
    [Symbol.dispose]() {
      isDisposed = true;
      clearTimeout(timer);
      host.removeEventListener("abort", onHostAbort);
    },
  };
}
