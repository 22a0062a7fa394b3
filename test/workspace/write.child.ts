/** Replaces one file repeatedly until it is killed; started by workspace.test.ts. */
import { openLocalWorkspace } from "#workspace/local-workspace.ts";

const workspace = openLocalWorkspace(process.argv[2] ?? "");
for (let round = 0; ; round += 1) {
  await workspace.write("a.txt", String(round % 10).repeat(4 * 1024 * 1024));
  console.log("written");
}
