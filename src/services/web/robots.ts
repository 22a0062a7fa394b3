/**
 * robots.ts -- reads what a website's robots.txt asks of programs (RFC 9309).
 *
 * Caches a robots.txt for a day. A missing one (4xx) allows everything. One that cannot be fetched (5xx) forbids
 * everything for five minutes. Reads the first 500 KiB, as the RFC asks, and ignores the rules for other programs.
 */
import type { Clock } from "#core/ports/clock.ts";
import { keepNewest } from "#util/caches.ts";

export interface RobotsRules {
  isAllowed(url: URL): boolean;
  readonly isUnreachable?: true;
  /** Time that the site asks to leave between two requests. */
  readonly delayMs: number;
}

/** Name that a robots.txt uses for goald. */
const PRODUCT = "goald";
const MAX_ROBOTS_BYTES = 500 * 1024;
const DAY_MS = 24 * 60 * 60_000;
const UNREACHABLE_MS = 5 * 60_000;
const MAX_ORIGINS = 500;
/** A longer delay is probably a mistake. */
const MAX_DELAY_MS = 10_000;
const MAX_RULE_CHARS = 1_000;
/** Takes about 0.1 s. An address that would need more is not allowed. */
const MAX_RULE_COMPARISONS = 100_000_000;

const ALLOW_ALL: RobotsRules = { isAllowed: () => true, delayMs: 0 };
const ALLOW_NOTHING: RobotsRules = { isAllowed: () => false, isUnreachable: true, delayMs: 0 };

/**
 * Returns a function that reads the rules for an address. It rejects with the errors of `fetchRobots`, which fetches the
 * beginning of an origin's /robots.txt.
 */
export function createRobots(
  fetchRobots: (url: URL, maxBytes: number, signal: AbortSignal) => Promise<{ status: number; text: string }>,
  clock: Clock,
) {
  const known = new Map<string, { readonly rules: RobotsRules; readonly since: number; readonly until: number }>();
  return async (url: URL, signal: AbortSignal): Promise<RobotsRules> => {
    const now = clock.now().getTime();
    const kept = known.get(url.origin);
    if (kept && kept.since <= now && now < kept.until) return kept.rules;
    const { status, text } = await fetchRobots(new URL("/robots.txt", url), MAX_ROBOTS_BYTES, signal);
    const isThere = status >= 200 && status < 300;
    const rules = isThere ? await readRobots(url.origin, text) : status >= 500 ? ALLOW_NOTHING : ALLOW_ALL;
    const until = now + (status >= 500 ? UNREACHABLE_MS : DAY_MS);
    keepNewest(known, url.origin, { rules, since: now, until }, MAX_ORIGINS);
    return rules;
  };
}

async function readRobots(origin: string, text: string): Promise<RobotsRules> {
  // The package's types declare a `default` member, but the import is the function itself.
  const { default: module } = await import("robots-parser");
  const parse = module as unknown as (typeof module)["default"];
  const { lines, wildChars } = extractOwnRules(text);
  const robots = parse(`${origin}/robots.txt`, lines.join("\n"));
  const delay = Number(robots.getCrawlDelay(PRODUCT) ?? 0);
  return {
    isAllowed: (url) =>
      wildChars * (url.pathname.length + url.search.length) <= MAX_RULE_COMPARISONS &&
      robots.isAllowed(url.href, PRODUCT) !== false,
    delayMs: Number.isFinite(delay) ? Math.min(Math.max(0, delay * 1000), MAX_DELAY_MS) : 0,
  };
}

/**
 * Returns the lines that apply to this program. The parser stores every rule once per program above it: a thousand
 * programs and a thousand rules would take a million entries.
 */
function extractOwnRules(text: string) {
  const lines: string[] = [];
  /** Characters of rules with wildcards. The parser may compare each with each character of an address. */
  let wildChars = 0;
  let isOurs = false;
  let isHead = false;
  for (const raw of text.split(/\r\n|\r|\n/)) {
    const line = raw.replace(/^\uFEFF/, "").replace(/#.*$/, "");
    const [, name = "", value = ""] = /^\s*(user-agent|allow|disallow|crawl-delay)\s*:\s*(.*)$/i.exec(line) ?? [];
    if (name === "") continue;
    if (name.toLowerCase() === "user-agent") {
      const agent = value.split("/")[0]?.trim().toLowerCase() ?? "";
      const isOwn = agent === PRODUCT || agent === "*";
      isOurs = isOwn || (isHead && isOurs);
      if (isOwn && lines.at(-1) !== `User-agent: ${agent}`) lines.push(`User-agent: ${agent}`);
    } else if (isOurs && value.length <= MAX_RULE_CHARS) {
      lines.push(`${name}: ${value}`);
      if (value.includes("*")) wildChars += value.length;
    }
    isHead = name.toLowerCase() === "user-agent";
  }
  return { lines, wildChars };
}
