/** noisy-worker.child.ts -- the real page thread, with a library that prints a lot; it ends itself when that is kept. */
import { parentPort } from "node:worker_threads";
import "#services/page/page-worker.ts";

parentPort?.on("message", () => {
  for (let line = 0; line < 1_000; line++) {
    console.log("Warning: this page is odd.");
    console.error("Error: this page is very odd.");
  }
  if (process.stdout.writableLength + process.stderr.writableLength > 0) process.exit(3);
});
