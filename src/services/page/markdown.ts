/**
 * markdown.ts -- renders a part of a document as Markdown: headings, lists, tables, code and links.
 *
 * Does not escape words, so that a quote from the text occurs on the page. Replaces images by their alternative text.
 * Renders tables itself: the plugin takes quadratic time and reads `table.rows`, which linkedom lacks. A layout table
 * becomes its content. Takes Turndown's build for browsers: the other one loads a DOM, and here linkedom has made it.
 */
import gfm from "@joplin/turndown-plugin-gfm";
import Turndown from "turndown/lib/turndown.browser.cjs.js";
import { rememberBy } from "#util/caches.ts";
import { type Element, isText, type Node } from "./dom.ts";
import { resolveLink } from "./readable.ts";

export function toMarkdown(root: Element, base: string): string {
  const service = new Turndown({
    headingStyle: "atx",
    bulletListMarker: "-",
    codeBlockStyle: "fenced",
    hr: "---",
  });
  service.escape = (text) => text;
  service.use([gfm.strikethrough, gfm.taskListItems, gfm.highlightedCodeBlock]);
  service.remove(["script", "style", "title", "button"]);
  service.addRule("break", {
    filter: "br",
    replacement: (_content, node: Node) => (isSecondBreak(node) ? "\n\n" : "\n"),
  });
  addLinks(service, base);
  addCode(service);
  addLists(service);
  addTables(service);
  return service.turndown(root);
}

/** Old pages separate paragraphs by two line breaks. */
function isSecondBreak(node: Node): boolean {
  let before = node.previousSibling;
  while (before && isText(before) && before.textContent.trim() === "") before = before.previousSibling;
  return before?.nodeName === "BR";
}

function addLinks(service: Turndown, base: string): void {
  service.addRule("link", {
    filter: "a",
    replacement: (content, anchor: Element) => {
      const href = resolveLink(anchor.getAttribute("href"), base);
      return href === undefined ? content : linkFirstLine(content, href);
    },
  });
  service.addRule("image", {
    filter: "img",
    replacement: (_content, image: Element) => {
      const text = (image.getAttribute("alt") ?? "").replace(/\s+/g, " ").trim();
      return text.length < 3 ? "" : `[image: ${text}]`;
    },
  });
}

/** Links only the first line if a link encloses blocks, such as a card or an unclosed link. */
function linkFirstLine(content: string, href: string): string {
  const address = href.replaceAll("(", "%28").replaceAll(")", "%29");
  const lines = content.split("\n");
  const first = lines.findIndex((line) => line.trim() !== "");
  const [, mark = "", text = ""] = /^(\s*(?:#{1,6} |- |> |\d{1,9}\. )?)(.*)$/.exec(lines[first] ?? "") ?? [];
  const name = text.trim();
  if (name === "" || name === href || name.startsWith("|")) return content;
  lines[first] = `${mark}[${name}](${address})${text.endsWith(" ") ? " " : ""}`;
  return lines.join("\n");
}

function addCode(service: Turndown): void {
  service.addRule("preformatted", {
    filter: "pre",
    replacement: (_content, block: Element) => {
      const code = readTextWithBreaks(block).replace(/^\n+/, "").trimEnd();
      const classes = `${block.className} ${block.querySelector("code")?.className ?? ""}`;
      const language = /\b(?:language|lang|highlight-source|brush:?)[-\s]([\w+#-]+)/.exec(classes)?.[1] ?? "";
      const longest = Math.max(2, ...[...code.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
      const fence = "`".repeat(Math.min(longest + 1, 20));
      return code === "" ? "" : `\n\n${fence}${language}\n${code}\n${fence}\n\n`;
    },
  });
}

function readTextWithBreaks(node: Node): string {
  let text = "";
  for (let child = node.firstChild; child; child = child.nextSibling)
    text += child.nodeName === "BR" ? "\n" : child.nodeType === 3 ? child.textContent : readTextWithBreaks(child);
  return text;
}

function addLists(service: Turndown): void {
  service.addRule("item", {
    filter: "li",
    replacement: (content, item: Element) => {
      const lines = content.replace(/^\n+/, "").trimEnd().split("\n");
      if (lines.every((line) => line === "")) return "";
      const mark = item.parentNode?.nodeName === "OL" ? `${nextItemNumber(item)}. ` : "- ";
      const inner = lines.map((line, index) => (index === 0 || line === "" ? line : " ".repeat(mark.length) + line));
      return `${mark}${inner.join("\n")}\n`;
    },
  });
}

const lastItemNumbers = new WeakMap<Element, number>();
/** Turndown converts items in document order, so a counter per list is enough. */
function nextItemNumber(item: Element): number {
  const list = item.parentNode as Element;
  const number = (lastItemNumbers.get(list) ?? (Number.parseInt(list.getAttribute("start") ?? "1", 10) || 1) - 1) + 1;
  lastItemNumbers.set(list, number);
  return number;
}

const MAX_SPAN = 20;

function addTables(service: Turndown): void {
  const isLayout = rememberBy(looksLikeLayout);
  service.addRule("cell", {
    filter: ["td", "th"],
    replacement: (content, cell: Element) => {
      const table = findTable(cell);
      if (!table || isLayout(table)) return `\n\n${content.trim()}\n\n`;
      const text = joinLines(content).replaceAll("|", "\\|");
      const span = Math.min(MAX_SPAN, Number.parseInt(cell.getAttribute("colspan") ?? "1", 10) || 1);
      return ` ${text} |${" |".repeat(Math.max(0, span - 1))}`;
    },
  });
  service.addRule("row", {
    filter: "tr",
    replacement: (content, row: Element) => {
      const table = findTable(row);
      return !table || isLayout(table) ? content : `\n|${content.replaceAll("\n", "")}`;
    },
  });
  service.addRule("rows", { filter: ["thead", "tbody", "tfoot"], replacement: (content) => `\n${content}\n` });
  service.addRule("caption", { filter: "caption", replacement: (content) => `\n${content.trim()}\n` });
  service.addRule("table", {
    filter: "table",
    replacement: (content, table: Element) => `\n\n${isLayout(table) ? content : addHeaderRule(content)}\n\n`,
  });
}

const joinLines = (content: string): string =>
  content
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");

/** Adds the line below the first row that makes the rows a table. Puts other lines, such as a caption, above. */
function addHeaderRule(content: string): string {
  const lines = content.split("\n").filter((line) => line.trim() !== "");
  const rows = lines.filter((line) => line.startsWith("|"));
  const others = lines.filter((line) => !line.startsWith("|"));
  const [head = "", ...body] = rows;
  const columns = head.replaceAll("\\|", "").split("|").length - 2;
  const table = rows.length === 0 ? [] : [head, `|${" --- |".repeat(Math.max(1, columns))}`, ...body];
  return `${others.join("\n")}${others.length > 0 ? "\n\n" : ""}${table.join("\n")}`;
}

function looksLikeLayout(table: Element): boolean {
  if (/^(?:presentation|none)$/.test(table.getAttribute("role") ?? "")) return true;
  if (table.querySelector("table,h1,h2,h3,pre")) return true;
  return table.querySelector("td + td,th + td,th + th,td + th") === null;
}

function findTable(cell: Element): Element | null {
  let above = cell.parentNode;
  while (above && above.nodeName !== "TABLE") above = above.parentNode;
  return above;
}
