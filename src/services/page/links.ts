/** links.ts -- finds the links of a page: absolute http(s) addresses, each once, up to a limit. */
import { oneLine } from "#core/text.ts";
import type { Document, Element } from "./dom.ts";
import { keepVisible } from "./readable.ts";

export interface Link {
  readonly text: string;
  readonly href: string;
}

export const MAX_LINKS = 200;
/** A longer address carries data. */
const MAX_HREF_CHARS = 1_000;
const MAX_LINK_TEXT_CHARS = 120;

/** Returns the absolute address of a link. Undefined if it is not http(s), or stays on the same page. */
export function resolveLink(href: string | null, base: string): string | undefined {
  const given = href?.trim() ?? "";
  if (given === "" || given.startsWith("#") || given.length > MAX_HREF_CHARS || !URL.canParse(given, base))
    return undefined;
  const url = new URL(given, base);
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  url.username = "";
  url.password = "";
  return url.href.length <= MAX_HREF_CHARS ? url.href : undefined;
}

/** Returns the address that the page's relative links refer to. */
export function findBaseUrl(document: Document, url: string): string {
  return resolveLink(document.querySelector("base[href]")?.getAttribute("href") ?? null, url) ?? url;
}

export function findLinks(root: Element, base: string): Link[] {
  const found: Link[] = [];
  for (const anchor of root.querySelectorAll("a[href]")) {
    const href = resolveLink(anchor.getAttribute("href"), base);
    const text = nameAnchor(anchor);
    if (href !== undefined && text !== "") found.push({ text, href });
    if (found.length === MAX_LINKS * 4) break;
  }
  return found;
}

/** Joins lists in order. Drops fragments and duplicates, and keeps the first MAX_LINKS. */
export function joinLinks(...lists: readonly (readonly Link[])[]): Link[] {
  const byAddress = new Map<string, Link>();
  for (const link of lists.flat()) {
    const address = link.href.replace(/#.*$/s, "");
    if (!byAddress.has(address)) byAddress.set(address, { text: link.text, href: address });
    if (byAddress.size === MAX_LINKS) break;
  }
  return [...byAddress.values()];
}

function nameAnchor(anchor: Element): string {
  const image = anchor.querySelector("img[alt]")?.getAttribute("alt");
  const text =
    anchor.textContent.trim() || anchor.getAttribute("aria-label") || image || anchor.getAttribute("title") || "";
  return nameLink(text);
}

/** Returns the text of a link as one short line without invisible characters. */
export const nameLink = (text: string): string => oneLine(keepVisible(text), MAX_LINK_TEXT_CHARS);
