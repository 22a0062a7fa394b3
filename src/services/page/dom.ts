/** dom.ts -- the part of a document's tree that this room uses, and walks over it that need no stack. */
import { parseHTML } from "linkedom";

export interface Node {
  /** 1 element, 3 text. */
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
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
}
export interface Document extends Element {
  readonly body: Element;
  /** Null for an empty page, before it is built. */
  readonly documentElement: Element | null;
}

/**
 * A page whose `html`, `head` and `body` are not where they belong is put into new ones, or parts of it would
 * be out of sight. Scripts do not run, nothing is loaded.
 */
export function parseDocument(html: string): Document {
  const document = /<html[\s>]/i.test(html) && /<body[\s>]/i.test(html) ? parse(html) : undefined;
  return document && isWellBuilt(document)
    ? document
    : parse(`<!doctype html><html><head></head><body>${unframe(html)}</body></html>`);
}

const parse = (html: string): Document => parseHTML(html).document as unknown as Document;

function isWellBuilt({ documentElement }: Document): boolean {
  if (documentElement?.tagName !== "HTML") return false;
  const parts: string[] = [];
  for (let child = documentElement.firstChild; child; child = child.nextSibling)
    if (isElement(child)) parts.push(child.tagName);
    else if (isText(child) && child.textContent.trim() !== "") return false;
  return parts.join(" ") === "HEAD BODY" || parts.join(" ") === "BODY";
}

const unframe = (html: string): string =>
  html.replace(/<!doctype[^>]{0,1000}>|<\/?(?:html|head|body)(?:\s[^>]{0,2000})?>/gi, "");

/** Every node below the root in the order of the text, with its depth; `visit` returns false for what is not to be entered. */
export function walk(root: Node, visit: (node: Node, depth: number) => boolean): void {
  let depth = 1;
  let node = root.firstChild;
  while (node) {
    const inner = visit(node, depth) ? node.firstChild : null;
    if (inner) {
      node = inner;
      depth += 1;
      continue;
    }
    while (node && !node.nextSibling) {
      node = node.parentNode === root ? null : (node.parentNode as Node | null);
      depth -= 1;
    }
    node = node?.nextSibling ?? null;
  }
}

export const isElement = (node: Node): node is Element => node.nodeType === 1;
export const isText = (node: Node): boolean => node.nodeType === 3;
