/**
 * plain-html.ts -- reads all the text of an HTML page without building a tree: for a page that is too large, too deep
 * or too broken.
 *
 * Takes linear time on any input. Headings, list items and table cells keep a mark. Text that a style hides is
 * included.
 */
import { Tokenizer } from "htmlparser2";
import { joinLinks, type Link, MAX_LINKS, nameLink, type Readable, resolveLink } from "./readable.ts";

/** A shorter text is neither an article nor a main part. */
export const MIN_CHARS = 200;

export function readPlainly(html: string, url: string, remark: string): Readable {
  const { title, text, links } = readPlainHtml(html, url);
  return { title, text, links: joinLinks(links), remarks: [remark, ...explainMissingText(html, text.trim().length)] };
}

/** Explains a page with hardly any text. `chars`: length of its text. */
export function explainMissingText(html: string, chars: number): string[] {
  const remarks: string[] = [];
  if (chars < 1_500 && /<input[^>]{0,300}type\s*=\s*["']?password/i.test(html))
    remarks.push("The page asks for a login.");
  if (chars < MIN_CHARS && /<script[\s>]/i.test(html))
    remarks.push("The page has hardly any text of its own: a script makes it, and goald runs no scripts of pages.");
  else if (chars === 0) remarks.push("The page is empty.");
  return remarks;
}

export type PlainPage = Omit<Readable, "remarks">;

/** The page's text does not include the content of these elements. */
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
/** Text that is written before the content of an element. */
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
/** Replaces the name `title` in tags that no `</title>` follows: the tokenizer would take the rest of the page for a title. */
const UNCLOSED_TITLE = "unclosed-title";

export function readPlainHtml(html: string, base: string): PlainPage {
  const writer = createPlainWriter(base);
  const source = renameUnclosedTitles(html).replaceAll("<![CDATA[", "<!CDATA[");
  const unfinished = tokenize(source, writer);
  // A quote that is never closed hides the rest of the page. A second pass reads the rest without quotes in tags.
  if (unfinished !== undefined) tokenize(removeQuotesInTags(source.slice(unfinished)), writer);
  return writer.finish();
}

/** Returns the index of a tag that the page opens and never ends. */
function tokenize(html: string, writer: ReturnType<typeof createPlainWriter>): number | undefined {
  let name = "";
  let openedAt: number | undefined;
  let href: string | undefined;
  let isHref = false;
  const openTag = (): void => {
    openedAt = undefined;
    writer.openTag(name, href);
  };
  const ignore = (): void => undefined;
  const tokenizer = new Tokenizer(
    {},
    {
      ontext: (start, end) => writer.addText(html.slice(start, end)),
      ontextentity: (codePoint) => writer.addText(String.fromCodePoint(codePoint)),
      onopentagname: (start, end) => {
        openedAt = start - 1;
        name = html.slice(start, end).toLowerCase();
        href = undefined;
      },
      onattribname: (start, end) => {
        isHref = name === "a" && href === undefined && html.slice(start, end).toLowerCase() === "href";
        if (isHref) href = "";
      },
      onattribdata: (start, end) => {
        if (isHref) href += html.slice(start, end);
      },
      onattribentity: (codePoint) => {
        if (isHref) href += String.fromCodePoint(codePoint);
      },
      onattribend: ignore,
      onopentagend: openTag,
      onselfclosingtag: openTag,
      onclosetag: (start, end) => writer.closeTag(html.slice(start, end).toLowerCase()),
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return openedAt;
}

function renameUnclosedTitles(html: string): string {
  let lastClose = 0;
  for (const { index } of html.matchAll(/<\/title/gi)) lastClose = index;
  return html.slice(0, lastClose) + html.slice(lastClose).replace(/<title(?=[\s/>])/gi, `<${UNCLOSED_TITLE}`);
}

function removeQuotesInTags(html: string): string {
  // The pattern finds a `>` from every start, so that it takes linear time.
  const end = html.lastIndexOf(">") + 1;
  const tags = html.slice(0, end).replace(/<[a-z][^>]*>/gi, (tag) => tag.replace(/["']/g, " "));
  return tags + html.slice(end);
}

function createPlainWriter(base: string) {
  const parts: string[] = [];
  const links: Link[] = [];
  let title = "";
  /** Text of the title that is being read. */
  let openTitle: string | undefined;
  /** Name of the element whose content is being skipped. */
  let skipped: string | undefined;
  let link: { readonly href: string; readonly from: number } | undefined;

  function endTitle(): void {
    title ||= openTitle ?? "";
    openTitle = undefined;
  }
  function endLink(): void {
    if (link && links.length < MAX_LINKS)
      links.push({ text: nameLink(parts.slice(link.from).join("")), href: link.href });
    link = undefined;
  }
  return {
    addText: (text: string): void => {
      if (openTitle !== undefined) openTitle += text;
      else if (skipped === undefined) parts.push(text);
    },
    openTag: (name: string, href: string | undefined): void => {
      endTitle();
      if (skipped !== undefined) return;
      if (SKIPPED.has(name)) skipped = name;
      else if (name === "title" || name === UNCLOSED_TITLE) openTitle = "";
      else parts.push(MARKS[name] ?? breakAround(name));
      if (name !== "a") return;
      endLink();
      const address = resolveLink(href ?? null, base);
      if (address !== undefined) link = { href: address, from: parts.length };
    },
    closeTag: (name: string): void => {
      endTitle();
      if (name === skipped) skipped = undefined;
      if (skipped !== undefined) return;
      if (name === "a") endLink();
      const mark = MARKS[name] ?? breakAround(name);
      parts.push(mark.startsWith("\n\n") ? "\n\n" : mark === "\n" ? "\n" : "");
    },
    finish: (): PlainPage => {
      endTitle();
      const text = parts
        .join("")
        .replace(/[^\S\n]+/g, " ")
        .replaceAll("\n ", "\n");
      return { title, text, links };
    },
  };
}

const breakAround = (name: string): string => (BLOCKS.test(name) ? "\n" : "");
