/**
 * markdown.ts -- Markdown as elements: marked reads it into tokens, and each token becomes an element or a text. No
 * HTML is ever made, so there is nothing to clean. HTML in the text is shown as text.
 */
import { lexer, type Token, type Tokens } from "/vendor/marked.js";
import { type Children, html } from "./html.ts";

/** Makes an element for a picture of the agent's folder. */
type ShowPicture = (path: string, text: string) => Children;

export const Markdown = ({ text, picture }: { text: string; picture: ShowPicture }) =>
  html`<div class="prose">${elements(lexer(text), picture)}</div>`;

const elements = (tokens: readonly Token[], picture: ShowPicture): readonly Children[] =>
  tokens.map((token) => element(token, picture));

/** Tokens that hold nothing but other tokens or a text, and have the name of their tag. */
const TAGS = ["blockquote", "strong", "em", "del", "hr", "br"];

function element(token: Token, picture: ShowPicture): Children {
  const { type, raw, text = raw, tokens, href, depth } = token as Tokens.Generic;
  const inside = tokens ? elements(tokens, picture) : decode(text);
  const tag = type === "heading" ? `h${Math.min(6, depth + 1)}` : TAGS.find((each) => each === type);
  if (tag === "hr" || tag === "br") return html`<${tag} />`;
  if (tag) return html`<${tag}>${inside}</${tag}>`;
  if (type === "paragraph") return html`<p>${inside}</p>`;
  if (type === "text" || type === "escape") return inside;
  if (type === "code") return html`<pre class="scroll" tabindex="0">${text}</pre>`;
  if (type === "codespan") return html`<code>${text}</code>`;
  if (type === "list") return list(token as Tokens.List, picture);
  if (type === "table") return table(token as Tokens.Table, picture);
  if (type === "link") return link(href, inside);
  if (type === "image") return isElsewhere(href) ? `[picture elsewhere: ${href}]` : picture(href, text);
  return /^(space|def|checkbox)$/.test(type) ? null : raw;
}

function list({ ordered, start, items }: Tokens.List, picture: ShowPicture): Children {
  const sign = ({ task, checked }: Tokens.ListItem): string => (task ? (checked ? "☑ " : "☐ ") : "");
  const rows = items.map((item) => html`<li>${sign(item)}${elements(item.tokens, picture)}</li>`);
  return ordered ? html`<ol start=${start || 1}>${rows}</ol>` : html`<ul>${rows}</ul>`;
}

function table({ header, rows }: Tokens.Table, picture: ShowPicture): Children {
  const row = (tag: string, cells: readonly Tokens.TableCell[]): Children => {
    const shown = cells.map(({ tokens, align }) => [align === "right" ? "num" : "", elements(tokens, picture)]);
    return html`<tr>${shown.map(([name, inside]) => html`<${tag} class=${name}>${inside}</${tag}>`)}</tr>`;
  };
  const body = rows.map((cells) => row("td", cells));
  return html`<div class="scroll" tabindex="0"><table><thead>${row("th", header)}</thead><tbody>${body}</tbody>
    </table></div>`;
}

const isElsewhere = (address: string): boolean => /^[a-z][a-z0-9+.-]*:|^\/\//i.test(address);

/** Only web addresses can be followed, and they do not learn where they were followed from. */
function link(href: string, words: Children): Children {
  if (!/^https?:\/\//i.test(href)) return html`<span title=${href}>${words}</span>`;
  return html`<a href=${href} title=${href} rel="noreferrer noopener" target="_blank">${words}</a>`;
}

const SIGNS = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" }));
const decode = (text: string): string => text.replace(/&([a-z#0-9]+);/g, (all, name) => SIGNS.get(name) ?? all);
