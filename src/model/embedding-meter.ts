/**
 * embedding-meter.ts -- limits the tokens that embeddings use per minute and per day (UTC), over all agents of a host.
 *
 * An agent's own limits cover its recalls too (loop/embedding-purse.ts). A request is admitted if its estimate fits.
 * Afterwards the count is corrected by the server's figure. The count of the day survives a restart in its file.
 */
import { GoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { JsonFile } from "#util/json.ts";

export interface EmbeddingMeter {
  /** Reserves estimated tokens. Throws GOALD_LIMIT if they exceed a limit. */
  take(tokens: number): Promise<void>;
  /** Corrects a reservation of `estimated` tokens to the actual `tokens`. */
  settle(estimated: number, tokens: number): void;
  /** Returns the tokens of the day so far. */
  read(): { readonly tokens: number; readonly tokensPerDay: number | null };
}

export interface EmbeddingMeterParts {
  readonly tokensPerMinute: number | null;
  readonly tokensPerDay: number | null;
  readonly clock: Pick<Clock, "now">;
  readonly file: JsonFile;
  /** Records or replays a decision. A replay spends nothing, so it counts nothing. */
  readonly through?: <T>(name: string, compute: () => T) => T;
}

const MINUTE_MS = 60_000;

export function createEmbeddingMeter(parts: EmbeddingMeterParts): EmbeddingMeter {
  const { tokensPerMinute, tokensPerDay, clock, file, through = (_name, compute) => compute() } = parts;
  const counter = createTokenCounter(clock, file);
  let isPlayed = false;

  function findExceeded(more: number): ExceededLimit | null {
    const { dayTokens, minuteTokens } = counter.read();
    if (tokensPerDay !== null && dayTokens + more > tokensPerDay) return { limit: tokensPerDay, span: "Day" };
    // A request that exceeds the limit of a minute by itself is admitted if the minute is empty.
    const isOver = tokensPerMinute !== null && minuteTokens > 0 && minuteTokens + more > tokensPerMinute;
    return isOver ? { limit: tokensPerMinute, span: "Minute" } : null;
  }

  return {
    async take(more) {
      await counter.load();
      isPlayed = true;
      const exceeded = through("room for embeddings", () => {
        isPlayed = false;
        return findExceeded(more);
      });
      if (exceeded) throw limitExceeded(exceeded);
      if (!isPlayed) counter.add(more);
    },
    settle(estimated, taken) {
      if (!isPlayed && Number.isFinite(taken) && taken >= 0 && taken !== estimated) counter.add(taken - estimated);
    },
    read() {
      void counter.load();
      return { tokens: counter.read().dayTokens, tokensPerDay };
    },
  };
}

interface TokenCounter {
  /** Reads the file once. */
  load(): Promise<void>;
  add(tokens: number): void;
  /** Returns the tokens of this day and of the last minute. */
  read(): { readonly dayTokens: number; readonly minuteTokens: number };
}

function createTokenCounter(clock: Pick<Clock, "now">, file: JsonFile): TokenCounter {
  let day = "";
  let tokens = 0;
  let minute: { readonly atMs: number; tokens: number }[] = [];
  let loading: Promise<void> | undefined;
  let isWriting = false;

  const today = (): string => clock.now().toISOString().slice(0, "2026-01-01".length);

  async function readFile(): Promise<void> {
    const kept = (await file.read()) as { day?: unknown; tokens?: unknown } | null | undefined;
    day = today();
    if (kept?.day === day && typeof kept.tokens === "number" && kept.tokens > 0) tokens += kept.tokens;
  }

  /** Runs one write at a time. Tokens counted meanwhile go into the next one. */
  async function writeFile(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    for (let written = -1; written !== tokens; ) {
      written = tokens;
      await file.write({ day, tokens });
    }
    isWriting = false;
  }

  return {
    load() {
      loading ??= readFile();
      return loading;
    },
    add(more) {
      tokens += more;
      minute.push({ atMs: clock.now().getTime(), tokens: more });
      void writeFile();
    },
    read() {
      const now = today();
      if (day !== "" && now !== day) tokens = 0;
      if (day !== "") day = now;
      const sinceMs = clock.now().getTime() - MINUTE_MS;
      // An entry in the future means that the clock was set back.
      minute = minute.filter(({ atMs }) => atMs > sinceMs && atMs <= sinceMs + MINUTE_MS);
      return { dayTokens: tokens, minuteTokens: minute.reduce((sum, entry) => sum + entry.tokens, 0) };
    },
  };
}

interface ExceededLimit {
  readonly limit: number;
  readonly span: "Minute" | "Day";
}

const limitExceeded = ({ limit, span }: ExceededLimit): GoaldError =>
  new GoaldError("GOALD_LIMIT", `Embeddings may take ${limit} tokens a ${span.toLowerCase()}, and that is used up.`, {
    hint: `Raise it in the settings (embeddings.tokensPer${span}), or wait.`,
  });
