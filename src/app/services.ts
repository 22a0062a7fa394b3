/**
 * services.ts -- the parts that all agents of a host share: HTTP, the rate-limited model, long-term memory, services.
 * Nothing is loaded or requested before its first use.
 */
import type { Tape } from "#cassette/tape.ts";
import type { Home } from "#config/home.ts";
import { openJsonCache } from "#config/private-file.ts";
import { splitServerKey } from "#config/setting-row.ts";
import type { Settings } from "#config/settings.ts";
import { GoaldError } from "#core/errors.ts";
import type { Price } from "#core/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { LanguageModel } from "#core/ports/model.ts";
import type { StoreReader } from "#core/ports/store.ts";
import type { Downloads, Images, Posts, Repositories, Services, Speech, WebPages, WebSearch } from "#core/services.ts";
import { createHttp, type Http } from "#http/http.ts";
import type { LocalServer, Trial } from "#model/check-server.ts";
import type { OpenAIMediaSettings } from "#model/openai-media.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { contextWindowOf, isReasoningModel, priceOf } from "#model/prices.ts";
import { createRateLimiter, type RateLimiter } from "#model/rate-limiter.ts";
import type { WebPagesParts } from "#services/page/web-pages.ts";
import type { PoliteWeb } from "#services/web/polite-web.ts";
import { searchersOf } from "#services/web/searchers.ts";
import type { XPostsParts } from "#services/x/x-posts.ts";
import { once } from "#util/caches.ts";
import { systemClock } from "#util/clock.ts";
import { findGit } from "#util/find-program.ts";
import type { Redact } from "#util/redact.ts";
import { readVersion } from "../shipped.ts";
import type { AgentHost, RedactedSettings } from "./agent.ts";
import { loadPrices, loadWindows, mediaServerOf, xKeysOf } from "./catalogue.ts";
import { openMemoryLate, openSearchLate } from "./lazy-memory.ts";

/** `model` and `services` are opened at their first call. */
export type Shared = ReturnType<typeof openShared>;

export interface SharedParts extends RedactedSettings, Pick<AgentHost, "home" | "store" | "edges" | "report"> {
  note?(text: string): void;
  /** Set for the parts of a single agent that is recorded or replayed. */
  readonly tape?: Tape;
  /** The host's request limiter, which also limits a recorded agent, and goes on after a reload. */
  readonly gate?: RateLimiter;
}

export function openShared(parts: SharedParts) {
  const { home, settings, store, report, tape } = parts;
  const http = tape?.plays ? NO_NETWORK : (parts.edges?.http ?? openHttp(settings));
  const server = serverOf(settings, http);
  const clock = tape?.beside ?? systemClock;
  const gate = parts.gate ?? createRateLimiter(settings.daemon, clock);
  const openModel = (): LanguageModel => parts.edges?.model ?? gate.guard(openModelOf(home, settings, http));
  const model = once(() => tape?.ports.model(openModel) ?? openModel());
  const ofMemory = { home, settings, server, store, keeper: store, report, note: parts.note };
  const { memory, methods } = openSearchLate({ ...ofMemory, ...(tape ? { tape } : {}) });
  // A recording holds the same redacted texts as the log.
  const scrub = tape ? parts.redact : parts.scrub;
  // Each call adds the services that depend on its agent (loop/run-command.ts).
  const services = once(() => tapedServices(openServices({ settings, http, clock, scrub }), tape));
  return { gate, model, memory, methods, services };
}

/** Opens long-term memory for a person's search. It recalls as agents do, from a read-only store. */
export function openRecall(
  home: Home,
  settings: Settings,
  reader: Pick<StoreReader, "memories" | "memory" | "memoryVersion">,
  report: (problem: string) => void,
) {
  const store = { ...reader, saveVectors: async () => undefined };
  const server = serverOf(settings, openHttp(settings));
  return openMemoryLate({ home, settings, server, store, report });
}

export const openPages = (settings: Settings, scrub: Redact): WebPages =>
  openServices({ settings, http: openHttp(settings), clock: systemClock, scrub }).pages;

const openHttp = ({ web }: Settings): Http => createHttp({}, { allow: web.allow?.split(/[,\s]+/) ?? [] });

/** A replay takes every answer from its recording, so it sends no request. */
const sendNothing = () => () => Promise.reject(new GoaldError("GOALD_REPLAY", "A replay sends no request."));
const NO_NETWORK: Http = { to: sendNothing, public: sendNothing };

/** Other services are used by commands whose outcomes are recorded as a whole. */
const tapedServices = (services: Partial<Services>, tape: Tape | undefined): Partial<Services> =>
  tape && services.statuses ? { ...services, statuses: tape.ports.statuses(services.statuses) } : services;

/** The model server, which also makes embeddings. */
function serverOf(settings: Settings, http: Http) {
  const { apiKey, baseUrl } = settings.openai;
  return { baseUrl, apiKey: apiKey ?? "", http, timeoutMs: settings.models.timeoutSeconds * 1_000 };
}

const optionsOf = ({ models: { temperature, reasoningEffort } }: Settings) => ({
  ...(temperature === null ? {} : { temperature }),
  ...(reasoningEffort === null ? {} : { reasoningEffort }),
});

/** The model keeps in the home what it learns about the server. */
function openModelOf(home: Home, settings: Settings, http: Http): LanguageModel {
  const termsFile = openJsonCache(home.privateFolder, "model-servers.json");
  return createOpenAIModel({ ...serverOf(settings, http), ...optionsOf(settings), termsFile, clock: systemClock });
}

export async function tryModel(home: Home, settings: Settings): Promise<Trial> {
  const { askForWord } = await import("#model/check-server.ts");
  const http = openHttp(settings);
  return askForWord(openModelOf(home, settings, http), settings.models.smart, serverOf(settings, http));
}

/** Finds model servers on the usual local ports, with their models for chat. */
export async function findServers(): Promise<readonly LocalServer[]> {
  const { findLocalServers, isChatModel } = await import("#model/check-server.ts");
  const found = await findLocalServers(createHttp());
  return found.map((server) => ({ ...server, models: server.models.filter(isChatModel) }));
}

export interface ListedModel {
  readonly name: string;
  /** The settings that name it, such as `smart`. */
  readonly setFor: readonly string[];
  /** False: its name is that of a model for vectors, pictures or speech. */
  readonly isForChat: boolean;
  /** False: a setting names it, and the server does not list it. */
  readonly isOffered: boolean;
  /** The known window of prompt and reply together. */
  readonly contextTokens: number;
  /** US dollars per million tokens; null when unknown. */
  readonly price: Price | null;
  /** Known by its name to reason before it answers. */
  readonly isReasoning: boolean;
}

/** The models of the server and those of the settings, by name. `hasList` is false for a server without a list. */
export async function listModels(home: Home, settings: Settings, timeoutMs: number) {
  const { checkServer, isChatModel } = await import("#model/check-server.ts");
  const checked = await checkServer({ ...serverOf(settings, openHttp(settings)), timeoutMs });
  if ("problem" in checked) return checked;
  const [prices, windows] = await Promise.all([loadPrices(home), loadWindows()]);
  const { smart, fast, fallback, embedding, contextTokens } = settings.models;
  const uses = { smart, fast, fallback, embedding: settings.memory.embedder === "offline" ? null : embedding };
  const used = Object.values(uses).filter((name) => name !== null);
  const offered = checked.names ?? [];
  const isMeant = (name: string | null, offer: string): boolean => name === offer || `${name}:latest` === offer;
  const missing = used.filter((name) => !offered.some((offer) => isMeant(name, offer)));
  const names = [...new Set([...offered, ...missing])].sort();
  const models = names.map(
    (name): ListedModel => ({
      name,
      setFor: Object.entries(uses).flatMap(([use, set]) => (isMeant(set, name) ? [use] : [])),
      isForChat: isChatModel(name),
      isOffered: offered.includes(name),
      contextTokens: contextWindowOf(name, windows, (isMeant(smart, name) && contextTokens) || undefined),
      price: priceOf(name, settings.openai.baseUrl, prices) ?? null,
      isReasoning: isReasoningModel(name, windows),
    }),
  );
  return { hasList: checked.names !== undefined, models };
}

export interface ServiceParts {
  readonly settings: Settings;
  readonly http: Http;
  readonly clock: Clock;
  readonly scrub: Redact;
}

/** Opens services that load and connect to nothing before their first call. */
export function openServices({ settings, http, clock, scrub }: ServiceParts) {
  const xKeys = xKeysOf(settings);
  const git = findGit(process.env.PATH);
  const { fetchPage, search, downloads, statuses } = lazyWeb(settings, { http, clock, scrub });
  const images = mediaServerOf(settings, settings.images);
  const speech = mediaServerOf(settings, settings.speech);
  return {
    pages: lazyPages({ fetchPage, clock, redact: scrub }),
    ...(images ? { images: lazyImages({ ...images, http }) } : {}),
    ...(speech ? { speech: lazySpeech({ ...speech, http }) } : {}),
    ...(git ? { repositories: lazyRepositories(settings, git) } : {}),
    ...(searchersOf(settings.search).length > 0 ? { search } : {}),
    downloads,
    statuses,
    ...(xKeys ? { posts: lazyPosts({ baseUrl: settings.twitter.baseUrl, keys: xKeys, http, clock }) } : {}),
  };
}

function lazyPages(parts: Omit<WebPagesParts, "reader">): WebPages {
  const open = once(async () => {
    const [{ createPageReader }, { createWebPages }] = await Promise.all([
      import("#services/page/read-page.ts"),
      import("#services/page/web-pages.ts"),
    ]);
    return createWebPages({ ...parts, reader: createPageReader() });
  });
  return {
    read: async (...given) => (await open()).read(...given),
    select: async (...given) => (await open()).select(...given),
  };
}

function lazyImages(settings: OpenAIMediaSettings): Images {
  const open = once(async () => (await import("#model/openai-media.ts")).createOpenAIImages(settings));
  return { generate: async (...given) => (await open()).generate(...given) };
}

function lazySpeech(settings: OpenAIMediaSettings): Speech {
  const open = once(async () => (await import("#model/openai-media.ts")).createOpenAISpeech(settings));
  return { transcribe: async (...given) => (await open()).transcribe(...given) };
}

function lazyPosts(parts: XPostsParts): Posts {
  const open = once(async () => (await import("#services/x/x-posts.ts")).createXPosts(parts));
  return { post: async (...given) => (await open()).post(...given) };
}

function lazyWeb(settings: Settings, { http, clock, scrub }: Omit<ServiceParts, "settings">) {
  const open = once(async () => {
    const userAgent = `goald/${readVersion()}`;
    return (await import("#services/web/set-up.ts")).openWeb(settings, { http, clock, userAgent, scrub });
  });
  const fetchPage: PoliteWeb["get"] = async (...given) => (await open()).polite.get(...given);
  const search: WebSearch = { search: async (...given) => (await open()).search.search(...given) };
  const downloads: Downloads = { get: async (...given) => (await open()).downloads.get(...given) };
  const statuses: Services["statuses"] = { get: async (...given) => (await open()).statuses.get(...given) };
  return { fetchPage, search, downloads, statuses };
}

function lazyRepositories(settings: Settings, git: string): Repositories {
  const { allow } = settings.web;
  const { origin = "https://github.com", key: token } = splitServerKey(settings.git.apiKey ?? "");
  // GitHub, GitLab and Gitea accept any user name with a token.
  const key = token === "" ? null : { origin, user: "x-access-token", token };
  const open = once(async () => {
    const [{ createRepositories }, { checkElsewhere, isNeverAllowed }, { findCage }, { openTunnel }] =
      await Promise.all([
        import("#services/git/clone.ts"),
        import("#http/public-address.ts"),
        import("#cage/find-cage.ts"),
        import("#http/tunnel.ts"),
      ]);
    const rules = { isPublic: checkElsewhere(), isNeverAllowed };
    return createRepositories({ git, allow, key, environment: process.env, ...rules, findCage, openTunnel });
  });
  return { clone: async (...given) => (await open()).clone(...given) };
}
