/**
 * main-part.ts -- the part of a page that is its own, where it is no article: lists, tables, threads, results.
 *
 * `main` or the one `article` where there is one, else the body; without what its author marked as navigation, frame or
 * side matter, and without blocks that are hardly more than short links. Nothing is moved before `pruneMainPart`.
 */
import type { Document, Element } from "./dom.ts";

export interface MainPart {
  readonly root: Element;
  /** To be taken out of `root`. */
  readonly besides: readonly Element[];
  readonly chars: number;
  /** Without those that lie in links. */
  readonly ownChars: number;
}

/** Less is no page's main part. */
const MIN_CHARS = 200;

const BESIDES =
  "nav,aside,footer,dialog,button,[role=navigation],[role=banner],[role=contentinfo],[role=complementary],[role=search],[role=dialog],[role=alertdialog],[role=menu]";
const NAMED_BESIDES =
  /(?:^|[\s_-])(?:cookie|consent|gdpr|newsletter|subscribe|breadcrumbs?|share|sharing|social|sidebar|advert|ads?|sponsor(?:ed)?|promo|related|recommended|paywall-?prompt|skip-?link|popup|modal)(?:$|[\s_-])/i;
const LINK_BLOCKS = "ul,ol,div,section,p,table";

export function findMainPart(document: Document): MainPart {
  const root = rootOf(document);
  const marked = outermost([
    ...root.querySelectorAll(BESIDES),
    ...[...root.querySelectorAll("header")].filter((header) => !header.querySelector("h1,h2")),
    ...[...root.querySelectorAll("div,section,ul,p")].filter((block) =>
      NAMED_BESIDES.test(`${block.id} ${block.className}`.slice(0, 300)),
    ),
  ]);
  const all = charsOf(root);
  const menus = outermost([...root.querySelectorAll(LINK_BLOCKS)].filter(isMenu));
  const without = outermost([...marked, ...menus]);
  const left = all - sum(without);
  // An index of short links is a menu that is the page.
  if (left >= MIN_CHARS && left > all / 5) return describe(root, without, left);
  const kept = all - sum(marked);
  return kept > 0 ? describe(root, marked, kept) : describe(root, [], all);
}

function describe(root: Element, besides: readonly Element[], chars: number): MainPart {
  const aside = new Set(besides);
  const links = [...root.querySelectorAll("a")].filter((link) => !isWithin(link, aside));
  return { root, besides, chars, ownChars: chars - sum(links) };
}

/** The root, without what stands beside. */
export function pruneMainPart({ root, besides }: MainPart): Element {
  for (const element of besides) element.remove();
  return root;
}

export const charsOf = (element: Element): number => element.textContent.replace(/\s+/g, " ").trim().length;

function rootOf(document: Document): Element {
  const mains = [...document.querySelectorAll("main,[role=main]")];
  const articles = [...document.querySelectorAll("article")];
  const [main] = mains;
  if (mains.length === 1 && main && charsOf(main) >= MIN_CHARS) return main;
  const [article] = articles;
  if (articles.length === 1 && article && charsOf(article) >= MIN_CHARS) return article;
  return document.body;
}

/** A few short links, and next to nothing that is none. */
function isMenu(block: Element): boolean {
  const links = [...block.querySelectorAll("a")];
  if (links.length < 3 || links.length > 200) return false;
  const linked = links.reduce((chars, link) => chars + charsOf(link), 0);
  return linked / links.length < 20 && linked > charsOf(block) * 0.8;
}

const sum = (elements: readonly Element[]): number => elements.reduce((chars, element) => chars + charsOf(element), 0);

/** Those that lie in no other of them. */
function outermost(elements: readonly Element[]): Element[] {
  const all = new Set(elements);
  return [...all].filter((element) => !isWithin(element, all));
}

function isWithin(element: Element, others: ReadonlySet<Element>): boolean {
  for (let above = element.parentNode; above; above = above.parentNode) if (others.has(above)) return true;
  return false;
}
