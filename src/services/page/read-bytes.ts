/**
 * read-bytes.ts -- turns the bytes of a page into its text, title and links. A reader calls it once per page.
 *
 * Loads heavy libraries only for the kinds that need them. Throws if nothing can be read: see readable.ts.
 */
import { isUtf8 } from "node:buffer";
import sniffEncoding from "html-encoding-sniffer";
import { orUndefined } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import type { PageKind } from "./content-type.ts";
import { keepVisible, type Readable, tidyLines } from "./readable.ts";

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
    const { readPlainly } = await import("./plain-html.ts");
    return readPlainly(html, url, "The page was too much to be taken apart: all of its text, without its structure.");
  }
  const { readHtml } = await import("./read-html.ts");
  return readHtml(html, url);
}

/** Some pages declare their encoding late. */
const PRESCAN_BYTES = 4096;

/**
 * Decodes the bytes of a page: by its byte order mark, else the HTTP header, else the page's own declaration. Without
 * any of them, valid UTF-8 is UTF-8 and everything else is windows-1252, as in browsers. Never throws.
 */
function decodePage(bytes: Uint8Array, kind: "html" | "xml" | "text", charset: string | undefined): string {
  const defaultEncoding = isUtf8(bytes) ? "UTF-8" : "windows-1252";
  const hints = { transportLayerEncodingLabel: charset, defaultEncoding };
  if (kind === "xml") return decodeAs(sniffEncoding(bytes, { ...hints, xml: true }), bytes);
  // Plain text cannot declare its encoding, so only the byte order mark counts.
  const maxPrescanBytes = kind === "html" ? PRESCAN_BYTES : 0;
  return decodeAs(sniffEncoding(bytes, { ...hints, maxPrescanBytes }), bytes);
}

/** TextDecoder rejects labels such as `x-user-defined`. */
const decodeAs = (encoding: string, bytes: Uint8Array): string =>
  (orUndefined(() => new TextDecoder(encoding)) ?? new TextDecoder()).decode(bytes);
