/**
 * Run by hnsw-index.long.ts under a file size limit that the process of the graph inherits: the kernel rejects larger
 * writes, as a full disk does. Prints the search results before and after the graph is saved.
 */
import { clusteredVectors } from "../../helpers/random-vectors.ts";
import { openSettledGraph } from "../../helpers/settled-graph.ts";

const [folder = ""] = process.argv.slice(2);
const vectors = clusteredVectors(1_500, 16, 12);
const index = openSettledGraph(16, { folder });
const best: (number | undefined)[] = [];
for (const [slot, vector] of vectors.entries()) {
  await index.add(slot, vector);
  if (slot === 100 || slot === 1_499) best.push((await index.search(vectors[77] as Float32Array, 1))[0]?.slot);
}
await index.settled();
await index.close();
console.log(JSON.stringify({ best, reports: index.reports }));
