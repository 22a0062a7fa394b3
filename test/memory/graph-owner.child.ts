import { SettledGraph } from "../helpers/indexes.ts";

/** Run by hnsw-index.long.ts: prints the pid of its graph's process, then waits to be killed. */

const index = new SettledGraph(4);
await index.add(0, Float32Array.of(1, 0, 0, 0));
await index.settled();
console.log(index.keeper.pid);
setInterval(() => undefined, 60_000);
