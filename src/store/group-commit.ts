/**
 * group-commit.ts -- many writes in one transaction, and so one wait for the disk; each of them still all or nothing.
 *
 * Each write is a savepoint: one that throws is undone alone. When the disk takes no more in the middle, SQLite may
 * undo the whole transaction by itself: then the one that it happened to is out, and the others are made anew.
 * When the transaction cannot begin or end, all of the group have failed.
 */
import type { DatabaseSync } from "node:sqlite";
import type { GoaldError } from "#core/errors.ts";
import { prepare } from "./connection.ts";
import { storeError } from "./failure.ts";

export type Outcome = { readonly value: unknown } | { readonly error: GoaldError };

/** Returns when all that succeeded is on the disk. Outcomes are in the order of the writes. */
export type RunGroup = (writes: readonly (() => unknown)[]) => readonly Outcome[];

export function openGroups(database: DatabaseSync, path: string): RunGroup {
  const statement = (sql: string) => prepare(database, sql);
  const begin = statement("BEGIN IMMEDIATE");
  const commit = statement("COMMIT");
  const save = statement("SAVEPOINT one");
  const release = statement("RELEASE one");
  const undo = statement("ROLLBACK TO one");

  return (writes) => {
    const outcomes = new Map<number, Outcome>();
    const fail = (place: number, thrown: unknown) => outcomes.set(place, { error: storeError(thrown, path) });
    let left = [...writes.keys()];
    while (left.length > 0) {
      const culprit = attempt(left);
      left = culprit === undefined ? [] : left.filter((place) => place !== culprit);
    }
    return writes.map((_, place) => outcomes.get(place) as Outcome);

    /** The write at which SQLite undid everything: all others of this attempt are to be made anew. */
    function attempt(places: readonly number[]): number | undefined {
      try {
        begin.run();
        for (const place of places) {
          try {
            save.run();
            outcomes.set(place, { value: writes[place]?.() });
            release.run();
          } catch (thrown) {
            fail(place, thrown);
            if (!database.isTransaction) return place;
            undo.run();
            release.run();
          }
        }
        commit.run();
      } catch (thrown) {
        if (database.isTransaction) database.exec("ROLLBACK");
        for (const place of places) fail(place, thrown);
      }
      return undefined;
    }
  };
}
