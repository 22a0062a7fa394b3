/**
 * nested-work.ts -- the nested work of one running command: calls of other commands, and sub-tasks that the model works
 * on. Each piece is known by its position and hash. When the command runs again after a crash, an ended piece returns
 * its recorded result, an unfinished one continues in its frame, and a different one ends the command with an unknown
 * outcome.
 */
import { hash } from "node:crypto";
import { checkArgs } from "#commands/args-schema.ts";
import type { NestedWork } from "#commands/execute.ts";
import { REPLY_FORMS } from "#core/agent-settings.ts";
import type { Observation } from "#core/call.ts";
import { fail, isEndless, TOO_DEEP } from "#core/command.ts";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { frameNestedIn, frameWorkingOn, MAX_FRAMES, MAX_NESTED } from "#core/frames.ts";
import type { CellCallError, NamespaceChange } from "#core/ports/sandbox.ts";
import { addSources, type OutsideSource, outsideOf } from "#core/provenance.ts";
import { type NestedResult, openCommand, stepOfCall } from "#core/state.ts";
import { oneLine, restoreValue } from "#core/text.ts";
import { argumentsForResult } from "#reply/check-value.ts";
import { canonicalJson } from "#util/json.ts";
import { bySeq, readPages } from "#util/read-pages.ts";
import type { CommandsFor } from "./command-set.ts";
import type { CheckOutgoing, Journal } from "./journal.ts";
import type { RunNested } from "./run-parts.ts";

/** The agent was paused, or waits for something that this host does not wait for. The command's call stays open. */
export const SUSPENDED = new Error("suspended");
/** A repeated run of a command asked for other nested work than its first run. */
export const DIVERGED = new Error("diverged");

interface NestedParts {
  readonly commandsFor: CommandsFor;
  readonly checkOutgoing?: CheckOutgoing;
}

type Kind = "call" | "run";
/** What makes two pieces of nested work the same. */
type Identity = Omit<NestedResult, "seq">;
type Json = Readonly<Record<string, unknown>>;
type RunHow = Partial<Parameters<NestedWork["run"]>[2]>;

/** Nested work whose results are in the log. */
export class RecordedNestedWork implements NestedWork {
  readonly #callId: string;
  readonly #journal: Journal;
  readonly #parts: NestedParts;
  readonly #runNested: RunNested;
  readonly #stop = new AbortController();
  /** Aborted with SUSPENDED, DIVERGED or the loop's own failure. */
  readonly signal = this.#stop.signal;
  #ordinal = 0;
  /** Calls of internal commands among them: a cell saves its files before each call and at its end. */
  #internal = 0;
  /** The last piece of work, if it began before this run of the command. */
  #lastEarlier: NestedResult | undefined;
  /** Sources of the outside words in the results of sub-tasks. */
  outside: readonly OutsideSource[] = [];
  #queue: Promise<unknown> = Promise.resolve();

  constructor(callId: string, journal: Journal, parts: NestedParts, runNested: RunNested) {
    this.#callId = callId;
    this.#journal = journal;
    this.#parts = parts;
    this.#runNested = runNested;
  }

  /** `received`: sources of the outside words that the command has received. */
  async call(name: string, args: Json, received: readonly OutsideSource[] = []): Promise<Observation> {
    const commands = this.#parts.commandsFor(this.#journal.state);
    const isInternal = commands.get(name)?.isInternal === true;
    const refused = this.#refusal("call", isInternal);
    if (refused) return fail(refused.code, refused.text);
    if (commands.get(name)?.closesTurn === true) return fail("not-nested", `${name} is only for the model.`);
    const problems = commands.checkArguments(name, args);
    if (problems.length > 0) return fail("bad-arguments", problems.join(" "));
    const place = this.#nextPlace();
    if (isInternal) this.#internal++;
    const call = { name, args };
    return this.#observationOf(
      await this.#inTurn("call", [name, args], async (of, frame) => {
        const [leaving] = (await this.#parts.checkOutgoing?.([call], this.#journal)) ?? [];
        const requested = { type: "command-requested", call, thought: "", repaired: false } as const;
        return [
          { type: "frame-pushed", kind: "call", frame, ...place, ...of, ...outsideOf(received) },
          { ...requested, frame, ...place, ...(leaving ? { leaving } : {}) },
        ];
      }),
    );
  }

  /** The error of a rejection has its reason in `subtaskProblem`. */
  async run(task: string, returns: Json, { form, received = [] }: RunHow = {}): Promise<unknown> {
    this.#lastEarlier = undefined;
    const refused = this.#refusal("run");
    if (refused) throw subtaskError(refused);
    checkSubtask(task, returns, form);
    const place = this.#nextPlace();
    const asked = form === undefined ? {} : { form };
    const event = await this.#inTurn("run", [task, returns, ...Object.values(asked)], async (of, frame) => [
      {
        type: "frame-pushed",
        kind: "run",
        frame,
        ...place,
        ...of,
        task,
        returns: sortKeys(returns),
        ...asked,
        ...outsideOf(received),
      },
    ]);
    if (event.type === "frame-popped") {
      const { code, text } = event.problem ?? { code: "no-result", text: "it ended early" };
      throw subtaskError({ code, text: `The sub-task has no result: ${text}` });
    }
    const { text, value, outside = [] } = await this.#observationOf(event);
    this.outside = addSources(this.outside, outside);
    return value === undefined ? JSON.parse(await this.#journal.read(text)) : value;
  }

  /**
   * Changes that cells inside the last piece of work made in the namespace, when it began before this run of the
   * command: in this run they did not run, or not all of them.
   */
  async changeOfLast(): Promise<NamespaceChange | undefined> {
    const last = this.#lastEarlier;
    if (last?.from === undefined) return undefined;
    const path = `${this.#callId}.${last.ordinal}`;
    return changesWithin({ path, after: last.from, last: last.seq }, this.#journal);
  }

  /** Throws SUSPENDED, or DIVERGED when an earlier run of the command asked for more than this one. */
  end(): void {
    this.#stop.signal.throwIfAborted();
    const isLeft = this.#results.some(({ ordinal }) => ordinal > this.#ordinal);
    if (isLeft || frameNestedIn(this.#journal.state, this.#callId)) this.#stopWith(DIVERGED);
  }

  get #results(): readonly NestedResult[] {
    return openCommand(this.#journal.state, this.#callId)?.results ?? [];
  }

  #nextPlace() {
    this.#ordinal++;
    const step = stepOfCall(this.#journal.state, this.#callId);
    return { step, callId: `${this.#callId}.${this.#ordinal}` };
  }

  /** One piece at a time, in the order in which the command asked. Resolves to the event with the result. */
  #inTurn(kind: Kind, what: readonly unknown[], push: DescribePush): Promise<RecordedEvent> {
    const of = { ordinal: this.#ordinal, hash: hash("sha256", JSON.stringify([kind, ...what])) };
    const done = this.#queue.then(() => this.#runPiece(of, push));
    this.#queue = done.catch(() => undefined);
    return done;
  }

  async #runPiece(of: Identity, push: DescribePush): Promise<RecordedEvent> {
    this.#stop.signal.throwIfAborted();
    const known = this.#results.find(({ ordinal }) => ordinal === of.ordinal);
    this.#lastEarlier = known;
    if (known) return isSame(known, of) ? this.#journal.eventAt(known.seq) : this.#stopWith(DIVERGED);
    const { state } = this.#journal;
    const pending = frameNestedIn(state, this.#callId)?.origin;
    if (pending && !isSame(pending, of)) this.#stopWith(DIVERGED);
    // The loop's own failure must end the command's call, and not look like a failure of the nested work.
    const entered = this.#runNested(pending ? [] : await push(of, state.framesPushed + 1));
    if (!(await entered.catch((error: unknown) => this.#stopWith(error)))) this.#stopWith(SUSPENDED);
    const result = this.#results.find(({ ordinal }) => ordinal === of.ordinal);
    if (pending) this.#lastEarlier = result;
    return result ? this.#journal.eventAt(result.seq) : this.#stopWith(SUSPENDED);
  }

  #stopWith(reason: unknown): never {
    this.#stop.abort(reason);
    throw reason;
  }

  /** Why no more work can be nested here. The same in every run of the command. */
  #refusal(kind: Kind, isInternal = false): CellCallError | undefined {
    const { state } = this.#journal;
    const own = frameWorkingOn(state, this.#callId);
    // The innermost sub-task may use commands too.
    const most = kind === "call" ? MAX_FRAMES + 1 : MAX_FRAMES;
    if (own && state.frames.indexOf(own) + 1 >= most)
      return { code: TOO_DEEP, text: `Nested work may be ${most - 1} levels deep. Do this part here instead.` };
    const made = isInternal ? this.#internal - 1 : this.#ordinal - this.#internal;
    const text = `A command may nest ${MAX_NESTED} calls and sub-tasks, and this one has done so.`;
    return made >= MAX_NESTED ? { code: "too-many", text } : undefined;
  }

  async #observationOf(event: RecordedEvent): Promise<Observation> {
    if (event.type === "command-finished") {
      const { text, value, ...observation } = event.observation;
      const whole = { ...observation, text: await this.#journal.read(text) };
      return value === undefined ? whole : { ...whole, value: await restoreValue(value, this.#journal.read) };
    }
    if (event.type !== "command-denied") return fail("no-result", "The nested call has no result.");
    const source = event.by === "person" ? "person" : "goald";
    return { status: "denied", text: event.reason, source, artifacts: [] };
  }
}

/** The store sorts keys. The prompt shows the schema, and must be the same before and after a restart. */
const sortKeys = (schema: Json): Json => JSON.parse(canonicalJson(schema));

type DescribePush = (of: Identity, frame: number) => Promise<readonly NewEvent[]>;

const isSame = (one: Identity, other: Identity): boolean => one.ordinal === other.ordinal && one.hash === other.hash;

/** A longer task belongs in a file: the prompt shows the task at every step. */
const MAX_TASK_CHARS = 10_000;
const MAX_SCHEMA_CHARS = 10_000;

/** Throws GOALD_SUBTASK for a task, a schema or a form that cannot be given to the model. */
function checkSubtask(task: string, returns: Readonly<Record<string, unknown>>, form: string | undefined): void {
  if (form !== undefined && !REPLY_FORMS.some((known) => known === form)) {
    const text = `Expected one of the forms ${REPLY_FORMS.join(", ")}, got ${JSON.stringify(oneLine(form, 40))}.`;
    throw subtaskError({ code: "bad-form", text });
  }
  if (task.trim() === "" || task.length > MAX_TASK_CHARS)
    throw subtaskError(
      { code: "bad-task", text: `Expected a task of 1 to ${MAX_TASK_CHARS} characters, got ${task.length}.` },
      "Write long material to a file, and name the file in the task.",
    );
  if (JSON.stringify(returns).length > MAX_SCHEMA_CHARS)
    throw badSchema(`The JSON Schema of a result may have ${MAX_SCHEMA_CHARS} characters.`);
  const args = argumentsForResult(returns);
  const [problem] = checkArgs(args);
  if (problem)
    throw badSchema(`The JSON Schema of the result is not valid: ${problem.replaceAll("args.properties.", "")}.`);
  if (isEndless(args)) throw badSchema("A reference in the JSON Schema of the result leads back to itself.");
}

const badSchema = (text: string): GoaldError => subtaskError({ code: "bad-schema", text });

const subtaskError = (problem: CellCallError, hint = ""): GoaldError =>
  new GoaldError("GOALD_SUBTASK", problem.text, { hint, cause: problem });

/** The error that code sees when its sub-task has no result; undefined for another error. Codes are those of frame-popped. */
export function subtaskProblem(thrown: unknown): CellCallError | undefined {
  if (!isGoaldError(thrown, "GOALD_SUBTASK")) return undefined;
  const { message, hint, cause } = thrown;
  const { code = "subtask" } = (cause ?? {}) as Partial<CellCallError>;
  return { code, text: hint === "" ? message : `${message} ${hint}` };
}

const PAGE_EVENTS = 500;

/** Cells inside nested work such as c7.2, in a part of the log: events with `after` < seq <= `last`. */
interface Searched {
  readonly path: string;
  readonly after: number;
  readonly last: number;
  /** A call whose own nested work does not count. */
  readonly except?: string;
}

/** The changes of all these cells, joined in order; undefined for none. */
async function changesWithin(searched: Searched, journal: Journal): Promise<NamespaceChange | undefined> {
  const { path, after, last, except } = searched;
  const changes: NamespaceChange[] = [];
  for await (const events of readPages(journal.eventsAfter, bySeq, { limit: PAGE_EVENTS, after })) {
    for (const event of events) {
      if (event.seq > last) break;
      if (event.type !== "namespace-saved" || !event.change) continue;
      const isInside = isWithin(event.callId, path) && !(except !== undefined && isWithin(event.callId, except));
      if (isInside) changes.push((await restoreValue(event.change, journal.read)) as NamespaceChange);
    }
    if ((events.at(-1)?.seq ?? last) >= last) break;
  }
  return changes.length === 0 ? undefined : joinChanges(changes);
}

/**
 * Returns what a cell inside unfinished nested work has to redo before its code, when the command around that work runs
 * again after a crash: changes of cells that ended before. A repeated cell gets recorded results of nested work, and so
 * the cells of that work do not run; their changes are in the log. Undefined for the next cells, and when there are
 * none.
 */
export async function changesToRedo(callId: string, journal: Journal): Promise<NamespaceChange | undefined> {
  const { frames } = journal.state;
  const { origin, path } = frames.findLast((frame) => frame.origin !== null && isWithin(callId, frame.path)) ?? {};
  if (!origin || path === undefined) return undefined;
  const startedAt = openCommand(journal.state, origin.callId)?.intent?.seq ?? 0;
  if (startedAt < origin.seq) return undefined;
  const cells = { path, except: callId };
  if (await changesWithin({ ...cells, after: startedAt, last: journal.head }, journal)) return undefined;
  return changesWithin({ ...cells, after: origin.seq, last: startedAt }, journal);
}

/** A call of a run, such as c7.2.c1 of c7.2, or deeper. */
const isWithin = (callId: string, path: string): boolean => callId.startsWith(`${path}.`);

/** A later definition of a name replaces an earlier one, and comes after it. */
function joinChanges(changes: readonly NamespaceChange[]): NamespaceChange {
  const definitions = new Map<string, string | null>();
  const values = new Map<string, string | null>();
  for (const change of changes) {
    for (const [name, source] of change.definitions) {
      definitions.delete(name);
      definitions.set(name, source);
    }
    for (const [name, value] of Object.entries(change.values)) values.set(name, value);
  }
  return { definitions: [...definitions], values: Object.fromEntries(values) };
}
