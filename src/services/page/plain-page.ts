/** plain-page.ts -- reads an HTML page as plain text, and explains why a page has hardly any. */
import { joinLinks } from "./links.ts";
import { readPlainHtml } from "./plain-html.ts";
import type { Readable } from "./readable.ts";

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
