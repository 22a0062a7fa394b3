/**
 * prune.ts -- takes out of a document what a reader does not see, and what is too deep to be gone through.
 *
 * Hidden text is where a page speaks to machines behind a person's back. What is hidden by a style sheet cannot be told
 * from here: only attributes and inline styles are read.
 */
import { type Document, type Element, isElement, walk } from "./dom.ts";

const UNSEEN_TAGS =
  "script,style,template,svg,canvas,iframe,frame,object,embed,audio,video,select,datalist,input,textarea";
const HIDING_STYLE =
  /(?:display:none|visibility:(?:hidden|collapse)|opacity:0*(?:\.0+)?(?:%|;|!|$)|font-size:0*(?:\.\d)?(?:px|pt|em|rem|%)?(?:;|!|$)|text-indent:-\d{3,}|(?:left|right|top|bottom):-\d{4,}|clip:rect\(0|clip-path:inset\((?:50|100)%|(?:^|;)color:transparent|(?:^|;)(?:max-)?(?:height|width):0(?:px)?(?:;|!|$))/;

/** Text size and the like are read up to here. */
const MAX_STYLE_CHARS = 1_000;

export function removeUnseen(document: Document): void {
  for (const element of [...document.querySelectorAll(UNSEEN_TAGS)]) element.remove();
  for (const element of [...document.querySelectorAll("[hidden],[aria-hidden=true],[style],dialog:not([open])")])
    if (isHidden(element) && !isPageItself(element)) element.remove();
}

function isHidden(element: Element): boolean {
  if (element.hasAttribute("hidden") || element.tagName === "DIALOG") return true;
  if (element.getAttribute("aria-hidden") === "true") return true;
  const style = (element.getAttribute("style") ?? "").slice(0, MAX_STYLE_CHARS).replace(/\s+/g, "").toLowerCase();
  return HIDING_STYLE.test(style);
}

/** Pages that hide all of themselves show it by a script a moment later. */
const isPageItself = (element: Element): boolean => element.tagName === "HTML" || element.tagName === "BODY";

/** Text that lies deeper stays, its structure goes. Tells whether there was any. */
export function flattenBelow(root: Element, maxDepth: number): boolean {
  const deep: Element[] = [];
  walk(root, (node, depth) => {
    if (depth < maxDepth || !isElement(node)) return true;
    if (node.firstChild && isElement(node.firstChild)) deep.push(node);
    return false;
  });
  for (const element of deep) element.textContent = `${element.textContent}`;
  return deep.length > 0;
}
