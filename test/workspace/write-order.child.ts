/**
 * write-order.child.ts -- replaces a file by 1 MB, and prints in which order it calls fsync and rename.
 *
 * Each line is one call: `sync` when it has ended, with the inode and the size at its beginning; `rename` with the inode
 * that gets the name.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";

const [, , folder = "", name = ""] = process.argv;
const { fsync, renameSync } = fs;

const watched = (descriptor: number, done: fs.NoParamCallback): void => {
  const { ino, size } = fs.fstatSync(descriptor);
  fsync(descriptor, (error) => {
    console.log(JSON.stringify({ call: "sync", ino, size: fs.fstatSync(descriptor).isDirectory() ? null : size }));
    done(error);
  });
};
fs.fsync = Object.assign(watched, { __promisify__: fsync.__promisify__ });
fs.renameSync = (from, to) => {
  console.log(JSON.stringify({ call: "rename", ino: fs.statSync(from).ino, to: basename(String(to)) }));
  renameSync(from, to);
};
syncBuiltinESMExports();

const { openLocalWorkspace } = await import("#workspace/local-workspace.ts");
await openLocalWorkspace(folder).write(name, "x".repeat(1024 * 1024));
