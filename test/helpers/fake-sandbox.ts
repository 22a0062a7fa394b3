/**
 * fake-sandbox.ts -- a sandbox for tests: each cell's behaviour is a function, keyed by the cell's code.
 *
 * The namespaces are real: they last from cell to cell, are saved with each outcome, are loaded from `saved` when the live
 * one has another version, and nested cells report what they changed. Values must be JSON. There are no processes:
 * `endProcesses` does what the end of all processes does.
 */
import { isDeepStrictEqual } from "node:util";
import type {
  Cell,
  CellBridge,
  CellCallError,
  CellOutcome,
  CellProblem,
  CellReply,
  LostName,
  NamespaceChange,
  Sandbox,
  SandboxFinding,
  SavedNamespace,
} from "#core/ports/sandbox.ts";
import { createSlots } from "#util/turns.ts";

/** What a cell does: `host` is the cell's host; `names` holds the values of the namespace. */
export type CellBehaviour = (cell: Cell, host: CellBridge, scope: FakeScope) => Promise<FakeEnd> | FakeEnd;
/** Only what differs from a cell that ends without a value, a word or a change. */
export type FakeEnd =
  // biome-ignore lint/suspicious/noConfusingVoidType: a behaviour may return nothing
  void | Partial<CellOutcome>;
export interface FakeScope {
  /** Values by name: JSON. */
  readonly names: Map<string, unknown>;
  /** Sources by name, in the order in which they were defined. */
  readonly definitions: Map<string, string>;
  print(line: string): void;
  /** `host.call`, as code sees it: returns the value, or throws a CommandError. */
  call(name: string, args?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** `agent.run`, as code sees it. */
  run(task: string, returns?: Readonly<Record<string, unknown>>, form?: string | null): Promise<unknown>;
}

/** What code sees of a command that failed. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly command: CellCallError;
  constructor(command: CellCallError) {
    super(command.text);
    this.command = command;
  }
}

/** A cell of the agent alice, without a saved namespace unless `more` has one. */
export const cellOf = (code: string, more: Partial<Cell> = {}): Cell => ({
  agent: "alice",
  code,
  name: "cell c1",
  version: "c1.1",
  saved: null,
  seed: 7,
  startedAt: "2026-11-20T08:00:00.000Z",
  timeLimitMs: 20_000,
  functions: [],
  modules: [],
  imports: "safe",
  ...more,
});

/** The value of a cell's last expression. */
export const cellValue = (json: unknown) => ({ text: typeof json === "string" ? json : JSON.stringify(json), json });
export const failedCell = (problem: Partial<CellProblem>) => ({
  kind: "failed" as const,
  problem: { kind: "error" as const, type: "Error", message: "It failed.", line: 1, source: null, ...problem },
});

interface FakeOptions {
  readonly finding?: SandboxFinding;
  readonly maxProcesses?: number;
}
interface Live {
  version: string | null;
  readonly names: Map<string, unknown>;
  readonly definitions: Map<string, string>;
}

/** `behaviours`: by code, or one function for all cells. Code without a behaviour fails with a NameError. */
export function createFakeSandbox(
  behaviours: Readonly<Record<string, CellBehaviour>> | CellBehaviour,
  options: FakeOptions = {},
) {
  const slots = createSlots(options.maxProcesses ?? 4);
  const live = new Map<string, Live>();
  const running = new Map<string, number>();
  /** All cells that ran, in the order of their starts. */
  const cells: Cell[] = [];
  const behaviourOf = ({ code }: Cell): CellBehaviour =>
    typeof behaviours === "function" ? behaviours : (behaviours[code] ?? (() => unknownCode(code)));

  async function runIn(space: string, cell: Cell, host: CellBridge, signal: AbortSignal): Promise<CellOutcome> {
    const depth = running.get(space) ?? 0;
    running.set(space, depth + 1);
    cells.push(cell);
    const current = live.get(space);
    // A nested cell shares the namespace of the cell around it, whatever was saved.
    const own = depth > 0 && current ? current : openSpace(current, cell.saved);
    live.set(space, own);
    if (cell.redo) redoChange(own, cell.redo);
    try {
      const outcome = await runCell(behaviourOf(cell), cell, watchHost(host, own), own, signal, depth > 0);
      if (outcome.saved === null) live.delete(space);
      return outcome;
    } catch (error) {
      live.delete(space);
      throw error;
    } finally {
      if (depth === 0) running.delete(space);
      else running.set(space, depth);
    }
  }

  const sandbox: Sandbox = {
    find: () => Promise.resolve(options.finding ?? { level: "strict", reason: "Nothing runs in a fake sandbox." }),
    async run(cell, host, signal) {
      signal.throwIfAborted();
      const space = cell.isAlone ? `${cell.version} alone` : cell.agent;
      const run = (): Promise<CellOutcome> => runIn(space, cell, host, signal);
      // A cell of this agent that waits for the one that is alone holds a process.
      const isNested = cell.isAlone && running.has(cell.agent);
      return isNested || running.has(space) ? run() : slots.hold(run, signal);
    },
    get isCrowded() {
      return slots.queued > 0;
    },
    close: () => Promise.resolve(live.clear()),
  };
  /** Every namespace is gone, as after the end of each process. */
  const endProcesses = (): void => live.clear();
  return Object.assign(sandbox, { cells: cells as readonly Cell[], endProcesses });
}

const unknownCode = (code: string): FakeEnd =>
  failedCell({ type: "NameError", message: `No behaviour for: ${code}`, source: code });

function openSpace(live: Live | undefined, saved: SavedNamespace | null): Live {
  if (live && live.version === (saved?.version ?? null)) return live;
  const values = Object.entries(saved?.values ?? {}).map(([name, json]) => [name, JSON.parse(json)] as const);
  return { version: saved?.version ?? null, names: new Map(values), definitions: new Map(saved?.definitions ?? []) };
}

async function runCell(
  behaviour: CellBehaviour,
  cell: Cell,
  host: WatchedHost,
  own: Live,
  signal: AbortSignal,
  isNested: boolean,
): Promise<CellOutcome> {
  const before = saveSpace(own, cell.version);
  const printed: string[] = [];
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  aborted.promise.catch(() => undefined);
  const ended = Promise.resolve()
    .then(() => behaviour(cell, host, openScope(own, host, printed)))
    .catch(explainError);
  const told = await Promise.race([ended, aborted.promise, host.rejected]).finally(() =>
    signal.removeEventListener("abort", abort),
  );
  own.version = cell.version;
  const saved = saveSpace(own, cell.version);
  const change = isNested ? { change: describeChange(before, saved) } : {};
  return { ...plainEnd(printed, saved), ...change, ...done(told ?? {}) } as CellOutcome;
}

const done = (told: Partial<CellOutcome>): Partial<CellOutcome> =>
  told.kind === "failed" ? told : { kind: "done", value: null, stop: null, ...told };
const plainEnd = (printed: readonly string[], saved: SavedNamespace | null) => ({
  output: printed.map((line) => `${line}\n`).join(""),
  isCut: false,
  saved,
  lost: [] as readonly LostName[],
  durationMs: 1,
});

function explainError(error: unknown): Partial<CellOutcome> {
  const { name, message } = error as Error;
  return failedCell({
    type: name,
    message,
    ...(error instanceof CommandError ? { command: error.command } : {}),
  });
}

function openScope(own: Live, host: CellBridge, printed: string[]): FakeScope {
  return {
    names: own.names,
    definitions: own.definitions,
    print: (line) => {
      printed.push(line);
      host.show?.(line);
    },
    call: async (name, args = {}) => takeValue(await host.call(name, args)),
    run: async (task, returns = { type: "string" }, form = null) => takeValue(await host.run(task, returns, form)),
  };
}

function takeValue(reply: CellReply<unknown>): unknown {
  if ("error" in reply) throw new CommandError(reply.error);
  return reply.value;
}

function saveSpace({ names, definitions }: Live, version: string): SavedNamespace {
  const values = Object.fromEntries([...names].map(([name, value]) => [name, JSON.stringify(value)]));
  return { version, definitions: [...definitions], values };
}

function describeChange(before: SavedNamespace, after: SavedNamespace): NamespaceChange {
  const [was, is] = [new Map(before.definitions), new Map(after.definitions)];
  const gone = [...was.keys()].filter((name) => !is.has(name)).map((name) => [name, null] as const);
  const changed = [...is].filter(([name, source]) => was.get(name) !== source);
  const names = new Set([...Object.keys(before.values), ...Object.keys(after.values)]);
  const values = [...names]
    .filter((name) => !isDeepStrictEqual(before.values[name], after.values[name]))
    .map((name) => [name, after.values[name] ?? null] as const);
  return { definitions: [...gone, ...changed], values: Object.fromEntries(values) };
}

function redoChange({ names, definitions }: Live, change: NamespaceChange): void {
  for (const [name, json] of Object.entries(change.values))
    if (json === null) names.delete(name);
    else names.set(name, JSON.parse(json));
  for (const [name, source] of change.definitions)
    if (source === null) definitions.delete(name);
    else definitions.set(name, source);
}

interface WatchedHost extends CellBridge {
  /** Never resolves; rejects with what a method of the host rejected with. */
  readonly rejected: Promise<never>;
}

/** Redoes in the namespace what earlier nested cells did, and passes on what a method rejects with. */
function watchHost(host: CellBridge, own: Live): WatchedHost {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  const watch = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      broken.reject(error);
      throw error;
    }
  };
  return {
    call: (name, args) => watch(host.call(name, args)),
    async run(task, returns, form) {
      const reply = await watch(host.run(task, returns, form));
      if (reply.change) redoChange(own, reply.change);
      return reply;
    },
    listFiles: () => watch(host.listFiles()),
    readFile: (path) => watch(host.readFile(path)),
    saveFiles: (changes) => watch(host.saveFiles(changes)),
    show: host.show,
    rejected: broken.promise,
  };
}
