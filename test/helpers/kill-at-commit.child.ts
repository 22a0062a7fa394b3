/**
 * kill-at-commit.child.ts -- loaded by `node --import`: kills goald with SIGKILL at a COMMIT.
 *
 * KILL_AT_COMMIT=12:before or 12:after names the twelfth COMMIT of the process. Without it the process
 * prints the number of its commits on standard error when it exits.
 */
import { killSelf, wrapCommits } from "./wrap-commits.ts";

const [at, when] = (process.env.KILL_AT_COMMIT ?? "").split(":");
let commits = 0;

wrapCommits((commit) => {
  commits++;
  if (commits === Number(at) && when === "before") killSelf();
  const result = commit();
  if (commits === Number(at) && when === "after") killSelf();
  return result;
});

process.on("exit", () => {
  process.stderr.write(`${commits} commits\n`);
});
