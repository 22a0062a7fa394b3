/** search-text.ts -- a search result made fit to be read: plain text of bounded length, and an address that is one. */
import type { SearchResult } from "#core/services.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/clean.ts";

const TITLE_CHARS = 200;
const BODY_CHARS = 700;
const HREF_CHARS = 2_000;
/** More of one field is never looked at. */
const READ_CHARS = 20_000;

/** undefined where there is no address that could be read. */
export function readResult(title: unknown, href: unknown, body: unknown): SearchResult | undefined {
  const address = readHref(href);
  if (address === undefined) return undefined;
  return { title: plain(title, TITLE_CHARS) || address, href: address, body: plain(body, BODY_CHARS) };
}

/** At most `count`, each address once. */
export function readResults(
  rows: Iterable<readonly [title: unknown, href: unknown, body: unknown]>,
  count: number,
): readonly SearchResult[] {
  const byHref = new Map<string, SearchResult>();
  for (const row of rows) {
    const result = readResult(...row);
    if (result && !byHref.has(result.href)) byHref.set(result.href, result);
    if (byHref.size === count) break;
  }
  return [...byHref.values()];
}

function readHref(href: unknown): string | undefined {
  if (typeof href !== "string" || href.length > HREF_CHARS || !URL.canParse(href)) return undefined;
  const url = new URL(href);
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  return isWeb && url.username === "" && url.password === "" ? url.href : undefined;
}

/** Tags that mark what was found, characters that nobody sees, entities. */
function plain(value: unknown, limit: number): string {
  const text = typeof value === "string" ? value.slice(0, READ_CHARS) : "";
  const visible = clean(decode(text.replace(TAG, "")))
    .replace(UNSEEN, "")
    .toWellFormed();
  return oneLine(visible, limit);
}

const TAG = /<\/?[a-z][^<>]{0,300}>/gi;
/** The last ones are letters of no script: text can be hidden in them from everybody but a model. */
const UNSEEN = /[\u00ad\u200b\u2060-\u2064\ufeff\u{e0000}-\u{e007f}]/gu;

const decode = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name) return NAMED[name.toLowerCase()] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };
