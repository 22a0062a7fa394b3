/** plain-page.ts -- an HTML page as all of its text, and what is to be said of a page that has hardly any. */
import { joinLinks } from "./links.ts";
import { readPlainHtml } from "./plain-html.ts";
import type { Readable } from "./readable.ts";

/** Less is no article, and no main part. */
export const MIN_CHARS = 200;

export function readPlainly(html: string, url: string, remark: string): Readable {
  const { title, text, links } = readPlainHtml(html, url);
  return { title, text, links: joinLinks(links), remarks: [remark, ...remarksOn(html, text.trim().length)] };
}

/** What a page of next to no text is instead. */
export function remarksOn(html: string, chars: number): string[] {
  const remarks: string[] = [];
  if (chars < 1_500 && /<input[^>]{0,300}type\s*=\s*["']?password/i.test(html))
    remarks.push("The page asks for a login.");
  if (chars < MIN_CHARS && /<script[\s>]/i.test(html))
    remarks.push("The page has hardly any text of its own: a script makes it, and goald runs no scripts of pages.");
  else if (chars === 0) remarks.push("The page is empty.");
  return remarks;
}
