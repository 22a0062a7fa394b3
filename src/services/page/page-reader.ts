/**
 * page-reader.ts -- the program of a reader, which the host starts in a cage.
 *
 * An import does nothing, so that scripts/warm-up.js can compile it.
 */
import { closeNetwork } from "#cage/close-network.ts";
import { readBytes } from "./read-bytes.ts";
import { serveJobs } from "./serve-jobs.ts";

if (import.meta.main) {
  closeNetwork();
  await serveJobs(readBytes);
  process.exit();
}
