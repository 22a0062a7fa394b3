/**
 * page-reader.ts -- the program of a reader, which the host starts in a cage.
 *
 * An import does nothing, so that a test can start a reader of its own.
 */
import { closeNetwork } from "#cage/close-network.ts";
import { readFrame, writeFrame } from "#cage/frames.ts";
import { type PageJob, readBytes } from "./read-bytes.ts";
import { type PageProblem, problemOf, type Readable } from "./readable.ts";

// Parses one page after the other in a reader until the host closes its channel.
//
// The cage limits memory and processor time, the host the time of a page.

/** An answer has the number of its job, so that a late one is not taken for the next page. */
export type JobHead = Omit<PageJob, "bytes"> & { readonly number: number };
/** The text follows as bytes. */
export type AnswerHead = Omit<Readable, "text"> | { readonly problem: PageProblem };

export async function serveJobs(readJob: (job: PageJob) => Promise<Readable>): Promise<void> {
  for (let frame = readFrame(); frame; frame = readFrame()) {
    const { buffer, byteOffset, byteLength } = frame.bytes;
    // pdf.js refuses a Buffer.
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    const { number, ...head } = frame.value as JobHead;
    const [answer, text] = await runJob(readJob, { ...head, bytes });
    writeFrame({ ...answer, number }, Buffer.from(text));
  }
}

async function runJob(
  readJob: (job: PageJob) => Promise<Readable>,
  job: PageJob,
): Promise<readonly [answer: AnswerHead, text: string]> {
  try {
    const { text, ...rest } = await readJob(job);
    return [rest, text];
  } catch (error) {
    return [{ problem: problemOf(error) }, ""];
  }
}

if (import.meta.main) {
  closeNetwork();
  await serveJobs(readBytes);
  process.exit();
}
