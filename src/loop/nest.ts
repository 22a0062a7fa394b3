/**
 * nest.ts -- the nested work of one running command: calls of other commands, and sub-tasks that the model works on.
 *
 * Each piece is known by its position and hash. When the command runs again after a crash, an ended piece returns its recorded
 * result, an unfinished one continues in its frame, and a different one ends the command with an unknown outcome.
 */
import { createHash } from "node:crypto";
import type { NestedWork } from "#commands/execute.ts";
import type { Observation } from "#core/call.ts";
import { fail } from "#core/command.ts";
import { TOO_DEEP } from "#core/command-names.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { frameAt, MAX_FRAMES, MAX_NESTED, pendingFrame } from "#core/frames.ts";
import type { CellCallError, NamespaceChange } from "#core/ports/sandbox.ts";
import { addSources, type OutsideSource, outsideOf } from "#core/provenance.ts";
import { type NestedResult, openCommand, stepOfCall } from "#core/state.ts";
import { canonicalJson } from "#util/json.ts";
import type { CommandsFor } from "./command-set.ts";
import type { DescribeLeaving } from "./describe-leaving.ts";
import type { Journal } from "./journal.ts";
import { changesWithin } from "./redo-changes.ts";
import { restoreValue } from "./stored-values.ts";
import { checkSubtask, subtaskError } from "./subtask.ts";
import type { Enter } from "./work.ts";

/** The agent was paused, or waits for something that this host does not wait for. The command's call stays open. */
export class Suspended extends Error {
  override readonly name = "Suspended";
}

/** A repeated run of a command asked for other nested work than its first run. */
export class Diverged extends Error {
  override readonly name = "Diverged";
}

interface NestParts {
  readonly commandsFor: CommandsFor;
  readonly describeLeaving?: DescribeLeaving;
}

type Kind = "call" | "run";
/** What makes two pieces of nested work the same. */
type Identity = Omit<NestedResult, "seq">;
type Json = Readonly<Record<string, unknown>>;
type RunHow = Partial<Parameters<NestedWork["run"]>[2]>;

export class Nest {
  readonly #callId: string;
  readonly #journal: Journal;
  readonly #commandsFor: CommandsFor;
  readonly #enter: Enter;
  readonly #describeLeaving: DescribeLeaving | undefined;
  readonly #stop = new AbortController();
  #ordinal = 0;
  /** Calls of internal commands among them: a cell saves its files before each call and at its end. */
  #internal = 0;
  /** The last piece of work, if it began before this run of the command. */
  #lastEarlier: NestedResult | undefined;
  #outside: readonly OutsideSource[] = [];
  #queue: Promise<unknown> = Promise.resolve();

  constructor(callId: string, journal: Journal, { commandsFor, describeLeaving }: NestParts, enter: Enter) {
    this.#callId = callId;
    this.#journal = journal;
    this.#commandsFor = commandsFor;
    this.#enter = enter;
    this.#describeLeaving = describeLeaving;
  }

  /** Aborted with `Suspended`, `Diverged` or the loop's own failure. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Sources of the outside words in the results of sub-tasks. */
  get outside(): readonly OutsideSource[] {
    return this.#outside;
  }

  /** `received`: sources of the outside words that the command has received. */
  async call(name: string, args: Json, received: readonly OutsideSource[] = []): Promise<Observation> {
    const commands = this.#commandsFor(this.#journal.state);
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
        const [leaving] = (await this.#describeLeaving?.([call], this.#journal)) ?? [];
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
    const told = form === undefined ? {} : { form };
    const event = await this.#inTurn("run", [task, returns, ...Object.values(told)], async (of, frame) => [
      {
        type: "frame-pushed",
        kind: "run",
        frame,
        ...place,
        ...of,
        task,
        returns: sortKeys(returns),
        ...told,
        ...outsideOf(received),
      },
    ]);
    if (event.type === "frame-popped") {
      const { code, text } = event.problem ?? { code: "no-result", text: "it ended early" };
      throw subtaskError({ code, text: `The sub-task has no result: ${text}` });
    }
    const { text, value, outside = [] } = await this.#observationOf(event);
    this.#outside = addSources(this.#outside, outside);
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

  /** Throws `Suspended`, or `Diverged` when an earlier run of the command asked for more than this one. */
  end(): void {
    this.#stop.signal.throwIfAborted();
    const isLeft = this.#results.some(({ ordinal }) => ordinal > this.#ordinal);
    if (isLeft || pendingFrame(this.#journal.state, this.#callId)) this.#stopWith(new Diverged());
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
  #inTurn(kind: Kind, what: readonly unknown[], push: PushOf): Promise<RecordedEvent> {
    const hash = createHash("sha256")
      .update(JSON.stringify([kind, ...what]))
      .digest("hex");
    const of = { ordinal: this.#ordinal, hash };
    const done = this.#queue.then(() => this.#runPiece(of, push));
    this.#queue = done.catch(() => undefined);
    return done;
  }

  async #runPiece(of: Identity, push: PushOf): Promise<RecordedEvent> {
    this.#stop.signal.throwIfAborted();
    const known = this.#results.find(({ ordinal }) => ordinal === of.ordinal);
    this.#lastEarlier = known;
    if (known) return isSame(known, of) ? this.#journal.eventAt(known.seq) : this.#stopWith(new Diverged());
    const { state } = this.#journal;
    const pending = pendingFrame(state, this.#callId)?.origin;
    if (pending && !isSame(pending, of)) this.#stopWith(new Diverged());
    // The loop's own failure must end the command's call, and not look like a failure of the nested work.
    const entered = this.#enter(pending ? [] : await push(of, state.framesPushed + 1));
    if (!(await entered.catch((error: unknown) => this.#stopWith(error)))) this.#stopWith(new Suspended());
    const result = this.#results.find(({ ordinal }) => ordinal === of.ordinal);
    if (pending) this.#lastEarlier = result;
    return result ? this.#journal.eventAt(result.seq) : this.#stopWith(new Suspended());
  }

  #stopWith(reason: unknown): never {
    this.#stop.abort(reason);
    throw reason;
  }

  /** Why no more work can be nested here. The same in every run of the command. */
  #refusal(kind: Kind, isInternal = false): CellCallError | undefined {
    const { state } = this.#journal;
    const own = frameAt(state, this.#callId);
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

type PushOf = (of: Identity, frame: number) => Promise<readonly NewEvent[]>;

const isSame = (one: Identity, other: Identity): boolean => one.ordinal === other.ordinal && one.hash === other.hash;
