/**
 * javascript-realm.ts -- what code sees in QuickJS: console, commands, the agent, its clock and random numbers.
 *
 * All functions run inside QuickJS, by their source text: they may use nothing but each other, those of javascript-values.ts,
 * their parameters, and what QuickJS has.
 */

import type { Ask, Now, Print, Realm, RealmCell, RealmError, RealmLimits, RealmSave } from "./javascript-realm-port.ts";
import {
  captureIntrinsics,
  decodeValue,
  encodeValue,
  jsonOf,
  schemaOf,
  showValue,
  type Unkept,
  VALUES_SOURCE,
} from "./javascript-values.ts";

/** A cell that runs. */
interface Running {
  /** State of the random numbers. */
  random: number;
  /** Difference to the clock of the process. */
  readonly offsetMs: number;
  stop: { value?: unknown } | null;
}
/** Both members are there, because code may have changed the prototype of objects. */
interface Reply {
  readonly value: unknown;
  readonly error: { readonly code: string; readonly text: string } | null;
}
type AskHost = (question: unknown) => unknown;
const intrinsics = captureIntrinsics();
const CommandFailure = makeCommandError();

function makeCommandError() {
  return class CommandError extends Error {
    override readonly name = "CommandError";
    readonly code: string;
    readonly text: string;
    constructor(code: string, text: string) {
      super(text);
      this.code = code;
      this.text = text;
    }
  };
}

function openRealm(ask: Ask, print: Print, now: Now, limits: RealmLimits): Realm {
  const cells: Running[] = [];
  const { parse, stringify } = intrinsics;
  const stopSignal = new Error("stop() ends the work.");
  const askHost: AskHost = (question) => {
    const reply = parse(ask(stringify(question))) as Reply;
    if (reply.error !== null) throw new CommandFailure(reply.error.code, reply.error.text);
    return reply.value;
  };
  defineGlobals(cells, print, now, limits.text);
  defineAgent(askHost);
  const builtIn = new Map(intrinsics.namesOf(globalThis).map((name) => [name, Reflect.get(globalThis, name)]));
  const isOwn = (name: string): boolean =>
    !builtIn.has(name) || !Object.is(intrinsics.describe(globalThis, name)?.value, builtIn.get(name));
  const known = new Map<string, string>();
  const install = (name: string, value: unknown): void => {
    if (name in globalThis && isOwn(name)) return;
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
    builtIn.set(name, value);
  };
  return {
    begin(json) {
      const cell = parse(json) as RealmCell;
      cells.push({ random: cell.seed, offsetMs: cell.startedAt - now(), stop: null });
      for (const one of cell.functions) {
        // Most functions are the same in every cell, and there may be thousands.
        const key = one.parameters.join();
        if (known.get(one.name) !== key) install(one.name, makeFunction(one, askHost));
        known.set(one.name, key);
      }
      if ("location" in cell) install("get_user_location", () => giveLocation(cell.location));
      if (cell.hasStop)
        install("stop", (...given: unknown[]) => {
          const value = given.length > 0 ? jsonOf(given[0], limits.json) : undefined;
          const cell = cells.at(-1);
          if (cell) cell.stop = value === undefined ? {} : { value: parse(value) };
          throw stopSignal;
        });
    },
    end: () => stringify({ stop: cells.pop()?.stop ?? null }),
    describeValue(value) {
      if (value === undefined || value === null) return "null";
      const json = jsonOf(value, limits.json);
      return stringify({ text: showValue(value, limits.text), ...(json === undefined ? {} : { json: parse(json) }) });
    },
    describeError: (error) => stringify({ ...describeThrown(error), isStop: error === stopSignal }),
    save: () => stringify(saveGlobals(isOwn)),
    load(json) {
      const values = parse(json) as Readonly<Record<string, string | null>>;
      for (const name of intrinsics.keysOf(values)) {
        const value = values[name];
        if (typeof value === "string") Reflect.set(globalThis, name, decodeValue(parse(value)));
        else Reflect.deleteProperty(globalThis, name);
      }
    },
  };
}

/** The console, the clock and the random numbers of the innermost cell. */
function defineGlobals(cells: readonly Running[], print: Print, now: Now, limit: number): void {
  const log = (...given: readonly unknown[]): void =>
    print(`${given.map((value) => showValue(value, limit)).join(" ")}\n`);
  const RealDate = Date;
  const cellTime = (): number => Math.floor(now() + (cells.at(-1)?.offsetMs ?? 0));
  function CellDate(this: unknown, ...given: unknown[]): unknown {
    if (!new.target) return new RealDate(cellTime()).toString();
    return Reflect.construct(RealDate, given.length > 0 ? given : [cellTime()], new.target);
  }
  CellDate.prototype = RealDate.prototype;
  Object.assign(CellDate, { now: cellTime, parse: RealDate.parse, UTC: RealDate.UTC });
  Object.defineProperty(CellDate, "name", { value: "Date" });
  Object.defineProperty(RealDate.prototype, "constructor", { value: CellDate, writable: true, configurable: true });
  Object.assign(globalThis, { Date: CellDate, CommandError: CommandFailure });
  Object.assign(globalThis, { console: { log, info: log, warn: log, error: log, debug: log } });
  /** mulberry32. */
  Math.random = () => {
    const cell = cells.at(-1);
    if (!cell) return 0;
    cell.random = (cell.random + 0x6d2b79f5) | 0;
    let mixed = Math.imul(cell.random ^ (cell.random >>> 15), 1 | cell.random);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function defineAgent(askHost: AskHost): void {
  const run = (task: unknown, options?: unknown): unknown => {
    const given = Object(options) as { readonly returnType?: unknown; readonly form?: unknown };
    const hasOptions = typeof options === "object" && ("returnType" in given || "form" in given);
    const returns = schemaOf(hasOptions ? given.returnType : options);
    const form = hasOptions && typeof given.form === "string" ? given.form : null;
    return askHost({ type: "ask", what: "run", task: String(task), returns, form });
  };
  Object.assign(globalThis, { agent: Object.freeze({ run }) });
}

/** A command as a function: arguments by position, or one object of named arguments. */
function makeFunction({ name, parameters }: RealmCell["functions"][number], askHost: AskHost): unknown {
  const isNamed = (given: unknown): given is object => {
    if (typeof given !== "object" || given === null || intrinsics.isArray(given)) return false;
    return intrinsics.keysOf(given).every((key) => parameters.includes(key));
  };
  const command = (...given: unknown[]): unknown => {
    const [first] = given;
    if (given.length > parameters.length)
      throw new TypeError(`${name} takes at most ${parameters.length} arguments, not ${given.length}`);
    const byPosition = (): object => Object.fromEntries(given.map((value, index) => [parameters[index], value]));
    const args = given.length === 1 && isNamed(first) ? first : byPosition();
    return askHost({ type: "ask", what: "call", name, args });
  };
  Object.defineProperty(command, "name", { value: name });
  return command;
}

function giveLocation(location: unknown): unknown {
  if (location === null) throw new Error("Nobody has set the location of the user.");
  return decodeValue(location);
}

function describeThrown(error: unknown): Omit<RealmError, "isStop"> {
  if (!Error.isError(error)) return { type: "Error", message: `The code threw ${showValue(error, 1_000)}`, stack: "" };
  const { name, message, stack } = error;
  const command = error instanceof CommandFailure ? { command: { code: `${error.code}`, text: `${error.text}` } } : {};
  return { type: `${name}`, message: `${message}`, stack: `${stack ?? ""}`, ...command };
}

function saveGlobals(isOwn: (name: string) => boolean): RealmSave {
  const values: Record<string, string> = {};
  const functions: Record<string, string> = {};
  const lost: { name: string; reason: string }[] = [];
  for (const name of intrinsics.namesOf(globalThis).filter(isOwn)) {
    try {
      const described = intrinsics.describe(globalThis, name) ?? {};
      if (!("value" in described)) lost.push({ name, reason: "a computed property cannot be kept" });
      else if (typeof described.value === "function") functions[name] = intrinsics.sourceOf(described.value);
      else values[name] = intrinsics.stringify(encodeValue(described.value));
    } catch (error) {
      const { unkept } = Object(error) as Partial<Unkept>;
      lost.push({ name, reason: typeof unkept === "string" ? unkept : "it cannot be read" });
    }
  }
  return { values, functions, lost };
}

/** Evaluates to `openRealm`. */
export const REALM_SOURCE = `(() => {
${VALUES_SOURCE}
const CommandFailure = makeCommandError();
${[
  makeCommandError,
  openRealm,
  defineGlobals,
  defineAgent,
  makeFunction,
  giveLocation,
  describeThrown,
  saveGlobals,
].join("\n")}
return openRealm;
})()`;
