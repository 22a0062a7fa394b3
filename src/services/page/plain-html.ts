/**
 * plain-html.ts -- all the text of an HTML page without building a tree: for what is too large, too deep or too broken.
 *
 * One pass over the characters, whatever they are. Headings, items and rows keep a mark; hidden text cannot be told
 * from the rest here.
 */
import { type Link, MAX_LINKS, resolveLink } from "./links.ts";

export interface PlainPage {
  readonly title: string;
  readonly text: string;
  readonly links: readonly Link[];
}

const SKIPPED = new Set([
  "script",
  "style",
  "template",
  "svg",
  "iframe",
  "textarea",
  "select",
  "noframes",
  "object",
  "canvas",
]);
const BLOCKS =
  /^(?:address|article|aside|blockquote|body|br|caption|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|header|hr|html|li|main|nav|ol|option|p|pre|section|summary|table|tbody|tfoot|thead|title|tr|ul)$/;
/** What stands before the text of such an element. */
const MARKS: Readonly<Record<string, string>> = {
  h1: "\n\n# ",
  h2: "\n\n## ",
  h3: "\n\n### ",
  h4: "\n\n#### ",
  h5: "\n\n##### ",
  h6: "\n\n###### ",
  p: "\n\n",
  li: "\n- ",
  td: " | ",
  th: " | ",
};
const NAME = /[a-z][^\s/>]{0,40}/iy;
const HREF = /\shref\s{0,9}=\s{0,9}(?:"([^"]{0,2000})"|'([^']{0,2000})'|([^\s"'>]{1,2000}))/i;

export function readPlainHtml(html: string, base: string): PlainPage {
  const parts: string[] = [];
  const links: Link[] = [];
  let title = "";
  let link: { readonly href: string; readonly from: number } | undefined;
  const findEnd = createTagEnds(html);
  const findClose = createCloses(html);
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open < 0) break;
    parts.push(decodeEntities(html.slice(at, open)));
    const tag = readTag(html, open, findEnd);
    at = tag.end;
    if (tag.name === "") {
      parts.push(tag.text);
    } else if (tag.isOpening && (SKIPPED.has(tag.name) || tag.name === "title")) {
      const close = findClose(tag.name, tag.end);
      if (tag.name === "title") title ||= decodeEntities(html.slice(tag.end, close));
      at = close;
    } else {
      parts.push(markOf(tag));
      if (tag.name !== "a") continue;
      if (link && links.length < MAX_LINKS) links.push({ text: parts.slice(link.from).join(""), href: link.href });
      link = undefined;
      const href = tag.isOpening ? HREF.exec(html.slice(open, Math.min(tag.end, open + 4_000))) : null;
      const address = href && resolveLink(decodeEntities(href[1] ?? href[2] ?? href[3] ?? ""), base);
      if (address) link = { href: address, from: parts.length };
    }
  }
  parts.push(decodeEntities(html.slice(at)));
  const text = parts
    .join("")
    .replace(/[^\S\n]+/g, " ")
    .replaceAll("\n ", "\n");
  return { title, text, links };
}

interface Tag {
  /** Small letters; empty for what is no tag, which is `text`. */
  readonly name: string;
  readonly isOpening: boolean;
  readonly end: number;
  readonly text: string;
}

function readTag(html: string, open: number, findEnd: (from: number) => number): Tag {
  const nothing = (end: number): Tag => ({ name: "", isOpening: false, end, text: "" });
  if (html.startsWith("<!--", open)) {
    const close = html.indexOf("-->", open + 4);
    return nothing(close < 0 ? html.length : close + 3);
  }
  const next = html[open + 1];
  if (next === "!" || next === "?") return nothing(findEnd(open));
  const isOpening = next !== "/";
  NAME.lastIndex = isOpening ? open + 1 : open + 2;
  const name = NAME.exec(html)?.[0];
  if (name === undefined) return { ...nothing(open + 1), text: isOpening ? "<" : "" };
  return { name: name.toLowerCase(), isOpening, end: findEnd(open), text: "" };
}

/** Where a tag ends, quotes heeded, until a quote stays open: from there on every `>` is taken for an end. */
function createTagEnds(html: string): (from: number) => number {
  let heedsQuotes = true;
  const plainEnd = (from: number): number => {
    const end = html.indexOf(">", from);
    return end < 0 ? html.length : end + 1;
  };
  return (from) => {
    if (!heedsQuotes) return plainEnd(from);
    let quote = "";
    for (let at = from; at < html.length; at++) {
      const character = html.charAt(at);
      if (quote !== "") quote = character === quote ? "" : quote;
      else if (character === ">") return at + 1;
      else if ((character === '"' || character === "'") && html[at - 1] === "=") quote = character;
    }
    heedsQuotes = false;
    return plainEnd(from);
  };
}

/**
 * Finds the start of the closing tag; where there is none, a title ends with the next tag, and all else with the text.
 * What is missing behind one place is missing behind all later ones: it is looked for once.
 */
function createCloses(html: string): (name: string, from: number) => number {
  const missing = new Set<string>();
  return (name, from) => {
    const close = new RegExp(`</${name}`, "gi");
    close.lastIndex = from;
    const index = missing.has(name) ? undefined : close.exec(html)?.index;
    if (index !== undefined) return index;
    missing.add(name);
    const next = name === "title" ? html.indexOf("<", from) : -1;
    return next < 0 ? html.length : next;
  };
}

function markOf({ name, isOpening }: Tag): string {
  const mark = MARKS[name];
  if (mark !== undefined) return isOpening ? mark : mark.startsWith("\n\n") ? "\n\n" : "";
  return BLOCKS.test(name) ? "\n" : "";
}

// ---------------------------------------------------------------- entities

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ensp: " ",
  emsp: " ",
  thinsp: " ",
  shy: "",
  copy: "©",
  reg: "®",
  trade: "™",
  deg: "°",
  plusmn: "±",
  times: "×",
  divide: "÷",
  micro: "µ",
  para: "¶",
  sect: "§",
  middot: "·",
  bull: "•",
  hellip: "…",
  ndash: "–",
  mdash: "—",
  lsquo: "‘",
  rsquo: "’",
  sbquo: "‚",
  ldquo: "“",
  rdquo: "”",
  bdquo: "„",
  laquo: "«",
  raquo: "»",
  lsaquo: "‹",
  rsaquo: "›",
  euro: "€",
  pound: "£",
  yen: "¥",
  cent: "¢",
  auml: "ä",
  ouml: "ö",
  uuml: "ü",
  Auml: "Ä",
  Ouml: "Ö",
  Uuml: "Ü",
  szlig: "ß",
  agrave: "à",
  aacute: "á",
  acirc: "â",
  atilde: "ã",
  aring: "å",
  aelig: "æ",
  ccedil: "ç",
  egrave: "è",
  eacute: "é",
  ecirc: "ê",
  euml: "ë",
  iacute: "í",
  icirc: "î",
  iuml: "ï",
  ntilde: "ñ",
  ograve: "ò",
  oacute: "ó",
  ocirc: "ô",
  otilde: "õ",
  oslash: "ø",
  ugrave: "ù",
  uacute: "ú",
  ucirc: "û",
  Eacute: "É",
  larr: "←",
  rarr: "→",
  uarr: "↑",
  darr: "↓",
  le: "≤",
  ge: "≥",
  ne: "≠",
};

const decodeEntities = (text: string): string =>
  text.includes("&")
    ? text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));?/gi, (whole, decimal, hex, name) => {
        if (name !== undefined) return ENTITIES[name] ?? whole;
        const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
        return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
      })
    : text;
