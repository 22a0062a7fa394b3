/**
 * columns.ts -- the state of an index as named columns: arrays of numbers, single numbers and lists of words. Each part
 * of an index has one method, `exchange(columns)`, which names its state once for both directions: with collected
 * columns it leaves the state as it is, with restored ones it takes the saved state. What is not named can be derived,
 * or is empty between two calls.
 */
import { GoaldError } from "#core/errors.ts";

export const ARRAYS = { Int8Array, Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array } as const;
export type ArrayName = keyof typeof ARRAYS;
export type NumberArray = InstanceType<(typeof ARRAYS)[ArrayName]>;

export interface Columns {
  /** Returns the array to use from now on. */
  array<T extends NumberArray>(name: string, current: T): T;
  /** Replaces each array by the one to use from now on. */
  arrays(current: Record<string, NumberArray>): void;
  number(name: string, current: number): number;
  words(name: string, current: readonly string[]): readonly string[];
  /** Replaces the content of the set. */
  set(name: string, current: Set<number>): void;
  /** Columns whose names begin with this one. */
  part(name: string): Columns;
}

export interface NamedArray {
  readonly name: string;
  readonly array: NumberArray;
}
export type ColumnValues = Readonly<Record<string, number | readonly string[]>>;

/** The state of an index. The arrays are its own, not copies. */
export interface IndexState {
  readonly arrays: readonly NamedArray[];
  readonly values: ColumnValues;
}

export const typeOf = (array: NumberArray): ArrayName => array.constructor.name as ArrayName;

interface Exchanging {
  exchange(columns: Columns): void;
}

export function collectState(index: Exchanging): IndexState {
  const arrays: NamedArray[] = [];
  const values: Record<string, number | readonly string[]> = {};
  const columnsOf = (prefix: string): Columns => ({
    array(name, current) {
      arrays.push({ name: prefix + name, array: current });
      return current;
    },
    arrays(current) {
      for (const [name, array] of Object.entries(current)) arrays.push({ name: prefix + name, array });
    },
    number(name, current) {
      values[prefix + name] = current;
      return current;
    },
    words(name, current) {
      values[prefix + name] = [...current];
      return current;
    },
    set: (name, current) => void arrays.push({ name: prefix + name, array: Uint32Array.from(current) }),
    part: (name) => columnsOf(`${prefix}${name}.`),
  });
  index.exchange(columnsOf(""));
  return { arrays, values };
}

/** Throws when the state has other columns than the index; the index is then unusable. */
export function restoreState(index: Exchanging, { arrays, values }: IndexState): void {
  const byName = new Map(arrays.map(({ name, array }) => [name, array]));
  function arrayOf<T extends NumberArray>(name: string, current: T): T {
    const saved = byName.get(name);
    if (saved?.constructor !== current.constructor) throw missingColumn(name);
    return saved as T;
  }
  const columnsOf = (prefix: string): Columns => ({
    array: (name, current) => arrayOf(prefix + name, current),
    arrays(current) {
      for (const [name, array] of Object.entries(current)) current[name] = arrayOf(prefix + name, array);
    },
    number(name) {
      const saved = values[prefix + name];
      if (typeof saved !== "number") throw missingColumn(prefix + name);
      return saved;
    },
    words(name) {
      const saved = values[prefix + name];
      if (!Array.isArray(saved)) throw missingColumn(prefix + name);
      return saved as readonly string[];
    },
    set(name, current) {
      current.clear();
      for (const member of arrayOf(prefix + name, new Uint32Array())) current.add(member);
    },
    part: (name) => columnsOf(`${prefix}${name}.`),
  });
  index.exchange(columnsOf(""));
}

const missingColumn = (name: string): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `Expected a saved column ${name} of the index, found none of its type.`);
