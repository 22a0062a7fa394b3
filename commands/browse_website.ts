/**
 * browse_website -- one page of the web and one question about it: an answer with quotes that really stand there.
 *
 * The page is kept in the workspace, so that an answer can be checked later and read on from. It writes that one file and
 * changes nothing else; the same address is the same file, so that a second run leaves what the first one did. Where no
 * model can be asked, the nearest passages are the answer.
 */
import { createHash } from "node:crypto";
import { type CommandContext, defineCommand, fail, succeed } from "#core/command.ts";
import { isGoaldError } from "#core/errors.ts";
import type { Page, Passage } from "#core/services.ts";

/** What the model reads of a page, in tokens. */
const MATERIAL_TOKENS = 5_000;
/** What is shown of it where there is no answer, in tokens. */
const SHOWN_TOKENS = 2_000;
const MAX_LINKS = 8;
const MAX_QUOTES = 5;

interface Answer {
  readonly found: boolean;
  readonly answer: string;
  readonly quotes: readonly Quote[];
}
interface Quote {
  readonly passage: string;
  readonly text: string;
}

const text = { type: "string" } as const;
const ANSWER = {
  type: "object",
  properties: {
    found: { type: "boolean" },
    answer: text,
    quotes: {
      type: "array",
      items: {
        type: "object",
        properties: { passage: text, text },
        required: ["passage", "text"],
        additionalProperties: false,
      },
    },
  },
  required: ["found", "answer", "quotes"],
  additionalProperties: false,
} as const;

export default defineCommand({
  name: "browse_website",
  label: "Browse Website",
  summary: "reads a web page, a PDF or a text on the web and answers a question about it, with quotes.",
  args: {
    type: "object",
    properties: {
      url: { type: "string", description: "Address of the page", hint: "url", minLength: 1 },
      question: {
        type: "string",
        description: "What you want to find on the page",
        hint: "what_you_want_to_find_on_website",
        minLength: 1,
      },
    },
    required: ["url", "question"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  effect: "idempotent",
  timeoutMs: 600_000,
  needs: ["pages", "advisor"],

  async run({ url, question }, context) {
    const { use, signal } = context;
    const page = await use("pages").read(url, signal);
    const kept = await keep(page, context);
    const artifacts = kept.path === undefined ? [] : [kept.path];
    const passages = use("pages").select(page, question, MATERIAL_TOKENS);
    if (passages.length === 0) {
      const reasons = page.remarks.join(" ") || "There is no text on it.";
      return fail("page-empty", `${page.url} was read, and holds nothing to answer from. ${reasons}`, { artifacts });
    }
    const found = await ask(page, passages, question, context);
    const parts = [
      found ?? shown(use("pages").select(page, question, SHOWN_TOKENS)),
      about(page, question),
      kept.words,
    ];
    return succeed(parts.join("\n\n"), { source: "web", artifacts });
  },
});

// ---------------------------------------------------------------- the answer

/** The model's answer in words; undefined when none could be asked. */
async function ask(page: Page, passages: readonly Passage[], question: string, { use, signal }: CommandContext) {
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
    return inWords(value as Answer, passages);
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

function inWords({ found, answer, quotes }: Answer, passages: readonly Passage[]): string {
  if (!found) return `Not on this page, as far as it was read. ${answer}`;
  const checked = quotes.slice(0, MAX_QUOTES).map((quote) => ({ ...quote, passage: placeOf(quote, passages) }));
  const proven = checked.filter(({ passage }) => passage !== undefined);
  const lines = proven.map(({ passage, text: quoted }) => `- ${passage}: "${quoted.replace(/\s+/g, " ").trim()}"`);
  const dropped = checked.length - proven.length;
  if (proven.length === 0)
    lines.push("None that stands on the page: do not rely on this answer before you have looked.");
  else if (dropped > 0)
    lines.push(`(${dropped} more did not stand on the page and ${dropped === 1 ? "was" : "were"} left out.)`);
  return `${answer}\n\nQuotes:\n${lines.join("\n")}`;
}

/** The passage in which a quote stands: the one that was named, or else any. White space and marks of Markdown do not count. */
function placeOf(quote: Quote, passages: readonly Passage[]): string | undefined {
  const parts = quote.text
    .split(/…|\.{3,}/)
    .map(bare)
    .filter((part) => part !== "");
  if (parts.length === 0) return undefined;
  const standsIn = (passage: Passage): boolean => {
    const whole = bare([...passage.headings, passage.text].join("\n"));
    let from = 0;
    return parts.every((part) => {
      const at = whole.indexOf(part, from);
      from = at + part.length;
      return at >= 0;
    });
  };
  const named = passages.filter(({ id }) => id === quote.passage.trim());
  return [...named, ...passages].find(standsIn)?.id;
}

const bare = (written: string): string =>
  written
    .replace(/\[([^\][]{0,500})\]\([^()\s]{0,1000}\)/g, "$1")
    .replace(/[*_`#|>\\]/g, "")
    .replace(/[“”„«»]/g, '"')
    .replace(/[‘’]/g, "'")
    .replace(/\s+/g, " ")
    .trim();

function shown(passages: readonly Passage[]): string {
  const parts = passages.map(({ id, headings, text: passage }) => `[${[id, ...headings].join(" > ")}]\n${passage}`);
  return `No model could be asked; these passages are nearest to the question:\n\n${parts.join("\n\n")}`;
}

// ---------------------------------------------------------------- the page

function about(page: Page, question: string): string {
  const lines = [`Page: ${page.title === "" ? page.url : `${page.title} (${page.url})`}`, ...page.remarks];
  const links = nearest(page.links, question).map(({ text: name, href }) => `- ${name}: ${href}`);
  return [...lines, ...(links.length > 0 ? ["Links:", ...links] : [])].join("\n");
}

/** Those that share a word with the question first, else as they stand on the page. */
function nearest(links: Page["links"], question: string): Page["links"] {
  const asked = new Set(question.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu));
  const shared = ({ text: name }: { readonly text: string }): number =>
    (name.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []).filter((word) => asked.has(word)).length;
  const counted = links.map((link) => ({ link, count: shared(link) }));
  return counted
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_LINKS)
    .map(({ link }) => link);
}

async function keep(page: Page, { workspace }: CommandContext): Promise<{ path?: string; words: string }> {
  const host = new URL(page.url).hostname
    .replace(/[^a-z0-9.-]/g, "-")
    .slice(0, 60)
    .replace(/\.+$/, "");
  const address = createHash("sha256").update(page.url).digest("hex").slice(0, 8);
  const path = `pages/${host}-${address}.md`;
  const head = [
    `url: ${page.url}`,
    `title: ${JSON.stringify(page.title)}`,
    `fetched: ${page.fetchedAt}`,
    `type: ${page.contentType}`,
    `sha256: ${page.sha256}`,
    ...page.remarks.map((remark) => `remark: ${JSON.stringify(remark)}`),
  ];
  try {
    await workspace.write(path, `---\n${head.join("\n")}\n---\n\n${page.text}\n`);
    return { path, words: `The whole page is kept in ${path}.` };
  } catch (error) {
    if (!isGoaldError(error) || error.code === "GOALD_STORE_FULL") throw error;
    return { words: `The page could not be kept: ${error.message}` };
  }
}
