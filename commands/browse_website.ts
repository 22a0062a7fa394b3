/**
 * browse_website -- answers a question about one web page, with quotes that are checked against the page.
 *
 * The page is saved in the workspace, so that the answer can be checked later. The file name is the title and a hash of the
 * address, so a second run has the same result. Without a model, the nearest passages are the answer.
 */
import { hash } from "node:crypto";
import { type CommandContext, defineCommand, fail, succeed } from "#core/command.ts";
import { isGoaldError } from "#core/errors.ts";
import type { Page, Passage } from "#core/services.ts";
import { slugWords } from "#core/text.ts";
import { makeInert } from "#util/outside-text.ts";
import { closed, described, flag, listOf, nullable, open, type Static, text } from "#util/schema.ts";
import { ADDRESS } from "#util/web-address.ts";

/** Passages for the model, in tokens. */
const MATERIAL_TOKENS = 5_000;
/** Passages shown in place of an answer, in tokens. */
const SHOWN_TOKENS = 2_000;
const MAX_LINKS = 8;
const MAX_QUOTES = 5;
/** The most code points of a title in a name in `pages/`: with four bytes each, the name stays below the 255 bytes of a file name. */
const MAX_NAME_CHARS = 56;

const QUOTE = closed({ passage: text, text });
const ANSWER = closed({ found: flag, answer: text, quotes: listOf(QUOTE) });

export default defineCommand({
  name: "browse_website",
  label: "Browse Website",
  group: "web",
  summary: "reads a web page, PDF or text on the web and answers a question about it, with quotes.",
  args: {
    type: "object",
    properties: {
      url: { type: "string", description: "address of the page", minLength: 1 },
      question: {
        type: "string",
        description: "what you want to find out",
        minLength: 1,
      },
    },
    required: ["url", "question"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: ["url"],
  returns: open({
    answer: text,
    url: text,
    title: text,
    file: described(nullable(text), "the kept page"),
    links: listOf(open({ text, href: text })),
  }),
  effect: "idempotent",
  timeoutMs: 600_000,
  needs: ["pages", "advisor"],

  async run({ url, question }, context) {
    const { use, signal } = context;
    const page = await use("pages").read(url, signal);
    const kept = await keepPage(page, context);
    const artifacts = kept.path === undefined ? [] : [kept.path];
    const passages = await use("pages").select(page, question, MATERIAL_TOKENS);
    if (passages.length === 0) {
      const reasons = page.remarks.join(" ") || "There is no text on it.";
      const text = `The page was read, and holds nothing to answer from. ${reasons}\nIts address: “${page.url}”`;
      return fail("page-empty", text, { artifacts });
    }
    const answer =
      (await askModel(page, passages, question, context)) ??
      formatPassages(await use("pages").select(page, question, SHOWN_TOKENS));
    const links = rankLinks(page.links, question);
    const text = [answer, describePage(page, links), kept.words].join("\n\n");
    // The answer comes first, because a recall may show no more than the beginning.
    const value = { answer, url: page.url, title: page.title, file: kept.path ?? null, links };
    return succeed(text, { source: "web", artifacts, value });
  },
});

/** Returns the model's answer as text; undefined when no model is available. */
async function askModel(page: Page, passages: readonly Passage[], question: string, { use, signal }: CommandContext) {
  const material = [
    { label: "The question", text: question },
    { label: "The page", text: `${page.title}\n${page.url}` },
    ...passages.map(({ id, headings, text: passage }) => ({
      label: `Passage ${id}`,
      text: headings.length > 0 ? `(in: ${headings.join(" > ")})\n${passage}` : passage,
    })),
  ];
  try {
    const asked = { role: "fast", words: "browse-website", material, schema: ANSWER } as const;
    const { value } = await use("advisor").ask(asked, signal);
    return dropAddresses(formatAnswer(value as Static<typeof ANSWER>, passages), page);
  } catch (error) {
    if (
      isGoaldError(error, "GOALD_MODEL") ||
      isGoaldError(error, "GOALD_LIMIT") ||
      isGoaldError(error, "GOALD_NOT_CONFIGURED")
    )
      return undefined;
    throw error;
  }
}

/** A page may have told the model to write an address that holds something of the question, also as a quote. */
function dropAddresses(answer: string, { text, links, url }: Page): string {
  const page = [text, url, ...links.map(({ href }) => href)].join("\n");
  const names = page.toLowerCase();
  // Case says nothing in a name such as `Node.js`, which is no address but looks like a host.
  const isOnPage = (written: string): boolean =>
    page.includes(written) || (!written.includes("/") && names.includes(written.toLowerCase()));
  return answer.replace(ADDRESS, (run) => {
    const address = run.replace(/(?:\*{1,2}|[)\]'|])?[.,;:!?]?$/, "");
    return isOnPage(run) || isOnPage(address) ? run : "(an address that is not on the page)";
  });
}

function formatAnswer({ found, answer, quotes }: Static<typeof ANSWER>, passages: readonly Passage[]): string {
  if (!found) return `Not on this page, as far as it was read. ${answer}`;
  const checked = quotes.slice(0, MAX_QUOTES).map((quote) => ({ ...quote, passage: findPassage(quote, passages) }));
  const proven = checked.filter(({ passage }) => passage !== undefined);
  const lines = proven.map(({ passage, text: quoted }) => `- ${passage}: "${quoted.replace(/\s+/g, " ").trim()}"`);
  const dropped = checked.length - proven.length;
  if (proven.length === 0)
    lines.push("None that stands on the page: do not rely on this answer before you have looked.");
  else if (dropped > 0)
    lines.push(`(${dropped} more did not stand on the page and ${dropped === 1 ? "was" : "were"} left out.)`);
  return `${answer}\n\nQuotes:\n${lines.join("\n")}`;
}

/** Finds the passage that contains a quote, the named one first. Ignores blanks and Markdown marks. */
function findPassage(quote: Static<typeof QUOTE>, passages: readonly Passage[]): string | undefined {
  const parts = quote.text
    .split(/…|\.{3,}/)
    .map(stripMarks)
    .filter((part) => part !== "");
  if (parts.length === 0) return undefined;
  const hasQuote = (passage: Passage): boolean => {
    const whole = stripMarks([...passage.headings, passage.text].join("\n"));
    let from = 0;
    return parts.every((part) => {
      const at = whole.indexOf(part, from);
      from = at + part.length;
      return at >= 0;
    });
  };
  const named = passages.filter(({ id }) => id === quote.passage.trim());
  return [...named, ...passages].find(hasQuote)?.id;
}

const stripMarks = (written: string): string =>
  written
    .replace(/\[([^\][]{0,500})\]\([^()\s]{0,1000}\)/g, "$1")
    .replace(/[*_`#|>\\]/g, "")
    .replace(/[“”„«»]/g, '"')
    .replace(/[‘’]/g, "'")
    .replace(/\s+/g, " ")
    .trim();

function formatPassages(passages: readonly Passage[]): string {
  const parts = passages.map(({ id, headings, text: passage }) => `[${[id, ...headings].join(" > ")}]\n${passage}`);
  return `No model could be asked; these passages are nearest to the question:\n\n${parts.join("\n\n")}`;
}

function describePage(page: Page, links: Page["links"]): string {
  const lines = [`Page: ${page.title === "" ? page.url : `${page.title} (${page.url})`}`, ...page.remarks];
  const shown = links.map(({ text: name, href }) => `- ${name}: ${href}`);
  return [...lines, ...(links.length > 0 ? ["Links:", ...shown] : [])].join("\n");
}

/** Ranks links by words shared with the question, then by their order on the page. */
function rankLinks(links: Page["links"], question: string): Page["links"] {
  const asked = new Set(question.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu));
  const shared = ({ text: name }: { readonly text: string }): number =>
    (name.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []).filter((word) => asked.has(word)).length;
  const counted = links.map((link) => ({ link, count: shared(link) }));
  return counted
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_LINKS)
    .map(({ link }) => link);
}

async function keepPage(page: Page, { workspace }: CommandContext): Promise<{ path?: string; words: string }> {
  const head = [
    `url: ${page.url}`,
    `title: ${JSON.stringify(page.title)}`,
    `fetched: ${page.fetchedAt}`,
    `type: ${page.contentType}`,
    `sha256: ${page.sha256}`,
    ...page.remarks.map((remark) => `remark: ${JSON.stringify(remark)}`),
  ];
  const kept = makeInert(`---\n${head.join("\n")}\n---\n\n${page.text}\n`);
  try {
    const path = await choosePath(page, kept.slice(0, kept.indexOf("\ntitle: ") + 1), workspace);
    await workspace.write(path, kept);
    return { path, words: `The whole page is kept in ${path}.` };
  } catch (error) {
    if (!isGoaldError(error) || error.code === "GOALD_STORE_FULL") throw error;
    return { words: `The page could not be kept: ${error.message}` };
  }
}

/** A file of that name that does not begin with this page's address stays, and the page gets a longer name. */
async function choosePath(
  { title, url }: Page,
  begin: string,
  workspace: CommandContext["workspace"],
): Promise<string> {
  const host = new URL(url).hostname
    .replace(/[^a-z0-9.-]/g, "-")
    .slice(0, MAX_NAME_CHARS)
    .replace(/\.+$/, "");
  const address = hash("sha256", url);
  const pathWith = (digits: number): string =>
    `pages/${slugWords(title, MAX_NAME_CHARS) || host}-${address.slice(0, digits)}.md`;
  const there = await workspace.stat(pathWith(4));
  const range = { offset: 0, length: Buffer.byteLength(begin) };
  const isOther = there && Buffer.from(await workspace.read(pathWith(4), range)).toString() !== begin;
  return pathWith(isOther ? 12 : 4);
}
