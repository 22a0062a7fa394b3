/**
 * terms.ts -- remembers which parts of a request a server rejects for a model, so that they are not sent again.
 *
 * Every part is sent until the server rejects it. The knowledge is kept per server and model for a week, because
 * servers are upgraded. Losing it only costs the same rejections once more.
 */
import type { OutputMode } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import { isRecord, type JsonFile } from "#util/json.ts";
import type { CapName } from "./reply-cap.ts";
import { type JsonMode, type RejectedRequest, type SentParts, type ServerTerms, stepDown } from "./step-down.ts";

interface TermsKeeper {
  of(model: string): Promise<ServerTerms>;
  /** Learns from a rejection. Returns false if no different request can help. */
  heed(model: string, sent: SentParts, refusal: RejectedRequest): Promise<boolean>;
  /** Call this when a request was accepted: parts that were left out on trial stay out. */
  taken(model: string): Promise<void>;
  /** Notes whether a reply was readable. Two unreadable replies in a row count as a rejection of the mode. */
  noteReply(model: string, mode: OutputMode, isReadable: boolean): Promise<void>;
  noteContext(model: string, tokens: number | null): Promise<void>;
  /** Notes that the server ignored a reply's cap. Returns true if it may take the cap under another name. */
  noteIgnoredCap(model: string, name: CapName): Promise<boolean>;
}

const WEEK_MS = 7 * 24 * 3_600_000;
const MAX_UNREADABLE = 2;
const NEXT_MODE: Readonly<Record<JsonMode, JsonMode>> = {
  json_schema: "json_object",
  json_object: "plain",
  plain: "plain",
};

/** Terms of a server about which nothing is known. */
export const FULL_TERMS: ServerTerms = {
  mode: "json_schema",
  without: [],
  turns: false,
  contextTokens: null,
  replyTokens: null,
};
/** The request that every server accepts. It keeps `max_tokens`. */
const BARE_TERMS: Pick<ServerTerms, "mode" | "without"> = {
  mode: "plain",
  without: [
    "stream",
    "stream_options",
    "temperature",
    "reasoning_effort",
    "json_object",
    "stop",
    "max_completion_tokens",
    "tools",
    "tool_choice",
    "strict",
  ],
};
const PARTS: ReadonlySet<unknown> = new Set([...BARE_TERMS.without, "max_tokens"]);

export function createTermsKeeper(server: string, clock: Clock, file: JsonFile): TermsKeeper {
  const store = createTermsStore(server, clock, file);
  /** Terms before a trial of the barest request, by model. */
  const trials = new Map<string, ServerTerms>();
  const unreadableReplies = new Map<string, number>();

  async function heed(model: string, sent: SentParts, refusal: RejectedRequest): Promise<boolean> {
    const terms = await store.read(model);
    const stepped = stepDown(terms, sent, refusal);
    if (stepped.kind === "change") {
      await store.write(model, stepped.terms);
      return true;
    }
    const before = trials.get(model);
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

  async function taken(model: string): Promise<void> {
    if (trials.delete(model)) await store.write(model, await store.read(model));
  }

  async function noteReply(model: string, mode: OutputMode, isReadable: boolean): Promise<void> {
    const terms = await store.read(model);
    const part = mode === "tools" ? mode : mode === "plan" ? "json_object" : undefined;
    const isCurrent = part ? !terms.without.includes(part) : mode !== "plain" && terms.mode === mode;
    if (isReadable || !isCurrent) {
      unreadableReplies.delete(model);
      return;
    }
    const count = (unreadableReplies.get(model) ?? 0) + 1;
    unreadableReplies.set(model, count);
    if (count < MAX_UNREADABLE) return;
    unreadableReplies.delete(model);
    await store.write(
      model,
      part ? { ...terms, without: [...terms.without, part] } : { ...terms, mode: NEXT_MODE[terms.mode] },
    );
  }

  async function noteIgnoredCap(model: string, name: CapName): Promise<boolean> {
    const terms = await store.read(model);
    if (name === "max_tokens" || terms.without.includes("max_tokens")) return false;
    if (!terms.without.includes(name)) await store.write(model, { ...terms, without: [...terms.without, name] });
    return true;
  }

  return {
    of: store.read,
    heed,
    taken,
    noteReply,
    noteIgnoredCap,
    noteContext: async (model, tokens) => store.write(model, { ...(await store.read(model)), contextTokens: tokens }),
  };
}

interface TermsStore {
  read(model: string): Promise<ServerTerms>;
  /** Keeps terms in memory only. */
  hold(model: string, terms: ServerTerms): Promise<void>;
  write(model: string, terms: ServerTerms): Promise<void>;
}

function createTermsStore(server: string, clock: Clock, file: JsonFile): TermsStore {
  let loading: Promise<Map<string, KeptTerms>> | undefined;
  const load = (): Promise<Map<string, KeptTerms>> => {
    loading ??= file.read().then((content) => new Map(Object.entries(readKeptModels(content, server))));
    return loading;
  };

  async function hold(model: string, terms: ServerTerms): Promise<void> {
    (await load()).set(model, { terms, learnedAt: clock.now().toISOString() });
  }
  return {
    hold,
    async read(model) {
      const kept = (await load()).get(model);
      if (!kept || clock.now().getTime() - Date.parse(kept.learnedAt) > WEEK_MS) return FULL_TERMS;
      return kept.terms;
    },
    async write(model, terms) {
      await hold(model, terms);
      const content = await file.read();
      const servers = isRecord(content) && isRecord(content.servers) ? content.servers : {};
      await file.write({ version: 1, servers: { ...servers, [server]: Object.fromEntries(await load()) } });
    },
  };
}

// ---------------------------------------------------------------- validation of the file

interface KeptTerms {
  readonly terms: ServerTerms;
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
    typeof mode === "string" &&
    Object.hasOwn(NEXT_MODE, mode) &&
    Array.isArray(without) &&
    without.every((part) => PARTS.has(part)) &&
    typeof turns === "boolean" &&
    isSizeOrNull(contextTokens) &&
    isSizeOrNull(replyTokens)
  );
}

const isSizeOrNull = (value: unknown): boolean =>
  value === null || (Number.isSafeInteger(value) && (value as number) > 0);
