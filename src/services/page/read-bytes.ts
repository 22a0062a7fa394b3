/**
 * read-bytes.ts -- turns the bytes of a page into its text, title and links. A reader calls it once per page.
 *
 * Loads heavy libraries only for the kinds that need them. Throws if nothing can be read: see unreadable.ts.
 */
import { oneLine } from "#core/text.ts";
import type { PageKind } from "./content-type.ts";
import { decodePage } from "./decode.ts";
import type { Readable } from "./readable.ts";
import { keepVisible, tidyLines } from "./visible-text.ts";

export interface PageJob {
  readonly bytes: Uint8Array;
  readonly kind: PageKind;
  readonly charset: string | undefined;
  readonly url: string;
  /** True to read all text without building a tree, for a page that exceeded the limits. */
  readonly isPlain: boolean;
  readonly timeLimitMs: number;
}

const MAX_PAGE_CHARS = 1_000_000;
const MAX_TITLE_CHARS = 200;

export async function readBytes(job: PageJob): Promise<Readable> {
  const { title, text, links, remarks } = await readByKind(job);
  const isProse = job.kind === "html" || job.kind === "pdf";
  const shown = isProse ? tidyLines(keepVisible(text).replace(/[\u00a0\u202f]/g, " ")) : keepVisible(text);
  const isCut = shown.length > MAX_PAGE_CHARS;
  return {
    title: oneLine(keepVisible(title), MAX_TITLE_CHARS),
    text: isCut ? shown.slice(0, MAX_PAGE_CHARS).toWellFormed() : shown,
    links,
    remarks: isCut ? [...remarks, `Only the first ${MAX_PAGE_CHARS} of ${shown.length} characters are here.`] : remarks,
  };
}

async function readByKind({ bytes, kind, charset, url, isPlain, timeLimitMs }: PageJob): Promise<Readable> {
  if (kind === "pdf") {
    const { readPdf } = await import("./read-pdf.ts");
    // Keep some time: the last page may take long.
    const end = performance.now() + timeLimitMs * 0.7;
    return readPdf(bytes, () => performance.now() > end);
  }
  if (kind !== "html") return { title: "", text: decodePage(bytes, kind, charset), links: [], remarks: [] };
  const html = decodePage(bytes, kind, charset);
  if (isPlain) {
    const { readPlainly } = await import("./plain-page.ts");
    return readPlainly(html, url, "The page was too much to be taken apart: all of its text, without its structure.");
  }
  const { readHtml } = await import("./read-html.ts");
  return readHtml(html, url);
}
