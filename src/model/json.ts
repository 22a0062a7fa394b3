/** json.ts -- what a server sent, told apart before anything of it is believed. */

export type Json = Readonly<Record<string, unknown>>;

/** An object of JSON: no list, and not null. */
export const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
