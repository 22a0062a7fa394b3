/**
 * group-commit.ts -- runs many writes in one transaction, with one wait for the disk. Each write is atomic.
 *
 * Each write has a savepoint, so one that throws is rolled back alone. On a full disk SQLite may roll back the whole
 * transaction: then the write that failed is left out and the others run again. When BEGIN or COMMIT fails, every
 * write of the group fails.
 */
import type { DatabaseSync } from "node:sqlite";
import type { GoaldError } from "#core/errors.ts";
import { storeError } from "../failure.ts";
import { prepare } from "../sql.ts";
import type { Anchor } from "./anchor.ts";

export type WriteOutcome = { readonly value: unknown } | { readonly error: GoaldError };

/** Records the transaction when it is on the disk. */
export type GroupAnchor = Pick<Anchor, "mark" | "count" | "publish">;

/** Returns when all successful writes are on the disk. Outcomes are in the order of the writes. */
export type RunGroup = (writes: readonly (() => unknown)[]) => readonly WriteOutcome[];

export function openGroups(database: DatabaseSync, path: string, anchor: GroupAnchor): RunGroup {
  const statement = (sql: string) => prepare(database, sql);
  const begin = statement("BEGIN IMMEDIATE");
  const commit = statement("COMMIT");
  const save = statement("SAVEPOINT one");
  const release = statement("RELEASE one");
  const undo = statement("ROLLBACK TO one");

  return (writes) => {
    const outcomes = new Map<number, WriteOutcome>();
    const fail = (place: number, thrown: unknown) => outcomes.set(place, { error: storeError(thrown, path) });
    let left = [...writes.keys()];
    while (left.length > 0) {
      const culprit = attempt(left);
      left = culprit === undefined ? [] : left.filter((place) => place !== culprit);
    }
    return writes.map((_, place) => outcomes.get(place) as WriteOutcome);

    /** Returns the write at which SQLite rolled back the transaction: all others must run again. */
    function attempt(places: readonly number[]): number | undefined {
      const forgetAll = anchor.mark();
      let written = 0;
      try {
        begin.run();
        for (const place of places) {
          const forget = anchor.mark();
          try {
            save.run();
            outcomes.set(place, { value: writes[place]?.() });
            release.run();
            written++;
          } catch (thrown) {
            forget();
            fail(place, thrown);
            if (!database.isTransaction) {
              forgetAll();
              return place;
            }
            undo.run();
            release.run();
          }
        }
        if (written > 0) anchor.count();
        commit.run();
        if (written > 0) anchor.publish();
      } catch (thrown) {
        forgetAll();
        if (database.isTransaction) database.exec("ROLLBACK");
        for (const place of places) fail(place, thrown);
      }
      return undefined;
    }
  };
}
