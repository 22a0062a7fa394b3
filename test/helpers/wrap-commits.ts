/** wrap-commits.ts -- runs every SQLite COMMIT of the process through a function, in whatever form it is executed. */
import { DatabaseSync, type StatementSync } from "node:sqlite";

const isCommit = (sql: string): boolean => /^\s*COMMIT\b/i.test(sql);

export function wrapCommits(wrap: <T>(commit: () => T) => T): void {
  const { exec, prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    return isCommit(sql) ? wrap(() => exec.call(this, sql)) : exec.call(this, sql);
  };
  DatabaseSync.prototype.prepare = function (sql, ...options): StatementSync {
    const statement = prepare.call(this, sql, ...options);
    if (!isCommit(sql)) return statement;
    const run = statement.run.bind(statement);
    return Object.assign(statement, { run: () => wrap(() => run()) });
  };
}
