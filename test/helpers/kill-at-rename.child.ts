/**
 * kill-at-rename.child.ts -- loaded by `node --import`: kills goald with SIGKILL at a rename of a file or folder.
 *
 * KILL_AT_RENAME=3:before or 3:after names the third synchronous rename of the process, a.md:before the first to a file a.md.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { killSelf } from "./wrap-commits.ts";

const [at = "", when] = (process.env.KILL_AT_RENAME ?? "").split(":");
const rename = fs.renameSync;
let renames = 0;

fs.renameSync = (from, to) => {
  renames++;
  const isMeant = renames === Number(at) || (at !== "" && basename(String(to)) === at);
  if (isMeant && when === "before") killSelf();
  rename(from, to);
  if (isMeant && when === "after") killSelf();
};
syncBuiltinESMExports();
