/**
 * robots.ts -- what a website asks of programs that read it (RFC 9309).
 *
 * A robots.txt that is there counts for a day; none (4xx) allows everything, one that cannot be had (5xx) nothing, for some
 * minutes. A hostile one is cut at the 500 KiB that the RFC asks for, and of other programs' rules nothing is kept.
 */
import type { Clock } from "#core/ports/clock.ts";
import { keepNewest } from "#util/newest.ts";

export interface RobotsRules {
  isAllowed(url: URL): boolean;
  /** What it asks for between two requests. */
  readonly delayMs: number;
}

/** The beginning of /robots.txt of an origin. */
export type FetchRobots = (
  url: URL,
  maxBytes: number,
  signal: AbortSignal,
) => Promise<{ readonly status: number; readonly text: string }>;

export interface Robots {
  /** Rejects as `fetchRobots` does. */
  rulesOf(url: URL, signal: AbortSignal): Promise<RobotsRules>;
}

const MAX_BYTES = 500 * 1024;
const DAY_MS = 24 * 60 * 60_000;
const UNREACHABLE_MS = 5 * 60_000;
const MAX_ORIGINS = 500;
/** Longer ones are asked for in error. */
const MAX_DELAY_MS = 10_000;
const MAX_RULE_CHARS = 1_000;
/** About a tenth of a second. Who wants more of it is not read. */
const MAX_COMPARISONS = 100_000_000;

const ALL: RobotsRules = { isAllowed: () => true, delayMs: 0 };
const NOTHING: RobotsRules = { isAllowed: () => false, delayMs: 0 };

export function createRobots(fetchRobots: FetchRobots, product: string, clock: Clock): Robots {
  const known = new Map<string, { readonly rules: RobotsRules; readonly until: number }>();
  return {
    async rulesOf(url, signal) {
      const now = clock.now().getTime();
      const kept = known.get(url.origin);
      if (kept && kept.until > now) return kept.rules;
      const { status, text } = await fetchRobots(new URL("/robots.txt", url), MAX_BYTES, signal);
      const isThere = status >= 200 && status < 300;
      const rules = isThere ? await readRobots(url.origin, text, product) : status >= 500 ? NOTHING : ALL;
      const until = now + (status >= 500 ? UNREACHABLE_MS : DAY_MS);
      keepNewest(known, url.origin, { rules, until }, MAX_ORIGINS);
      return rules;
    },
  };
}

async function readRobots(origin: string, text: string, product: string): Promise<RobotsRules> {
  // Its types say `default` of what is the function itself.
  const { default: module } = await import("robots-parser");
  const parse = module as unknown as (typeof module)["default"];
  const { lines, wildChars } = ownPart(text, product.toLowerCase());
  const robots = parse(`${origin}/robots.txt`, lines.join("\n"));
  const delay = Number(robots.getCrawlDelay(product) ?? 0);
  return {
    isAllowed: (url) =>
      wildChars * (url.pathname.length + url.search.length) <= MAX_COMPARISONS &&
      robots.isAllowed(url.href, product) !== false,
    delayMs: Number.isFinite(delay) ? Math.min(Math.max(0, delay * 1000), MAX_DELAY_MS) : 0,
  };
}

interface OwnPart {
  readonly lines: readonly string[];
  /** In rules with wildcards: each may be compared with each character of an address. */
  readonly wildChars: number;
}

/**
 * The lines that can matter to this program. The parser keeps every rule once for each program above it, so that a
 * file of a thousand programs and a thousand rules would become a million.
 */
function ownPart(text: string, product: string): OwnPart {
  const lines: string[] = [];
  let [wildChars, isOurs, isHead] = [0, false, false];
  for (const raw of text.split(/\r\n|\r|\n/)) {
    const line = raw.replace(/^\uFEFF/, "").replace(/#.*$/, "");
    const [, name = "", value = ""] = /^\s*(user-agent|allow|disallow|crawl-delay)\s*:\s*(.*)$/i.exec(line) ?? [];
    if (name === "") continue;
    if (name.toLowerCase() === "user-agent") {
      const agent = value.split("/")[0]?.trim().toLowerCase() ?? "";
      const isOwn = agent === product || agent === "*";
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
