/** dom.ts -- the DOM types that this folder uses, and what is changed in a document before it is read. */
import { parseHTML } from "linkedom";

export interface Node {
  /** 1 for an element, 3 for text. */
  readonly nodeType: number;
  readonly nodeName: string;
  textContent: string;
  readonly parentNode: Element | null;
  readonly firstChild: Node | null;
  readonly nextSibling: Node | null;
  readonly previousSibling: Node | null;
  remove(): void;
}
export interface Element extends Node {
  readonly tagName: string;
  readonly id: string;
  readonly className: string;
  readonly children: Iterable<Element>;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
}
export interface Document extends Element {
  readonly body: Element;
  /** Null for an empty page, before `parseDocument` rebuilds it. */
  readonly documentElement: Element | null;
}

/**
 * Rebuilds a page whose `html`, `head` and `body` are misplaced: linkedom would leave parts of it out.
 * Runs no scripts and loads nothing.
 */
export function parseDocument(html: string): Document {
  const document = /<html[\s>]/i.test(html) && /<body[\s>]/i.test(html) ? parseHtml(html) : undefined;
  return document && hasUsualFrame(document)
    ? document
    : parseHtml(`<!doctype html><html><head></head><body>${removeFrameTags(html)}</body></html>`);
}

const parseHtml = (html: string): Document => parseHTML(html).document as unknown as Document;

function hasUsualFrame({ documentElement }: Document): boolean {
  if (documentElement?.tagName !== "HTML") return false;
  const parts: string[] = [];
  for (let child = documentElement.firstChild; child; child = child.nextSibling)
    if (isElement(child)) parts.push(child.tagName);
    else if (isText(child) && child.textContent.trim() !== "") return false;
  return parts.join(" ") === "HEAD BODY" || parts.join(" ") === "BODY";
}

const removeFrameTags = (html: string): string =>
  html.replace(/<!doctype[^>]{0,1000}>|<\/?(?:html|head|body)(?:\s[^>]{0,2000})?>/gi, "");

const isElement = (node: Node): node is Element => node.nodeType === 1;
export const isText = (node: Node): boolean => node.nodeType === 3;

const HIDDEN_TAGS =
  "script,style,template,svg,canvas,iframe,frame,object,embed,audio,video,select,datalist,input,textarea";
const HIDING_STYLE =
  /(?:display:none|visibility:(?:hidden|collapse)|opacity:0*(?:\.0+)?(?:%|;|!|$)|font-size:0*(?:\.\d)?(?:px|pt|em|rem|%)?(?:;|!|$)|text-indent:-\d{3,}|(?:left|right|top|bottom):-\d{4,}|clip:rect\(0|clip-path:inset\((?:50|100)%|(?:^|;)color:transparent|(?:^|;)(?:max-)?(?:height|width):0(?:px)?(?:;|!|$))/;

/** Longer inline styles are read up to here. */
const MAX_STYLE_CHARS = 1_000;

/**
 * Removes hidden elements from a document. Hidden text can address a model without a person seeing it. Reads attributes
 * and inline styles only: style sheets are not loaded.
 */
export function removeHidden(document: Document): void {
  for (const element of [...document.querySelectorAll(HIDDEN_TAGS)]) element.remove();
  for (const element of [...document.querySelectorAll("[hidden],[aria-hidden=true],[style],dialog:not([open])")])
    if (isHidden(element) && !isWholePage(element)) element.remove();
}

function isHidden(element: Element): boolean {
  if (element.hasAttribute("hidden") || element.tagName === "DIALOG") return true;
  if (element.getAttribute("aria-hidden") === "true") return true;
  const style = (element.getAttribute("style") ?? "").slice(0, MAX_STYLE_CHARS).replace(/\s+/g, "").toLowerCase();
  return HIDING_STYLE.test(style);
}

/** A page that hides all of itself shows it later by a script. */
const isWholePage = (element: Element): boolean => element.tagName === "HTML" || element.tagName === "BODY";

/** Replaces what is nested deeper than `maxDepth` by its text. Returns whether there was any. Works without recursion. */
export function flattenBelow(root: Element, maxDepth: number): boolean {
  let level: readonly Element[] = [root];
  for (let depth = 0; depth < maxDepth; depth++) level = level.flatMap(({ children }) => [...children]);
  const deep = level.filter(({ children }) => [...children].length > 0);
  for (const element of deep) element.textContent = `${element.textContent}`;
  return deep.length > 0;
}
