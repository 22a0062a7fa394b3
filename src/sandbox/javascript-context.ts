/** javascript-context.ts -- one QuickJS context: evaluates code in it, and calls its realm (javascript-realm.ts). */
import type { QuickJSContext, QuickJSHandle, QuickJSRuntime } from "quickjs-emscripten-core";
import { REALM_SOURCE } from "./javascript-realm.ts";
import type { Realm } from "./javascript-realm-port.ts";
import { MAX_VALUE_CHARS, MAX_VALUE_JSON_CHARS } from "./protocol.ts";

export interface ContextHost {
  ask(question: string): string;
  print(text: string): void;
  /** True when the time of the code is over. */
  isLate(): boolean;
}
/** `error` or `value` is a handle that the caller disposes. */
/** A function of the realm failed, such as at the limit of time. Any other error is one of QuickJS itself. */
export class RealmFailure extends Error {}
export type Evaluated = { readonly error: QuickJSHandle } | { readonly value: QuickJSHandle };

/** QuickJS's flag for top-level `await` in a script, whose result is then a promise of `{value}`. */
const ASYNC = 1 << 7;
const COMPILE_ONLY = 1 << 5;
const JOBS_AT_ONCE = 100;

export class JavascriptContext {
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #host: ContextHost;
  readonly #realm: QuickJSHandle;

  constructor(runtime: QuickJSRuntime, host: ContextHost) {
    this.#runtime = runtime;
    this.#host = host;
    this.#context = runtime.newContext();
    this.#realm = this.#openRealm();
  }

  /** Calls a function of the realm. Throws a RealmFailure. */
  call(name: keyof Realm, argument?: string | QuickJSHandle): string {
    const context = this.#context;
    const method = context.getProp(this.#realm, name);
    const given = typeof argument === "string" ? context.newString(argument) : argument;
    const result = context.callFunction(method, this.#realm, ...(given ? [given] : []));
    method.dispose();
    if (typeof argument === "string") given?.dispose();
    const handle = result.error ?? result.value;
    const text = context.typeof(handle) === "string" ? context.getString(handle) : "";
    handle.dispose();
    if (result.error) throw new RealmFailure();
    return text;
  }

  /** Returns the error of code that is not well-formed. */
  compile(code: string, name: string): QuickJSHandle | undefined {
    const result = this.#context.evalCode(code, name, ASYNC | COMPILE_ONLY);
    if (result.error) return result.error;
    result.value.dispose();
    return undefined;
  }

  /** Runs code that may wait for promises, and everything that it leaves to run later. */
  run(code: string, name: string): Evaluated | "late" | "waiting" {
    const result = this.#context.evalCode(code, name, ASYNC);
    if (result.error) return result;
    if (!this.#runJobs()) return "late";
    const ended = this.#settle(result.value);
    if (ended === "waiting" || "error" in ended) return ended;
    const value = this.#context.getProp(ended.value, "value");
    ended.value.dispose();
    if (this.#host.isLate()) {
      value.dispose();
      return "late";
    }
    const inner = this.#settle(value);
    return inner === "waiting" ? { value } : inner;
  }

  /** Runs code that does not wait. Returns whether it succeeded. */
  define(code: string): boolean {
    const result = this.#context.evalCode(code, "namespace", 0);
    (result.error ?? result.value).dispose();
    return result.error === undefined;
  }

  readText(of: QuickJSHandle, name: string): string {
    const handle = this.#context.getProp(of, name);
    const text = this.#context.typeof(handle) === "string" ? this.#context.getString(handle) : "";
    handle.dispose();
    return text;
  }

  get hasJobs(): boolean {
    return this.#runtime.hasPendingJob();
  }

  /** Returns false when the time is over before all have run. */
  #runJobs(): boolean {
    while (this.#runtime.hasPendingJob()) {
      if (this.#host.isLate()) return false;
      const result = this.#runtime.executePendingJobs(JOBS_AT_ONCE);
      result.error?.dispose();
    }
    return true;
  }

  /** The result of a promise; any other value as it is. */
  #settle(handle: QuickJSHandle): Evaluated | "waiting" {
    const state = this.#context.getPromiseState(handle);
    if (state.type === "pending") return "waiting";
    if (state.type === "fulfilled" && state.notAPromise) return { value: handle };
    handle.dispose();
    return state.type === "fulfilled" ? { value: state.value } : { error: state.error };
  }

  #openRealm(): QuickJSHandle {
    const context = this.#context;
    const open = context.unwrapResult(context.evalCode(REALM_SOURCE, "realm", 0));
    const limits = context.unwrapResult(
      context.evalCode(`({ text: ${MAX_VALUE_CHARS}, json: ${MAX_VALUE_JSON_CHARS} })`, "limits", 0),
    );
    const given = [
      context.newFunction("ask", (question) => context.newString(this.#host.ask(context.getString(question)))),
      context.newFunction("print", (text) => this.#host.print(context.getString(text))),
      context.newFunction("now", () => context.newNumber(Date.now())),
      limits,
    ];
    const realm = context.unwrapResult(context.callFunction(open, context.undefined, ...given));
    for (const handle of [open, ...given]) handle.dispose();
    return realm;
  }
}
