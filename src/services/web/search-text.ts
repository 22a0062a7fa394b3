/** search-text.ts -- turns a search result into plain text of limited length and a valid address. */
import type { SearchResult } from "#core/services.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/clean.ts";

const TITLE_CHARS = 200;
const BODY_CHARS = 700;
const HREF_CHARS = 2_000;
/** The rest of a longer field is ignored. */
const MAX_FIELD_CHARS = 20_000;

/** Returns undefined for a result without a valid address. */
export function readResult(title: unknown, href: unknown, body: unknown): SearchResult | undefined {
  const address = readHref(href);
  if (address === undefined) return undefined;
  return { title: toPlainText(title, TITLE_CHARS) || address, href: address, body: toPlainText(body, BODY_CHARS) };
}

/** Returns at most `count` results, each address once. */
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

/** Removes highlighting tags and invisible characters, and decodes entities. */
function toPlainText(value: unknown, limit: number): string {
  const text = typeof value === "string" ? value.slice(0, MAX_FIELD_CHARS) : "";
  const visible = clean(decodeEntities(text.replace(TAG, "")))
    .replace(INVISIBLE, "")
    .toWellFormed();
  return oneLine(visible, limit);
}

const TAG = /<\/?[a-z][^<>]{0,300}>/gi;
/** The last range holds tag characters, which hide text from people but not from models. */
const INVISIBLE = /[\u00ad\u200b\u2060-\u2064\ufeff\u{e0000}-\u{e007f}]/gu;

const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };
