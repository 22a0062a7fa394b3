/**
 * main-part.ts -- finds the main content of a page that is not an article: a list, table, thread or search results.
 *
 * Takes `main`, the only `article`, or the body. Leaves out what the author marked as navigation or side content, and
 * blocks of mostly short links. Only `pruneMainPart` changes the document.
 */
import type { Document, Element } from "./dom.ts";
import { MIN_CHARS } from "./plain-page.ts";

export interface MainPart {
  readonly root: Element;
  /** Elements in `root` that are not main content. */
  readonly asides: readonly Element[];
  readonly chars: number;
  /** Characters outside links. */
  readonly ownChars: number;
}

const ASIDE_SELECTOR =
  "nav,aside,footer,dialog,button,[role=navigation],[role=banner],[role=contentinfo],[role=complementary],[role=search],[role=dialog],[role=alertdialog],[role=menu]";
const ASIDE_NAME =
  /(?:^|[\s_-])(?:cookie|consent|gdpr|newsletter|subscribe|breadcrumbs?|share|sharing|social|sidebar|advert|ads?|sponsor(?:ed)?|promo|related|recommended|paywall-?prompt|skip-?link|popup|modal)(?:$|[\s_-])/i;
const LINK_BLOCK_SELECTOR = "ul,ol,div,section,p,table";

export function findMainPart(document: Document): MainPart {
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

function describeMainPart(root: Element, asides: readonly Element[], chars: number): MainPart {
  const excluded = new Set(asides);
  const links = [...root.querySelectorAll("a")].filter((link) => !isWithin(link, excluded));
  return { root, asides, chars, ownChars: chars - sumChars(links) };
}

/** Removes the asides from the document and returns the root. */
export function pruneMainPart({ root, asides }: MainPart): Element {
  for (const element of asides) element.remove();
  return root;
}

export const countChars = (element: Element): number => element.textContent.replace(/\s+/g, " ").trim().length;

function findRoot(document: Document): Element {
  const mains = [...document.querySelectorAll("main,[role=main]")];
  const articles = [...document.querySelectorAll("article")];
  const [main] = mains;
  if (mains.length === 1 && main && countChars(main) >= MIN_CHARS) return main;
  const [article] = articles;
  if (articles.length === 1 && article && countChars(article) >= MIN_CHARS) return article;
  return document.body;
}

/** True for a block of three or more short links with hardly any other text. */
function isMenu(block: Element): boolean {
  const links = [...block.querySelectorAll("a")];
  if (links.length < 3 || links.length > 200) return false;
  const linked = links.reduce((chars, link) => chars + countChars(link), 0);
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
