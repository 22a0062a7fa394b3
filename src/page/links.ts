/** links.ts -- the links of a page: absolute, http or https, each once, so many at most. */
import { oneLine } from "#core/text.ts";
import type { Document, Element } from "./dom.ts";
import { keepVisible } from "./visible-text.ts";

export interface Link {
  readonly text: string;
  readonly href: string;
}

export const MAX_LINKS = 200;
/** A longer address is data. */
const MAX_HREF_CHARS = 1_000;
const MAX_TEXT_CHARS = 120;

/** The address that a link leads to; undefined for one that leads nowhere on the web, or only about on the same page. */
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

/** The address against which a page's links are read. */
export function baseOf(document: Document, url: string): string {
  return resolveLink(document.querySelector("base[href]")?.getAttribute("href") ?? null, url) ?? url;
}

export function linksIn(root: Element, base: string): Link[] {
  const found: Link[] = [];
  for (const anchor of root.querySelectorAll("a[href]")) {
    const href = resolveLink(anchor.getAttribute("href"), base);
    const text = nameOf(anchor);
    if (href !== undefined && text !== "") found.push({ text, href });
    if (found.length === MAX_LINKS * 4) break;
  }
  return found;
}

/** The first so many of them, each address once; a place on a page is the page. */
export function joinLinks(...lists: readonly (readonly Link[])[]): Link[] {
  const byAddress = new Map<string, Link>();
  for (const link of lists.flat()) {
    const address = link.href.replace(/#.*$/s, "");
    if (!byAddress.has(address)) byAddress.set(address, { text: link.text, href: address });
    if (byAddress.size === MAX_LINKS) break;
  }
  return [...byAddress.values()];
}

function nameOf(anchor: Element): string {
  const image = anchor.querySelector("img[alt]")?.getAttribute("alt");
  const text =
    anchor.textContent.trim() || anchor.getAttribute("aria-label") || image || anchor.getAttribute("title") || "";
  return nameLink(text);
}

/** Returns the text of a link as one short line without invisible characters. */
export const nameLink = (text: string): string => oneLine(keepVisible(text), MAX_TEXT_CHARS);
