/** page-reader.ts -- the program of a reader, which the host starts in a cage. */
import { closeNetwork } from "#cage/close-network.ts";
import { readBytes } from "./read-bytes.ts";
import { serveJobs } from "./serve-jobs.ts";

closeNetwork();
await serveJobs(readBytes);
process.exit();
