/**
 * capabilities.ts -- remembers which parts of a request a server rejects for a model, so that they are not sent again.
 * Every part is sent until the server rejects it. The knowledge is kept per server and model for a week, because
 * servers are upgraded. Losing it only costs the same rejections once more.
 */
import type { OutputMode } from "#core/event.ts";
import { LEAST_REPLY_TOKENS } from "#core/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import { once } from "#util/caches.ts";
import { isRecord, type JsonFile } from "#util/json.ts";
import type { CapName } from "./chat-stream.ts";
import { collectErrorWords } from "./failure.ts";
import type { StatusError } from "./model-server.ts";

const WEEK_MS = 7 * 24 * 3_600_000;
const MODES_UPWARD: readonly JsonMode[] = ["plain", "json_object", "json_schema"];

const FORMAT_WORDS =
  /response[_ ]?format|json[_ ]?(schema|object|mode)|structured[_ ]output|guided|grammar|anyOf|requested parameters/i;

/**
 * The optional parts of a request, with the words of a message that name them. `json_object`: the demand of JSON for
 * an action of the form `plan`; `tool_choice`: the demand for a call; `strict`: of the parameters of tools; `stop`:
 * texts before which the reply ends.
 */
const PART_WORDS = {
  stream: /\bstream(s|ed|ing)?\b/i,
  stream_options: /stream_options|include_usage/i,
  temperature: /\btemperature\b/i,
  reasoning_effort: /reasoning[_ ]effort/i,
  json_object: FORMAT_WORDS,
  stop: /\bstop(?:[_ ]sequences?)?\b/i,
  tools: /\btools?\b|\bfunctions?\b|function[_ -]?call|parameters/i,
  tool_choice: /tool[_ ]choice/i,
  strict: /\bstrict\b/i,
} as const;

export type OptionalPart = keyof typeof PART_WORDS;

/** Terms of a server about which nothing is known. */
export const FULL_TERMS: ServerCapabilities = {
  mode: "json_schema",
  without: [],
  turns: false,
  contextTokens: null,
  replyTokens: null,
};
/** The request that every server accepts. It keeps `max_tokens`. */
const BARE_TERMS: Pick<ServerCapabilities, "mode" | "without"> = {
  mode: "plain",
  without: [...(Object.keys(PART_WORDS) as OptionalPart[]), "max_completion_tokens"],
};
const PARTS: ReadonlySet<unknown> = new Set([...BARE_TERMS.without, "max_tokens"]);

export function createTermsKeeper(server: string, clock: Clock, file: JsonFile) {
  const store = createTermsStore(server, clock, file);
  /** Terms before a trial of the barest request, by model. */
  const trials = new Map<string, ServerCapabilities>();
  const modelsAfterUnreadable = new Set<string>();

  /** Learns from a rejection. Returns false if no different request can help. */
  async function learnFromRejection(model: string, sent: SentParts, refusal: RejectedRequest): Promise<boolean> {
    const terms = await store.read(model);
    const stepped = stepDown(terms, sent, refusal);
    if (stepped.kind === "change") {
      await store.write(model, stepped.terms);
      return true;
    }
    const before = trials.get(model);
    // It was sent before another request began the trial.
    if (before && !sent.isBare) return stepped.kind === "unnamed";
    if (before) {
      trials.delete(model);
      await store.write(model, before);
      return false;
    }
    if (stepped.kind === "none" || sent.isBare) return false;
    trials.set(model, terms);
    await store.hold(model, { ...terms, ...BARE_TERMS });
    return true;
  }

  /** Call this when a request was accepted: parts that were left out on trial stay out. */
  async function taken(model: string): Promise<void> {
    if (trials.delete(model)) await store.write(model, await store.read(model));
  }

  /** Notes whether a reply was readable. Two unreadable replies in a row count as a rejection of the mode. */
  async function noteReply(model: string, mode: OutputMode, isReadable: boolean): Promise<void> {
    if (isReadable) return void modelsAfterUnreadable.delete(model);
    const terms = await store.read(model);
    const part = mode === "tools" ? mode : mode === "plan" ? "json_object" : undefined;
    const isCurrent = part ? !terms.without.includes(part) : mode !== "plain" && terms.mode === mode;
    const isSecond = modelsAfterUnreadable.delete(model);
    if (!isCurrent) return;
    if (!isSecond) return void modelsAfterUnreadable.add(model);
    const lower = MODES_UPWARD[MODES_UPWARD.indexOf(terms.mode) - 1] ?? "plain";
    await store.write(model, part ? withoutPart(terms, part) : { ...terms, mode: lower });
  }

  /** Notes that the server ignored a reply's cap. Returns true if the next request can send it under another name. */
  async function noteIgnoredCap(model: string, cap: SentParts["cap"]): Promise<boolean> {
    const terms = await store.read(model);
    if (cap === null || cap.name === "max_tokens" || terms.without.includes("max_tokens")) return false;
    const changed = withoutPart(terms, cap.name);
    if (changed !== terms) await store.write(model, changed);
    return true;
  }

  return {
    of: store.read,
    learnFromRejection,
    taken,
    noteReply,
    noteIgnoredCap,
    noteContext: async (model: string, tokens: number | null) =>
      store.write(model, { ...(await store.read(model)), contextTokens: tokens }),
  };
}

function createTermsStore(server: string, clock: Clock, file: JsonFile) {
  const load = once(async () => new Map(Object.entries(readKeptModels(await file.read(), server))));

  /** Keeps terms in memory only. */
  async function hold(model: string, terms: ServerCapabilities): Promise<void> {
    (await load()).set(model, { terms, learnedAt: clock.now().toISOString() });
  }
  return {
    hold,
    async read(model: string): Promise<ServerCapabilities> {
      const kept = (await load()).get(model);
      if (!kept || clock.now().getTime() - Date.parse(kept.learnedAt) > WEEK_MS) return FULL_TERMS;
      return kept.terms;
    },
    async write(model: string, terms: ServerCapabilities): Promise<void> {
      await hold(model, terms);
      const content = await file.read();
      const servers = isRecord(content) && isRecord(content.servers) ? content.servers : {};
      await file.write({ version: 1, servers: { ...servers, [server]: Object.fromEntries(await load()) } });
    },
  };
}

interface KeptTerms {
  readonly terms: ServerCapabilities;
  readonly learnedAt: string;
}

function readKeptModels(content: unknown, server: string): Readonly<Record<string, KeptTerms>> {
  const servers = isRecord(content) && content.version === 1 && isRecord(content.servers) ? content.servers : {};
  const models = Object.hasOwn(servers, server) ? servers[server] : undefined;
  return isRecord(models) ? Object.fromEntries(Object.entries(models).filter(isKeptModel)) : {};
}

function isKeptModel(entry: [string, unknown]): entry is [string, KeptTerms] {
  const [, kept] = entry;
  if (!isRecord(kept) || !isRecord(kept.terms) || Number.isNaN(Date.parse(String(kept.learnedAt)))) return false;
  const { mode, without, turns, contextTokens, replyTokens } = kept.terms;
  return (
    MODES_UPWARD.some((each) => each === mode) &&
    Array.isArray(without) &&
    without.every((part) => PARTS.has(part)) &&
    typeof turns === "boolean" &&
    isSizeOrNull(contextTokens) &&
    isSizeOrNull(replyTokens)
  );
}

const isSizeOrNull = (value: unknown): boolean =>
  value === null || (Number.isSafeInteger(value) && (value as number) > 0);

type JsonMode = Exclude<OutputMode, "tools" | "plan" | "react" | "code">;

/** The kind of request that a server accepts for one model. */
export interface ServerCapabilities {
  readonly mode: JsonMode;
  /** Parts of a request that the server rejects. */
  readonly without: readonly (OptionalPart | CapName)[];
  /** True if the server takes messages of user and assistant only, which alternate. */
  readonly turns: boolean;
  /** Maximum of prompt and reply together, in goald's token estimate. Null if unknown. */
  readonly contextTokens: number | null;
  /** Maximum of a reply's cap. Null if unknown. */
  readonly replyTokens: number | null;
}

/** The parts of a request that some servers reject. */
export interface SentParts {
  readonly mode: OutputMode;
  readonly parts: ReadonlySet<OptionalPart>;
  readonly turns: boolean;
  /** The name and the tokens of the reply's cap; null if none was sent. */
  readonly cap: { readonly name: CapName; readonly tokens: number } | null;
  /** True if the request had none of these parts, and at most `max_tokens`. */
  readonly isBare: boolean;
}

export type RejectedRequest = Pick<StatusError, "status" | "body">;

type StepDown =
  | { readonly kind: "change"; readonly terms: ServerCapabilities }
  | { readonly kind: "unnamed" }
  | { readonly kind: "none" };

/** Statuses of a rejected parameter. Some servers fail on one with 500. */
const REJECTING_STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 415, 422, 500, 501]);
/** Statuses that can mean a rejected part even if the message names none. */
const UNNAMED_STATUSES: ReadonlySet<number> = new Set([400, 422]);

/** The server rejects the schema, but may accept JSON. */
const SCHEMA_WORDS = /json[_ ]?schema|response_format type|\bschema\b|\bstrict\b|too many states|grammar|guided|anyOf/i;
const TURNS_WORDS =
  /roles? must alternate|must alternate|alternat\w+ (between )?(user|roles)|consecutive (user|messages)/i;
/** The server takes tools, but no message of an earlier call or of its result, or none without Gemini's signature. */
const TOOL_HISTORY_WORDS = /\btool_calls?(_id)?\b|\brole\b|thought_signature/i;

/**
 * Detects which part of a request a server rejects, and removes it from later requests. Searches for a part only if the
 * request contained it, and only in the server's message and `param`, never in an echoed request. A message that names
 * no part can still mean one of them: that is `unnamed`. Pure.
 */
export function stepDown(terms: ServerCapabilities, sent: SentParts, { status, body }: RejectedRequest): StepDown {
  if (!REJECTING_STATUSES.has(status)) return { kind: "none" };
  const words = collectErrorWords(body);
  const isAboutTurns = TURNS_WORDS.test(words) || (sent.mode === "tools" && TOOL_HISTORY_WORDS.test(words));
  if (!sent.turns && isAboutTurns) return changeTerms({ ...terms, turns: true });
  const findNamed = (...parts: readonly OptionalPart[]): OptionalPart | undefined =>
    parts.find((part) => sent.parts.has(part) && PART_WORDS[part].test(words));
  const options = findNamed("stream_options");
  if (!options && sent.cap && CAP_WORDS.test(words)) return changeTerms(withOtherCap(terms, sent.cap, words));
  // Without the demand for a call, and without strict parameters, tools may be accepted.
  const named = options ?? findNamed("reasoning_effort", "stop", "tool_choice", "strict", "tools");
  if (named) return changeTerms(withoutPart(terms, named));
  if ((sent.mode === "json_schema" || sent.mode === "json_object") && FORMAT_WORDS.test(words))
    return changeTerms({ ...terms, mode: lowerMode(terms.mode, chooseLowerMode(sent, words)) });
  const others = status === 500 ? findNamed("json_object") : findNamed("json_object", "stream", "temperature");
  if (others) return changeTerms(withoutPart(terms, others));
  return UNNAMED_STATUSES.has(status) ? { kind: "unnamed" } : { kind: "none" };
}

const CAP_WORDS = /\bmax_(completion_)?tokens\b/i;
const MOST_TOKENS = /(?:at most|less than or equal to|up to|maximum|<=|>|\[1,)[^\d\n]{0,40}?(\d{3,8})/gi;

/** A smaller number in the message is the server's maximum. Otherwise the cap has another name here, or none. */
function withOtherCap(
  terms: ServerCapabilities,
  { name, tokens }: NonNullable<SentParts["cap"]>,
  words: string,
): ServerCapabilities {
  const most = [...words.matchAll(MOST_TOKENS)].map(([, digits]) => Number(digits)).find((each) => each < tokens) ?? 0;
  if (most >= LEAST_REPLY_TOKENS) return { ...terms, replyTokens: most };
  const isOther = name === "max_tokens" && /\bmax_completion_tokens\b/.test(words);
  const without = isOther ? terms.without.filter((part) => part !== "max_completion_tokens") : terms.without;
  return withoutPart({ ...terms, without }, name);
}

const changeTerms = (terms: ServerCapabilities): StepDown => ({ kind: "change", terms });

const withoutPart = (terms: ServerCapabilities, part: OptionalPart | CapName): ServerCapabilities =>
  terms.without.includes(part) ? terms : { ...terms, without: [...terms.without, part] };

const chooseLowerMode = ({ mode }: SentParts, words: string): JsonMode =>
  mode === "json_schema" && SCHEMA_WORDS.test(words) ? "json_object" : "plain";

/** Returns the lower mode: another agent's request may have learned more meanwhile. */
const lowerMode = (one: JsonMode, other: JsonMode): JsonMode =>
  MODES_UPWARD.indexOf(one) < MODES_UPWARD.indexOf(other) ? one : other;
