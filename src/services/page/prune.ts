/**
 * prune.ts -- removes hidden elements from a document, and flattens what is nested too deeply.
 *
 * Hidden text can address a model without a person seeing it. Reads attributes and inline styles only: style sheets are
 * not loaded.
 */
import { type Document, type Element, isElement, walkTree } from "./dom.ts";

const HIDDEN_TAGS =
  "script,style,template,svg,canvas,iframe,frame,object,embed,audio,video,select,datalist,input,textarea";
const HIDING_STYLE =
  /(?:display:none|visibility:(?:hidden|collapse)|opacity:0*(?:\.0+)?(?:%|;|!|$)|font-size:0*(?:\.\d)?(?:px|pt|em|rem|%)?(?:;|!|$)|text-indent:-\d{3,}|(?:left|right|top|bottom):-\d{4,}|clip:rect\(0|clip-path:inset\((?:50|100)%|(?:^|;)color:transparent|(?:^|;)(?:max-)?(?:height|width):0(?:px)?(?:;|!|$))/;

/** Longer inline styles are read up to here. */
const MAX_STYLE_CHARS = 1_000;

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

/** Replaces what is nested deeper than `maxDepth` by its text. Returns whether there was any. */
export function flattenBelow(root: Element, maxDepth: number): boolean {
  const deep: Element[] = [];
  walkTree(root, (node, depth) => {
    if (depth < maxDepth || !isElement(node)) return true;
    if (node.firstChild && isElement(node.firstChild)) deep.push(node);
    return false;
  });
  for (const element of deep) element.textContent = `${element.textContent}`;
  return deep.length > 0;
}
