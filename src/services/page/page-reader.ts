/**
 * page-reader.ts -- the program of a reader, which the host starts in a cage.
 *
 * An import does nothing, so that a test can start a reader of its own.
 */
import { closeNetwork } from "#cage/close-network.ts";
import { readFrame, writeFrame } from "#cage/frames.ts";
import { type PageJob, readBytes } from "./read-bytes.ts";
import { problemOf, type Readable } from "./readable.ts";

/** An answer has the number of its job, so that a late one is not taken for the next page. */
type JobHead = Omit<PageJob, "bytes"> & { readonly number: number };

/**
 * Parses one page after the other until the host closes the channel. The cage limits memory and processor time, the
 * host the time of a page.
 */
export async function serveJobs(readJob: (job: PageJob) => Promise<Readable>): Promise<void> {
  for (let frame = readFrame(); frame; frame = readFrame()) {
    const { buffer, byteOffset, byteLength } = frame.bytes;
    // pdf.js refuses a Buffer.
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    const { number, ...head } = frame.value as JobHead;
    const failed = (error: unknown) => ({ problem: problemOf(error), text: "" });
    const { text, ...answer } = await readJob({ ...head, bytes }).catch(failed);
    // The text of a page, or of none, follows its answer as bytes.
    writeFrame({ ...answer, number }, Buffer.from(text));
  }
}

if (import.meta.main) {
  closeNetwork();
  await serveJobs(readBytes);
  process.exit();
}
