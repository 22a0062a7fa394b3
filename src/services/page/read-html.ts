/**
 * read-html.ts -- an HTML page as Markdown: its article; else its main part, with tables and links; else all of its text.
 *
 * What is too large for a tree is read without one. Depth is capped before anything that takes quadratic time by it.
 * Throws nothing for a page, however broken.
 */
import { isProbablyReaderable, Readability } from "@mozilla/readability";
import { type Document, type Element, parseDocument } from "./dom.ts";
import { baseOf, joinLinks, linksIn, resolveLink } from "./links.ts";
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

/** Deeper ones take the parser quadratic time: 2 seconds at 50,000. */
const MAX_PARSED_DEPTH = 3_000;

export function readHtml(html: string, url: string): Readable {
  const tree = shortenBlanks(dropScripts(html));
  const { marks, depth } = measure(tree);
  if (marks > MAX_MARKS)
    return readPlainly(html, url, "The page has very many parts: all of its text, without its structure.");
  if (depth > MAX_PARSED_DEPTH)
    return readPlainly(html, url, "The page is nested very deeply: all of its text, without its structure.");
  try {
    return readTree(tree, url, html);
  } catch {
    return readPlainly(html, url, "The page could not be taken apart: all of its text, without its structure.");
  }
}

/** `page`: with its scripts. */
function readTree(html: string, url: string, page: string): Readable {
  const { document, isFlattened } = prepare(html);
  const base = baseOf(document, url);
  const allLinks = linksIn(document.body, base);
  const title = titleOf(document);
  const visibleChars = charsOf(document.body);
  const main = findMainPart(document);
  const remarks = remarksOn(page, visibleChars);
  const next = visibleChars < MIN_CHARS ? refreshOf(document, base) : undefined;
  if (next) remarks.push(`The page leads on to ${next}.`);
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

/** Where a page sends its readers after a moment. */
function refreshOf(document: Document, base: string): string | undefined {
  const content = document.querySelector("meta[http-equiv=refresh i]")?.getAttribute("content") ?? "";
  const target = /^[\s\d.]{0,20}[;,]\s{0,20}(?:url\s{0,20}=\s{0,20})?["']?([^"']{1,1000})/i.exec(content)?.[1];
  return target === undefined ? undefined : resolveLink(target, base);
}

/** What programs say in a page counts for nothing, and would be taken for its parts. One that is not closed stays. */
function dropScripts(html: string): string {
  const parts: string[] = [];
  const open = /<(script|style)\b/gi;
  let kept = 0;
  for (let found = open.exec(html); found; found = open.exec(html)) {
    const close = new RegExp(`</${found[1]}\\b[^>]{0,100}>`, "gi");
    close.lastIndex = found.index;
    if (!close.exec(html)) break;
    parts.push(html.slice(kept, found.index));
    kept = close.lastIndex;
    open.lastIndex = kept;
  }
  return parts.join("") + html.slice(kept);
}

/** A run of blanks takes turndown quadratic time; a longer one than this means nothing even in code. */
const MAX_BLANKS = 500;
const shortenBlanks = (html: string): string =>
  html.replace(/[ \t]+/g, (blanks) => (blanks.length > MAX_BLANKS ? " " : blanks));

/** `marks`: of tags and entities, each about one node. `depth`: near enough, of those that must be closed. */
function measure(html: string): { readonly marks: number; readonly depth: number } {
  let [marks, open, depth] = [0, 0, 0];
  for (const [mark, closing] of html.matchAll(MARK)) {
    marks += 1;
    if (marks > MAX_MARKS) break;
    if (mark.length < 2) continue;
    open = closing === "/" ? Math.max(0, open - 1) : open + 1;
    depth = Math.max(depth, open);
  }
  return { marks, depth };
}
const MARK =
  /<(\/?)(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|p|li|dd|dt|option|tr|td|th|thead|tbody|tfoot)\b)[a-z]|[<&]/gi;
