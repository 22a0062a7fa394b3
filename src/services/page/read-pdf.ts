/**
 * read-pdf.ts -- extracts the text of a PDF page by page, within limits of pages, characters and time.
 *
 * Writes each page as a section, so that a passage names its page. Loads nothing external and renders nothing. Throws if
 * nothing can be read.
 */
import { getDocumentProxy, getMeta } from "unpdf";
import { isOutOfMemory, type Readable, unreadable } from "./readable.ts";

const MAX_PAGES = 300;
const MAX_PDF_CHARS = 1_000_000;
/** Distance between two lines, in line heights, above which a new paragraph begins. */
const PARAGRAPH_GAP = 1.6;

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

/** Calls `isLate` before each page. Returns the pages read so far once it is true. */
export async function readPdf(bytes: Uint8Array, isLate: () => boolean): Promise<Readable> {
  const pdf = await openPdf(bytes);
  try {
    return await readPages(pdf, isLate);
  } finally {
    await pdf.loadingTask.destroy();
  }
}

async function readPages(pdf: Pdf, isLate: () => boolean): Promise<Readable> {
  const pages: string[] = [];
  let chars = 0;
  let number = 0;
  while (number < Math.min(pdf.numPages, MAX_PAGES) && chars < MAX_PDF_CHARS && !isLate()) {
    number += 1;
    const text = await readPageText(pdf, number);
    chars += text.length;
    if (text !== "") pages.push(`## Page ${number}\n\n${text}`);
  }
  const remarks = number < pdf.numPages ? [`Only the first ${number} of ${pdf.numPages} pages were read.`] : [];
  if (pages.length === 0) remarks.push("There is no text in this PDF: its pages are probably pictures.");
  return { title: await readTitle(pdf), text: pages.join("\n\n"), links: [], remarks };
}

async function openPdf(bytes: Uint8Array): Promise<Pdf> {
  try {
    return await getDocumentProxy(bytes, { verbosity: 0, stopAtErrors: false });
  } catch (error) {
    if (isOutOfMemory(error)) throw error;
    const isLocked = (error as { name?: unknown } | null)?.name === "PasswordException";
    throw unreadable(isLocked ? "locked" : "damaged");
  }
}

async function readPageText(pdf: Pdf, number: number): Promise<string> {
  try {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    let text = "";
    let line: { readonly y: number; readonly height: number } | undefined;
    for (const item of items) {
      if (!("str" in item)) continue;
      const y = Number(item.transform[5]);
      const height = item.height || line?.height || 0;
      const isLower =
        line !== undefined && item.str.trim() !== "" && line.y - y > PARAGRAPH_GAP * line.height && line.height > 0;
      if (isLower) text += "\n\n";
      if (item.str.trim() !== "") line = { y, height };
      text += item.str + (item.hasEOL ? "\n" : "");
    }
    page.cleanup();
    return text.trim();
  } catch (error) {
    if (isOutOfMemory(error)) throw error;
    return "";
  }
}

async function readTitle(pdf: Pdf): Promise<string> {
  try {
    const { info } = await getMeta(pdf);
    return typeof info.Title === "string" ? info.Title : "";
  } catch {
    return "";
  }
}
