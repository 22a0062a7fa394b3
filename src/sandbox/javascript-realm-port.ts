/** javascript-realm-port.ts -- what the process of a namespace and the realm in its QuickJS give each other. */

/** Functions of the process. Questions and replies are JSON. */
export type Ask = (question: string) => string;
export type Print = (text: string) => void;
/** Milliseconds since 1970. */
export type Now = () => number;

/** The functions of the realm that the process may call. All texts are JSON. */
export interface Realm {
  /** Begins a cell, maybe inside another one. Takes a RealmCell. */
  begin(cell: string): void;
  /** Ends the innermost cell. Returns a RealmEnd. */
  end(): string;
  /** Returns the value of an outcome. */
  describeValue(value: unknown): string;
  /** Returns a RealmError. */
  describeError(error: unknown): string;
  /** Returns a RealmSave. */
  save(): string;
  /** Takes values by name as `save` returns them; null removes a name. */
  load(values: string): void;
}
export interface RealmCell {
  readonly seed: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly functions: readonly { readonly name: string; readonly parameters: readonly string[] }[];
  /** Null: unknown. */
  readonly location?: unknown;
  readonly hasStop: boolean;
}
export interface RealmEnd {
  readonly stop: { readonly value?: unknown } | null;
}
export interface RealmError {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly isStop: boolean;
  readonly command?: { readonly code: string; readonly text: string };
}
export interface RealmSave {
  readonly values: Readonly<Record<string, string>>;
  /** Source of each function and class. */
  readonly functions: Readonly<Record<string, string>>;
  readonly lost: readonly { readonly name: string; readonly reason: string }[];
}
/** Longest text and longest JSON of a value, in characters. */
export interface RealmLimits {
  readonly text: number;
  readonly json: number;
}
