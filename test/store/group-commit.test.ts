import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type GroupAnchor, openGroups, type RunGroup } from "#store/group-commit.ts";

const NO_ANCHOR: GroupAnchor = { mark: () => () => undefined, count: () => undefined, publish: () => undefined };

describe("a group of writes", () => {
  let database: DatabaseSync;
  let run: RunGroup;
  beforeEach(() => {
    database = new DatabaseSync(":memory:");
    database.exec(`CREATE TABLE parent (no INTEGER PRIMARY KEY);
      CREATE TABLE row (no INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`);
    run = openGroups(database, "x.db", NO_ANCHOR);
  });
  afterEach(() => database.close());

  const insert = (no: number, how = "INSERT", parent: number | null = null) =>
    database.prepare(`${how} INTO row VALUES (?, ?)`).run(no, parent).changes;
  const kept = (): unknown[] =>
    database
      .prepare("SELECT no FROM row ORDER BY no")
      .all()
      .map(({ no }) => no);
  const codes = (outcomes: ReturnType<RunGroup>) =>
    outcomes.map((outcome) => ("error" in outcome ? outcome.error.code : outcome.value));

  it("runs in one transaction and returns an outcome for each write in order", () => {
    let within = 0;
    const write = (no: number) => () => {
      within += Number(database.isTransaction);
      return insert(no) && `wrote ${no}`;
    };
    expect(codes(run([write(3), write(1), write(2)]))).toEqual(["wrote 3", "wrote 1", "wrote 2"]);
    expect([kept(), within, database.isTransaction]).toEqual([[1, 2, 3], 3, false]);
    expect(run([])).toEqual([]);
  });

  it("rolls back a write that throws, and no other one", () => {
    const halfDone = () => {
      insert(7);
      insert(1);
    };
    expect(codes(run([() => insert(1), halfDone, () => insert(2)]))).toEqual([1, "GOALD_CONFLICT", 1]);
    expect(kept()).toEqual([1, 2]);
  });

  it("runs the other writes again when SQLite rolls back the transaction, as it can on a full disk", () => {
    insert(9);
    const undoAll = (no: number) => () => insert(no, "INSERT OR ROLLBACK");
    const outcomes = run([() => insert(1), undoAll(9), () => insert(2), undoAll(1), () => insert(3), () => insert(2)]);
    expect(codes(outcomes)).toEqual([1, "GOALD_CONFLICT", 1, "GOALD_CONFLICT", 1, "GOALD_CONFLICT"]);
    expect(kept()).toEqual([1, 2, 3, 9]);
  });

  it("fails as a whole when BEGIN or COMMIT fails, and the next group works", () => {
    const withoutParent = () => insert(2, "INSERT", 99);
    const failure = ["GOALD_INTERNAL", "GOALD_INTERNAL"];
    expect(codes(run([() => insert(1), withoutParent]))).toEqual(failure);
    expect([kept(), database.isTransaction]).toEqual([[], false]);
    database.exec("PRAGMA query_only = ON");
    expect(codes(run([() => insert(1), () => insert(2)]))).toEqual(["GOALD_HOME_UNWRITABLE", "GOALD_HOME_UNWRITABLE"]);
    database.exec("PRAGMA query_only = OFF");
    expect(codes(run([() => insert(1)]))).toEqual([1]);
  });
});
