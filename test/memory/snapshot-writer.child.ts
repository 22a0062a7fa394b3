import { recallNumbered } from "./numbered-rows.ts";

/**
 * Run by snapshots.long.ts: writes snapshots of a growing memory until it is killed, or one under a file size limit, where
 * the kernel rejects larger writes as a full disk does.
 */

const [folder = "", first = "", last = first] = process.argv.slice(2);
for (let count = Number(first); count <= Number(last); count += 100)
  console.log(JSON.stringify(await recallNumbered(folder, count, { isSaved: true })));
