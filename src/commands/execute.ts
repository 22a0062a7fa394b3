/**
 * execute.ts -- runs one command: looks first, then acts, within its time, its output bounded.
 *
 * A failure is an observation. Nothing that a command does wrong, throws or floods
 * can stop the loop; only a full disk or a bug in goald itself passes through.
 */
import { type Command, type CommandContext, fail, type Waiting } from "#core/command.ts";
import { type GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { Observation } from "#core/event.ts";
import type { FileChange, OpenWorkspace, StagedWrite } from "#core/ports.ts";
import { clip } from "#core/text.ts";

/** About 5,000 tokens: what one result may take of a prompt. More is put into a file and named. */
export const MAX_OBSERVATION_CHARS = 20_000;

export interface CallFrame {
  readonly command: Command;
  readonly args: Readonly<Record<string, unknown>>;
  readonly callId: string;
  readonly step: number;
  readonly agent: CommandContext["agent"];
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  readonly openWorkspace: OpenWorkspace;
  /** Writes below `_goald/`, which commands themselves may not. */
  readonly openOwnWorkspace: OpenWorkspace;
  readonly signal: AbortSignal;
}

export interface Execution<T> {
  readonly result: T;
  /** Files changed, in order, with the content to keep. */
  readonly files: readonly FileChange[];
  readonly staged: readonly StagedWrite[];
}

/** What the command records before it begins. Resolves to an observation when it already knows that it cannot run. */
export async function prepareCall(
  call: CallFrame,
): Promise<Execution<{ prepared: unknown } | { refused: Observation }>> {
  const { command, args } = call;
  return within(call, async (context) => {
    try {
      return { prepared: (await command.prepare?.(args as never, context)) ?? null };
    } catch (error) {
      return { refused: failure(error, command.name) };
    }
  });
}

/** Never rejects for what a command does; GOALD_STORE_FULL and aborts of the host pass through. */
export async function runCall(call: CallFrame, prepared: unknown): Promise<Execution<Observation | Waiting>> {
  const { command, args, callId } = call;
  const execution = await within(call, async (context) => {
    try {
      return await inTime(command, context.signal, call.signal, command.run(args as never, context, prepared));
    } catch (error) {
      call.signal.throwIfAborted();
      // A command that heeds its signal rejects with it: the same end as of one that does not.
      return context.signal.aborted ? timedOut(command) : failure(error, command.name);
    }
  });
  const { result } = execution;
  if (result.status === "waiting" || typeof result.text !== "string" || result.text.length <= MAX_OBSERVATION_CHARS)
    return execution;
  return spill(call, callId, result, result.text, execution);
}

export async function probeCall(
  call: CallFrame,
  prepared: unknown,
): Promise<Execution<"done" | "not-done" | "unknown">> {
  const { command, args } = call;
  return within(call, async (context) => {
    try {
      return (await command.probe?.(args as never, context, prepared)) ?? "unknown";
    } catch {
      return "unknown";
    }
  });
}

async function within<T>(call: CallFrame, act: (context: CommandContext) => Promise<T>): Promise<Execution<T>> {
  const files: FileChange[] = [];
  const staged: StagedWrite[] = [];
  using limit = startLimit(call.signal, call.command.timeoutMs ?? 60_000);
  const context: CommandContext = {
    workspace: call.openWorkspace(call.folder, (change) => files.push(change)),
    signal: limit.signal,
    callId: call.callId,
    step: call.step,
    agent: call.agent,
    stage: (write) => staged.push(write),
  };
  return { result: await act(context), files, staged };
}

/** Aborts with the host or when the time is up; unlike AbortSignal's own, nothing of it outlives the call. */
function startLimit(host: AbortSignal, timeoutMs: number): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const onHostAbort = (): void => controller.abort(host.reason);
  const timer = setTimeout(() => controller.abort(new DOMException("The time is up.", "TimeoutError")), timeoutMs);
  host.addEventListener("abort", onHostAbort, { once: true });
  if (host.aborted) onHostAbort();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      host.removeEventListener("abort", onHostAbort);
    },
  };
}

/** A command that does not heed its signal is left behind; it can no longer change what the model is told. */
async function inTime<T>(
  command: Command,
  limit: AbortSignal,
  host: AbortSignal,
  running: Promise<T>,
): Promise<T | Observation> {
  const late = Promise.withResolvers<Observation>();
  const onLimit = (): void => {
    if (host.aborted) late.reject(host.reason);
    else late.resolve(timedOut(command));
  };
  limit.addEventListener("abort", onLimit, { once: true });
  if (limit.aborted) onLimit();
  running.catch(() => undefined);
  try {
    return await Promise.race([running, late.promise]);
  } finally {
    limit.removeEventListener("abort", onLimit);
  }
}

function timedOut(command: Command): Observation {
  const seconds = Math.round((command.timeoutMs ?? 60_000) / 1000);
  if (command.annotations.readOnly) return fail("timeout", `${command.name} did not finish within ${seconds} s.`);
  const text = `${command.name} did not finish within ${seconds} s. It may or may not have had its effect: look before you repeat it.`;
  return { ...fail("timeout", text), status: "unknown" };
}

function failure(error: unknown, name: string): Observation {
  if (isGoaldError(error, "GOALD_STORE_FULL")) throw error;
  if (isGoaldError(error)) return fail(kebab(error), error.hint ? `${error.message} ${error.hint}` : error.message);
  return fail("command-error", `${name} failed: ${toError(error).message}`);
}

/** GOALD_FILE_MISSING -> file-missing */
const kebab = (error: GoaldError): string =>
  error.code
    .replace(/^GOALD_/, "")
    .toLowerCase()
    .replaceAll("_", "-");

async function spill(
  call: CallFrame,
  callId: string,
  observation: Observation,
  text: string,
  execution: Execution<unknown>,
): Promise<Execution<Observation>> {
  const path = `_goald/outputs/${callId}.txt`;
  const files = [...execution.files];
  await call.openOwnWorkspace(call.folder, (change) => files.push(change)).write(path, text);
  const pointer = `\n[${text.length} characters in all; the whole is in ${path}: read_file shows it in parts.]`;
  const shown = clip(text, MAX_OBSERVATION_CHARS - pointer.length) + pointer;
  return {
    result: { ...observation, text: shown, artifacts: [...observation.artifacts, path] },
    files,
    staged: execution.staged,
  };
}
