/** stubborn-worker.child.ts -- a page thread that hangs, dies or floods where a tree is wanted, and reads plainly as the real one. */
import { parentPort } from "node:worker_threads";
import { type PageJob, readBytes } from "#services/page/read-bytes.ts";

parentPort?.on("message", (job: PageJob) => {
  void answer(job).then((given) => parentPort?.postMessage(given));
});

async function answer(job: PageJob): Promise<unknown> {
  const text = new TextDecoder().decode(job.bytes);
  if (!job.isPlain || text.includes("always")) {
    if (text.includes("hang")) for (;;);
    if (text.includes("exit")) process.exit(3);
    if (text.includes("throw")) setImmediate(() => void thrown());
    if (text.includes("memory")) await take(300);
  }
  if (text.includes("later")) setTimeout(() => void thrown(), 50);
  const isThrown = text.includes("throw") && (!job.isPlain || text.includes("always"));
  return isThrown ? new Promise(() => {}) : { value: await readBytes(job) };
}

/** Holds so many megabytes for a moment. */
async function take(megabytes: number): Promise<void> {
  const held = Array.from({ length: megabytes }, (_, index) => new Array(131_072).fill(index));
  await new Promise((resolve) => setTimeout(resolve, 1, held));
}

function thrown(): never {
  throw new Error("thrown on purpose");
}
