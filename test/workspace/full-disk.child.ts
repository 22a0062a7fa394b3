/**
 * Runs under a limit on file sizes, started by workspace.test.ts: the kernel then stops a write midway, as a full disk
 * does. Prints the result of each operation.
 */
import { readdir } from "node:fs/promises";
import { isGoaldError } from "#core/errors.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { useAnchor } from "#workspace/resolve-path.ts";

const [folder = "", anchor] = process.argv.slice(2);
const changes: string[] = [];
useAnchor(anchor === "real-path" ? "real-path" : "descriptor");
const workspace = openLocalWorkspace(folder, (change) => changes.push(`${change.operation} ${change.path}`));
const big = "x".repeat(1024 * 1024);
await workspace.write("old.txt", "as it was");

const codes: Record<string, string> = {};
for (const [name, act] of Object.entries({
  "write over": () => workspace.write("old.txt", big),
  "write new": () => workspace.write("new.txt", big),
  append: () => workspace.append("old.txt", big),
  "append new": () => workspace.append("fresh.txt", big),
}))
  codes[name] = await act().then(
    () => "ok",
    (error: unknown) => (isGoaldError(error) ? error.code : String(error)),
  );
const content = new TextDecoder().decode(await workspace.read("old.txt", { offset: 0, length: 100 }));
console.log(JSON.stringify({ codes, content, names: await readdir(folder), changes }));
