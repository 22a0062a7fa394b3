/**
 * read-bytes.ts -- from the bytes of a page to its text, title and links: what the worker does for one page.
 *
 * Heavy parts are loaded for the kind of page that needs them. Throws an Error with a sentence where nothing can be read.
 */
import { oneLine } from "#core/text.ts";
import type { PageKind } from "./content-type.ts";
import { decode } from "./decode.ts";
import type { Readable } from "./readable.ts";
import { keepVisible, tidyLines } from "./visible-text.ts";

export interface Reading {
  readonly bytes: Uint8Array;
  readonly kind: PageKind;
  readonly charset: string | undefined;
  readonly url: string;
  /** The careful way: no tree, so that nothing in the page can be too much. */
  readonly isPlain: boolean;
  readonly timeLimitMs: number;
}

const MAX_TEXT_CHARS = 1_000_000;
const MAX_TITLE_CHARS = 200;

export async function readBytes(reading: Reading): Promise<Readable> {
  const { title, text, links, remarks } = await readByKind(reading);
  const isProse = reading.kind === "html" || reading.kind === "pdf";
  const shown = isProse ? tidyLines(keepVisible(text).replace(/[\u00a0\u202f]/g, " ")) : keepVisible(text);
  const isCut = shown.length > MAX_TEXT_CHARS;
  return {
    title: oneLine(keepVisible(title), MAX_TITLE_CHARS),
    text: isCut ? shown.slice(0, MAX_TEXT_CHARS).toWellFormed() : shown,
    links,
    remarks: isCut ? [...remarks, `Only the first ${MAX_TEXT_CHARS} of ${shown.length} characters are here.`] : remarks,
  };
}

async function readByKind({ bytes, kind, charset, url, isPlain, timeLimitMs }: Reading): Promise<Readable> {
  if (kind === "pdf") {
    const { readPdf } = await import("./read-pdf.ts");
    // Some time is kept for the last page, which may take long itself.
    const end = performance.now() + timeLimitMs * 0.7;
    return readPdf(bytes, () => performance.now() > end);
  }
  if (kind !== "html") return { title: "", text: decode(bytes, kind, charset), links: [], remarks: [] };
  const html = decode(bytes, kind, charset);
  if (isPlain) {
    const { readPlainly } = await import("./plain-page.ts");
    return readPlainly(html, url, "The page was too much to be taken apart: all of its text, without its structure.");
  }
  const { readHtml } = await import("./read-html.ts");
  return readHtml(html, url);
}
