/**
 * javascript-engine.ts -- runs cells of JavaScript and TypeScript in QuickJS, in the process of a namespace.
 *
 * The namespace is the global object of one QuickJS context. Code reaches files by commands only.
 */
import { stripTypeScriptTypes } from "node:module";
import variant from "@jitl/quickjs-wasmfile-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core";
import { closeNetwork } from "#cage/close-network.ts";
import type { Cell, CellOutcome, CellProblem, SavedNamespace } from "#core/ports/sandbox.ts";
import { type Evaluated, JavascriptContext, RealmFailure } from "./javascript-context.ts";
import { findChange, JavascriptNamespace, type Saved } from "./javascript-namespace.ts";
import { CellOutput } from "./javascript-output.ts";
import { brokenOf, problemOf, timeoutOf, waitingOf } from "./javascript-problem.ts";
import type { RealmCell, RealmEnd, RealmError } from "./javascript-realm-port.ts";
import { type PreparedCode, prepareCode } from "./javascript-source.ts";
import {
  type Engine,
  type EngineHost,
  type GuestOptions,
  MAX_OUTPUT_CHARS,
  MAX_QUESTION_BYTES,
  type Question,
} from "./protocol.ts";

type GuestCell = Omit<Cell, "agent" | "saved">;
type Done = Extract<CellOutcome, { readonly kind: "done" }>;
type Ending =
  | Pick<Done, "kind" | "value">
  | { readonly kind: "failed"; readonly problem: CellProblem; isStop?: boolean };

const STACK_BYTES = 256 * 1024;
const CHECK_MS = 200;
/** QuickJS may use so much more while a namespace is saved, which code may have left without room. */
const SAVING_BYTES = 64 * 1024 * 1024;

export async function openEngine({ memoryMegabytes }: GuestOptions, host: EngineHost): Promise<Engine> {
  const quickjs = await newQuickJSWASMModuleFromVariant(variant as unknown as QuickJSSyncVariant);
  closeNetwork();
  const runtime = quickjs.newRuntime();
  runtime.setMaxStackSize(STACK_BYTES);
  return new JavascriptEngine(runtime, memoryMegabytes * 1024 * 1024, host);
}

class JavascriptEngine implements Engine {
  readonly #runtime: QuickJSRuntime;
  readonly #memoryBytes: number;
  readonly #host: EngineHost;
  readonly #context: JavascriptContext;
  readonly #namespace: JavascriptNamespace;
  /** One entry for each cell that runs, the outer ones first. */
  readonly #outputs: CellOutput[] = [];
  #lateAt = Infinity;
  isSpent = false;

  constructor(runtime: QuickJSRuntime, memoryBytes: number, host: EngineHost) {
    this.#runtime = runtime;
    this.#memoryBytes = memoryBytes;
    this.#host = host;
    runtime.setMemoryLimit(memoryBytes);
    const isLate = (): boolean => host.timeLeftMs() <= 0 || performance.now() > this.#lateAt;
    runtime.setInterruptHandler(isLate);
    this.#context = new JavascriptContext(runtime, {
      ask: (question) => this.#ask(question),
      print: (text) => this.#outputs.at(-1)?.write(text),
      isLate,
    });
    this.#namespace = new JavascriptNamespace(this.#context);
  }

  run(cell: GuestCell, saved: SavedNamespace | null | undefined): CellOutcome {
    const output = new CellOutput(MAX_OUTPUT_CHARS);
    const isNested = this.#outputs.length > 0;
    this.#outputs.push(output);
    try {
      const undefinedNames = [saved, cell.redo].flatMap((given) => (given ? this.#namespace.load(given) : []));
      const before = isNested ? this.#namespace.save("") : undefined;
      this.#host.startCode();
      const { ending, stop, isBroken } = this.#runCode(cell);
      const after = isBroken ? undefined : this.#save(cell.version);
      const lost = undefinedNames.map((name) => ({ name, reason: "its source could not be run again" }));
      const end = {
        ...output.read(),
        saved: after?.saved ?? null,
        lost: [...(after?.lost ?? []), ...lost],
        ...(before && after ? { change: findChange(before.saved, after.saved) } : {}),
        durationMs: 0,
      };
      return ending.kind === "done" ? { ...end, ...ending, stop } : { ...end, kind: "failed", problem: ending.problem };
    } catch (error) {
      this.isSpent = true;
      if (isNested) throw error;
      return { kind: "failed", problem: brokenOf(error), ...output.read(), saved: null, lost: [], durationMs: 0 };
    } finally {
      this.#outputs.pop();
    }
  }

  /** `isBroken`: code has changed what all code uses, so that nothing runs any more. */
  #runCode(cell: GuestCell): RealmEnd & { readonly ending: Ending; readonly isBroken: boolean } {
    this.#context.call("begin", JSON.stringify(describeCell(cell)));
    const ending = this.#evaluate(cell);
    this.#host.endCode();
    const isBroken = ending.kind === "failed" && ending.problem.kind === "timeout" && !this.#worksStill();
    this.isSpent ||= isBroken;
    if (isBroken) return { ending, stop: null, isBroken };
    const { stop } = JSON.parse(this.#context.call("end")) as RealmEnd;
    const isStopped = stop !== null && ending.kind === "failed" && ending.isStop === true;
    return { ending: isStopped ? { kind: "done", value: null } : ending, stop, isBroken };
  }

  #worksStill(): boolean {
    this.#lateAt = performance.now() + CHECK_MS;
    const ended = this.#context.run("({ a: [1] })", "check");
    const isDone = typeof ended === "object" && "value" in ended && this.#canDescribe(ended.value);
    if (typeof ended === "object" && "error" in ended) ended.error.dispose();
    this.#lateAt = Infinity;
    return isDone;
  }

  #canDescribe(value: QuickJSHandle): boolean {
    try {
      return this.#context.call("describeValue", value) !== "";
    } catch (error) {
      if (!(error instanceof RealmFailure)) throw error;
      return false;
    } finally {
      value.dispose();
    }
  }

  #evaluate(cell: GuestCell): Ending {
    const prepared = this.#prepare(cell);
    if ("problem" in prepared) return prepared;
    this.#namespace.addCode(prepared);
    const ended = this.#context.run(prepared.code, cell.name);
    if (ended === "waiting") return { kind: "failed", problem: waitingOf() };
    if (ended === "late") {
      // What is left to run would take the time of the next cell.
      this.isSpent = true;
      return { kind: "failed", problem: timeoutOf("", cell) };
    }
    return this.#describe(ended, cell);
  }

  /** Removes types only from code that is not JavaScript without it. */
  #prepare(cell: GuestCell): PreparedCode | Extract<Ending, { readonly kind: "failed" }> {
    const prepared = prepareCode(cell.code);
    const error = this.#context.compile(prepared.code, cell.name);
    if (!error) return prepared;
    const stripped = stripTypes(cell.code);
    const typed = stripped === undefined ? undefined : prepareCode(stripped);
    const typedError = typed && this.#context.compile(typed.code, cell.name);
    if (typed && !typedError) {
      error.dispose();
      return typed;
    }
    typedError?.dispose();
    return this.#describe({ error }, cell) as Extract<Ending, { readonly kind: "failed" }>;
  }

  /** Within the time of the code, because reading a value may run code. Disposes the handle. */
  #describe(ended: Evaluated, cell: GuestCell): Ending {
    const handle: QuickJSHandle = "error" in ended ? ended.error : ended.value;
    try {
      if ("value" in ended) return { kind: "done", value: JSON.parse(this.#context.call("describeValue", handle)) };
      if (this.#host.timeLeftMs() <= 0) return this.#describeTimeout(handle, cell);
      const { isStop, ...error } = JSON.parse(this.#context.call("describeError", handle)) as RealmError;
      const problem = problemOf(error, cell);
      if (problem.kind === "memory") this.isSpent = true;
      return { kind: "failed", problem, isStop };
    } catch (error) {
      if (!(error instanceof RealmFailure)) throw error;
      if (this.#host.timeLeftMs() <= 0) return { kind: "failed", problem: timeoutOf("", cell) };
      const unreadable = { type: "Error", message: "What the code returned or threw cannot be read.", stack: "" };
      return { kind: "failed", problem: problemOf(unreadable, cell) };
    } finally {
      handle.dispose();
    }
  }

  #describeTimeout(error: QuickJSHandle, cell: GuestCell): Ending {
    this.#host.endCode();
    const stack = this.#context.readText(error, "stack");
    return { kind: "failed", problem: timeoutOf(stack, cell) };
  }

  #save(version: string): Saved | undefined {
    this.#runtime.setMemoryLimit(this.#memoryBytes + SAVING_BYTES);
    try {
      return this.#namespace.save(version);
    } catch (error) {
      if (!(error instanceof RealmFailure)) throw error;
      this.isSpent = true;
      return undefined;
    } finally {
      this.#runtime.setMemoryLimit(this.#memoryBytes);
    }
  }

  #ask(json: string): string {
    if (Buffer.byteLength(json) > MAX_QUESTION_BYTES - 1_024)
      return JSON.stringify({ value: null, error: { code: "too-large", text: "The arguments are too large." } });
    const { reply } = this.#host.ask(JSON.parse(json) as Question);
    if (reply.change) this.#namespace.load(reply.change);
    return JSON.stringify("error" in reply ? { value: null, error: reply.error } : { value: reply.value, error: null });
  }
}

function describeCell({ seed, startedAt, functions, location, hasStop }: GuestCell): RealmCell {
  return {
    seed,
    startedAt: Date.parse(startedAt),
    functions: functions.map(({ name, parameters }) => ({ name, parameters: parameters.map((one) => one.name) })),
    ...(location === undefined ? {} : { location }),
    hasStop: hasStop === true,
  };
}

function stripTypes(code: string): string | undefined {
  try {
    return stripTypeScriptTypes(code);
  } catch {
    return undefined;
  }
}
