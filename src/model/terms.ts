/**
 * terms.ts -- the terms on which a server takes requests for a model: what it has refused, in its own words, is not sent again.
 *
 * Everything is offered until it is refused. What was learned is remembered per server and model, over restarts, for a
 * week: servers are mended. It is never needed: forgotten, it costs the same refusals once more.
 */
import type { OutputMode } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import { isRecord } from "#util/json.ts";
import { type Refusal, type Sent, type ServerTerms, stepDown } from "./step-down.ts";

/** Where terms are kept between processes. Neither rejects: what cannot be kept is learned again. */
export interface TermsFile {
  read(): Promise<unknown>;
  write(content: unknown): Promise<void>;
}

export interface TermsKeeper {
  of(model: string): Promise<ServerTerms>;
  /** Learns from a refusal; false when it says nothing that another request could heed. */
  heed(model: string, sent: Sent, refusal: Refusal): Promise<boolean>;
  /** A request was taken: what was left out for trial stays out. */
  taken(model: string): Promise<void>;
  /** Whether a reply in this mode could be read; two in a row that could not are a refusal of the mode. */
  noteReply(model: string, mode: OutputMode, isReadable: boolean): Promise<void>;
  noteContext(model: string, tokens: number | null): Promise<void>;
}

const WEEK_MS = 7 * 24 * 3_600_000;
const MAX_UNREADABLE = 2;
const NEXT_MODE: Readonly<Record<OutputMode, OutputMode>> = {
  json_schema: "json_object",
  json_object: "plain",
  plain: "plain",
};

/** Nothing is known yet. */
export const FULL_TERMS: ServerTerms = { mode: "json_schema", without: [], turns: false, contextTokens: null };
/** What every server takes that takes anything. */
const BARE: Pick<ServerTerms, "mode" | "without"> = {
  mode: "plain",
  without: ["stream", "stream_options", "temperature"],
};

export function createTermsKeeper(server: string, clock: Clock, file: TermsFile): TermsKeeper {
  let loading: Promise<Map<string, Kept>> | undefined;
  /** ServerTerms before a trial without anything that is not needed, by model. */
  const trials = new Map<string, ServerTerms>();
  const unreadable = new Map<string, number>();

  const load = (): Promise<Map<string, Kept>> => {
    loading ??= file.read().then((content) => new Map(Object.entries(modelsIn(content, server))));
    return loading;
  };

  async function of(model: string): Promise<ServerTerms> {
    const kept = (await load()).get(model);
    if (!kept || clock.now().getTime() - Date.parse(kept.learnedAt) > WEEK_MS) return FULL_TERMS;
    return kept.terms;
  }

  async function set(model: string, terms: ServerTerms): Promise<void> {
    const models = await load();
    models.set(model, { terms, learnedAt: clock.now().toISOString() });
    const content = await file.read();
    const servers = isRecord(content) && isRecord(content.servers) ? content.servers : {};
    await file.write({ version: 1, servers: { ...servers, [server]: Object.fromEntries(models) } });
  }

  async function heed(model: string, sent: Sent, refusal: Refusal): Promise<boolean> {
    const terms = await of(model);
    const stepped = stepDown(terms, sent, refusal);
    if (stepped.kind === "change") {
      await set(model, stepped.terms);
      return true;
    }
    const before = trials.get(model);
    if (before) {
      trials.delete(model);
      await set(model, before);
      return false;
    }
    if (stepped.kind === "none" || sent.isBare) return false;
    trials.set(model, terms);
    (await load()).set(model, { terms: { ...terms, ...BARE }, learnedAt: clock.now().toISOString() });
    return true;
  }

  async function taken(model: string): Promise<void> {
    if (trials.delete(model)) await set(model, await of(model));
  }

  async function noteReply(model: string, mode: OutputMode, isReadable: boolean): Promise<void> {
    const terms = await of(model);
    if (isReadable || mode === "plain" || terms.mode !== mode) {
      unreadable.delete(model);
      return;
    }
    const count = (unreadable.get(model) ?? 0) + 1;
    unreadable.set(model, count);
    if (count < MAX_UNREADABLE) return;
    unreadable.delete(model);
    await set(model, { ...terms, mode: NEXT_MODE[mode] });
  }

  return {
    of,
    heed,
    taken,
    noteReply,
    noteContext: async (model, tokens) => set(model, { ...(await of(model)), contextTokens: tokens }),
  };
}

// ---------------------------------------------------------------- the file, read with suspicion

interface Kept {
  readonly terms: ServerTerms;
  readonly learnedAt: string;
}

function modelsIn(content: unknown, server: string): Readonly<Record<string, Kept>> {
  const servers = isRecord(content) && content.version === 1 && isRecord(content.servers) ? content.servers : {};
  const models = Object.hasOwn(servers, server) ? servers[server] : undefined;
  return isRecord(models) ? Object.fromEntries(Object.entries(models).filter(isKept)) : {};
}

function isKept(entry: [string, unknown]): entry is [string, Kept] {
  const [, kept] = entry;
  if (!isRecord(kept) || !isRecord(kept.terms) || Number.isNaN(Date.parse(String(kept.learnedAt)))) return false;
  const { mode, without, turns, contextTokens } = kept.terms;
  return (
    typeof mode === "string" &&
    Object.hasOwn(NEXT_MODE, mode) &&
    Array.isArray(without) &&
    without.every((part) => BARE.without.includes(part)) &&
    typeof turns === "boolean" &&
    (contextTokens === null || (Number.isSafeInteger(contextTokens) && (contextTokens as number) > 0))
  );
}
