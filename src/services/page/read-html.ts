/**
 * read-html.ts -- reads an HTML page as Markdown: its article, else its main part, else all of its text.
 *
 * Reads a page that is too large for a tree without one. Limits the depth before any step that takes quadratic time in
 * it. Never throws, however broken the page is.
 */
import { isProbablyReaderable, Readability } from "@mozilla/readability";
import { orUndefined } from "#core/errors.ts";
import { type Document, type Element, flattenBelow, parseDocument, removeHidden } from "./dom.ts";
import { toMarkdown } from "./markdown.ts";
import { explainMissingText, MIN_CHARS, readPlainly } from "./plain-html.ts";
import { findBaseUrl, findLinks, joinLinks, type Readable, resolveLink } from "./readable.ts";

/** Maximum tags and entities. Readability's own `maxElemsToParse` always counts 0 elements with linkedom. */
const MAX_MARKS = 80_000;
/** Readability takes quadratic time in depth: 2 s for 40,000 elements at depth 100, 50 s at 800. */
const MAX_TREE_DEPTH = 100;
/** An article with a smaller share of the main part's text (links left out) is only a fragment of the page. */
const MIN_SHARE = 0.25;

/** The parser takes quadratic time in depth: 2 s at 50,000. */
const MAX_PARSED_DEPTH = 3_000;

export function readHtml(html: string, url: string): Readable {
  const tree = shortenBlanks(removeScripts(html));
  const { marks, depth } = measureTree(tree);
  if (marks > MAX_MARKS)
    return readPlainly(html, url, "The page has very many parts: all of its text, without its structure.");
  if (depth > MAX_PARSED_DEPTH)
    return readPlainly(html, url, "The page is nested very deeply: all of its text, without its structure.");
  return (
    orUndefined(() => readTree(tree, url, html)) ??
    readPlainly(html, url, "The page could not be taken apart: all of its text, without its structure.")
  );
}

/** `page` is the same HTML with its scripts. */
function readTree(html: string, url: string, page: string): Readable {
  const { document, isFlattened } = prepareDocument(html);
  const base = findBaseUrl(document, url);
  const allLinks = findLinks(document.body, base);
  const title = findTitle(document);
  const visibleChars = countChars(document.body);
  const main = findMainPart(document);
  const remarks = explainMissingText(page, visibleChars);
  const next = visibleChars < MIN_CHARS ? findRefreshTarget(document, base) : undefined;
  if (next) remarks.push(`The page leads on to ${next}.`);
  if (isFlattened) remarks.push("The page is nested very deeply; what lies deepest has lost its structure.");

  const article = isProbablyReaderable(document as never) ? readArticle(document) : undefined;
  if (article && countChars(article.root) >= Math.max(MIN_CHARS, main.ownChars * MIN_SHARE)) {
    const links = joinLinks(findLinks(article.root, base), allLinks);
    return { title: article.title || title, text: toMarkdown(article.root, base), links, remarks };
  }
  // Readability has modified the document, so parse it again.
  const whole = prepareDocument(html).document;
  const found = findMainPart(whole);
  if (found.chars >= Math.min(MIN_CHARS, visibleChars / 2)) {
    const { root, asides } = found;
    for (const element of asides) element.remove();
    if (visibleChars >= MIN_CHARS) remarks.push("No article was found: this is the page's main part.");
    return { title, text: toMarkdown(root, base), links: joinLinks(findLinks(root, base), allLinks), remarks };
  }
  remarks.push("No main part was found: this is all of the page's text.");
  return { title, text: toMarkdown(whole.body, base), links: joinLinks(allLinks), remarks };
}

function prepareDocument(html: string): { readonly document: Document; readonly isFlattened: boolean } {
  const document = parseDocument(html);
  const isFlattened = flattenBelow(document.body, MAX_TREE_DEPTH);
  removeHidden(document);
  return { document, isFlattened };
}

function readArticle(document: Document): { readonly root: Element; readonly title: string } | undefined {
  const reader = new Readability<Element>(document as never, {
    serializer: (node) => node as unknown as Element,
    disableJSONLD: true,
    // A class names the language of code.
    keepClasses: true,
  });
  const parsed = orUndefined(() => reader.parse());
  return parsed?.content ? { root: parsed.content, title: parsed.title ?? "" } : undefined;
}

function findTitle(document: Document): string {
  const meta = document.querySelector('meta[property="og:title"]')?.getAttribute("content");
  return document.querySelector("title")?.textContent.trim() || meta || document.querySelector("h1")?.textContent || "";
}

/** Returns the address that the page forwards to after a moment. */
function findRefreshTarget(document: Document, base: string): string | undefined {
  const content = document.querySelector("meta[http-equiv=refresh i]")?.getAttribute("content") ?? "";
  const target = /^[\s\d.]{0,20}[;,]\s{0,20}(?:url\s{0,20}=\s{0,20})?["']?([^"']{1,1000})/i.exec(content)?.[1];
  return target === undefined ? undefined : resolveLink(target, base);
}

/** Removes scripts and styles, whose content can look like tags. Keeps everything from the first unclosed one on. */
function removeScripts(html: string): string {
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

/** Turndown takes quadratic time for a run of blanks. A longer run has no meaning, even in code. */
const MAX_BLANKS = 500;
const shortenBlanks = (html: string): string =>
  html.replace(/[ \t]+/g, (blanks) => (blanks.length > MAX_BLANKS ? " " : blanks));

/** `marks`: tags and entities, each about one node. `depth`: estimated nesting of elements that need a closing tag. */
function measureTree(html: string): { readonly marks: number; readonly depth: number } {
  let marks = 0;
  let open = 0;
  let depth = 0;
  for (const [mark, closing] of html.matchAll(TAG_OR_ENTITY)) {
    marks += 1;
    if (marks > MAX_MARKS) break;
    if (mark.length < 2) continue;
    open = closing === "/" ? Math.max(0, open - 1) : open + 1;
    depth = Math.max(depth, open);
  }
  return { marks, depth };
}
const TAG_OR_ENTITY =
  /<(\/?)(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|p|li|dd|dt|option|tr|td|th|thead|tbody|tfoot)\b)[a-z]|[<&]/gi;

type MainPart = ReturnType<typeof describeMainPart>;

const ASIDE_SELECTOR =
  "nav,aside,footer,dialog,button,[role=navigation],[role=banner],[role=contentinfo],[role=complementary],[role=search],[role=dialog],[role=alertdialog],[role=menu]";
const ASIDE_NAME =
  /(?:^|[\s_-])(?:cookie|consent|gdpr|newsletter|subscribe|breadcrumbs?|share|sharing|social|sidebar|advert|ads?|sponsor(?:ed)?|promo|related|recommended|paywall-?prompt|skip-?link|popup|modal)(?:$|[\s_-])/i;
const LINK_BLOCK_SELECTOR = "ul,ol,div,section,p,table";

/**
 * Finds the main content of a page that is not an article: a list, table, thread or search results. Takes `main`, the
 * only `article`, or the body. Leaves out what the author marked as navigation or side content, and blocks of mostly
 * short links. Changes nothing in the document.
 */
function findMainPart(document: Document): MainPart {
  const root = findRoot(document);
  const marked = keepOutermost([
    ...root.querySelectorAll(ASIDE_SELECTOR),
    ...[...root.querySelectorAll("header")].filter((header) => !header.querySelector("h1,h2")),
    ...[...root.querySelectorAll("div,section,ul,p")].filter((block) =>
      ASIDE_NAME.test(`${block.id} ${block.className}`.slice(0, 300)),
    ),
  ]);
  const all = countChars(root);
  const menus = keepOutermost([...root.querySelectorAll(LINK_BLOCK_SELECTOR)].filter(isMenu));
  const without = keepOutermost([...marked, ...menus]);
  const left = all - sumChars(without);
  // On an index page, the menus are the content.
  if (left >= MIN_CHARS && left > all / 5) return describeMainPart(root, without, left);
  const kept = all - sumChars(marked);
  return kept > 0 ? describeMainPart(root, marked, kept) : describeMainPart(root, [], all);
}

/** `asides`: elements in `root` that are not main content. `ownChars`: characters outside links. */
function describeMainPart(root: Element, asides: readonly Element[], chars: number) {
  const excluded = new Set(asides);
  const links = [...root.querySelectorAll("a")].filter((link) => !isWithin(link, excluded));
  return { root, asides, chars, ownChars: chars - sumChars(links) };
}

const countChars = (element: Element): number => element.textContent.replace(/\s+/g, " ").trim().length;

function findRoot(document: Document): Element {
  for (const selector of ["main,[role=main]", "article"]) {
    const [only, another] = document.querySelectorAll(selector);
    if (only && !another && countChars(only) >= MIN_CHARS) return only;
  }
  return document.body;
}

/** True for a block of three or more short links with hardly any other text. */
function isMenu(block: Element): boolean {
  const links = [...block.querySelectorAll("a")];
  if (links.length < 3 || links.length > 200) return false;
  const linked = sumChars(links);
  return linked / links.length < 20 && linked > countChars(block) * 0.8;
}

const sumChars = (elements: readonly Element[]): number =>
  elements.reduce((chars, element) => chars + countChars(element), 0);

/** Returns the elements that are inside none of the others. */
function keepOutermost(elements: readonly Element[]): Element[] {
  const all = new Set(elements);
  return [...all].filter((element) => !isWithin(element, all));
}

function isWithin(element: Element, others: ReadonlySet<Element>): boolean {
  for (let above = element.parentNode; above; above = above.parentNode) if (others.has(above)) return true;
  return false;
}
