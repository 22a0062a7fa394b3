/**
 * read-html.ts -- an HTML page as Markdown: its article; else its main part, with tables and links; else all of its text.
 *
 * What is too large for a tree is read without one. Depth is capped before anything that takes quadratic time by it.
 * Throws nothing for a page, however broken.
 */
import { isProbablyReaderable, Readability } from "@mozilla/readability";
import { type Document, type Element, parseDocument } from "./dom.ts";
import { baseOf, joinLinks, linksIn } from "./links.ts";
import { charsOf, findMainPart, pruneMainPart } from "./main-part.ts";
import { toMarkdown } from "./markdown.ts";
import { MIN_CHARS, readPlainly, remarksOn } from "./plain-page.ts";
import { flattenBelow, removeUnseen } from "./prune.ts";
import type { Readable } from "./readable.ts";

/**
 * Readability's own `maxElemsToParse` counts by `getElementsByTagName("*")`, which is 0 in linkedom: tags are counted here,
 * before there is a tree, and entities with them.
 */
const MAX_MARKS = 80_000;
/** Readability takes quadratic time by depth: 2 seconds for 40,000 elements at 100, 50 at 800. */
const MAX_DEPTH = 100;
/** An article with less of the main part's text is only a piece of the page; links beside it are no loss. */
const MIN_SHARE = 0.25;

export function readHtml(html: string, url: string): Readable {
  if (countMarks(html) > MAX_MARKS)
    return readPlainly(html, url, "The page has very many parts: all of its text, without its structure.");
  try {
    return readTree(html, url);
  } catch {
    return readPlainly(html, url, "The page could not be taken apart: all of its text, without its structure.");
  }
}

function readTree(html: string, url: string): Readable {
  const { document, isFlattened } = prepare(html);
  const base = baseOf(document, url);
  const allLinks = linksIn(document.body, base);
  const title = titleOf(document);
  const visibleChars = charsOf(document.body);
  const main = findMainPart(document);
  const remarks = remarksOn(html, visibleChars);
  if (isFlattened) remarks.push("The page is nested very deeply; what lies deepest has lost its structure.");

  const article = isProbablyReaderable(document as never) ? readArticle(document) : undefined;
  if (article && charsOf(article.root) >= Math.max(MIN_CHARS, main.ownChars * MIN_SHARE)) {
    const links = joinLinks(linksIn(article.root, base), allLinks);
    return { title: article.title || title, text: toMarkdown(article.root, base), links, remarks };
  }
  // Readability has taken the document apart.
  const whole = prepare(html).document;
  const found = findMainPart(whole);
  if (found.chars >= Math.min(MIN_CHARS, visibleChars / 2)) {
    const root = pruneMainPart(found);
    if (visibleChars >= MIN_CHARS) remarks.push("No article was found: this is the page's main part.");
    return { title, text: toMarkdown(root, base), links: joinLinks(linksIn(root, base), allLinks), remarks };
  }
  remarks.push("No main part was found: this is all of the page's text.");
  return { title, text: toMarkdown(whole.body, base), links: joinLinks(allLinks), remarks };
}

function prepare(html: string): { readonly document: Document; readonly isFlattened: boolean } {
  const document = parseDocument(html);
  const isFlattened = flattenBelow(document.body, MAX_DEPTH);
  removeUnseen(document);
  return { document, isFlattened };
}

function readArticle(document: Document): { readonly root: Element; readonly title: string } | undefined {
  try {
    const parsed = new Readability<Element>(document as never, {
      serializer: (node) => node as unknown as Element,
      disableJSONLD: true,
      // The language of code stands in a class.
      keepClasses: true,
    }).parse();
    return parsed?.content ? { root: parsed.content, title: parsed.title ?? "" } : undefined;
  } catch {
    return undefined;
  }
}

function titleOf(document: Document): string {
  const meta = document.querySelector('meta[property="og:title"]')?.getAttribute("content");
  return document.querySelector("title")?.textContent.trim() || meta || document.querySelector("h1")?.textContent || "";
}

/** Of tags and entities: each is about one node. */
function countMarks(html: string): number {
  let count = 0;
  for (let at = 0; at < html.length; at++) {
    const unit = html.charCodeAt(at);
    if (unit === 60 || unit === 38) count += 1;
  }
  return count;
}
