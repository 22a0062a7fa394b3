/**
 * services.ts -- the parts that all agents of a host share: HTTP, the rate-limited model, long-term memory, services.
 *
 * Nothing is loaded or requested before its first use.
 */
import type { Tape } from "#cassette/tape.ts";
import type { Home } from "#config/home.ts";
import { type JsonCache, openJsonCache } from "#config/private-file.ts";
import type { Settings } from "#config/settings.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { LanguageModel } from "#core/ports/model.ts";
import type { Store, StoreReader } from "#core/ports/store.ts";
import type { Downloads, Repositories, Services, WebPages, WebSearch } from "#core/services.ts";
import { createHttp, type Http } from "#http/http.ts";
import type { RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { checkServer, type ServerCheck } from "#model/check-server.ts";
import type { EmbeddingMeter } from "#model/embedding-meter.ts";
import { createModelGate, type ModelGate } from "#model/gate.ts";
import { findLocalServers, type LocalServer } from "#model/local-servers.ts";
import { createOpenAIImages } from "#model/openai-images.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { createOpenAISpeech } from "#model/openai-speech.ts";
import { findGit } from "#services/git/find-git.ts";
import { createPageReader } from "#services/page/read-page.ts";
import { createWebPages } from "#services/page/web-pages.ts";
import type { PoliteWeb } from "#services/web/polite-web.ts";
import { searchersOf } from "#services/web/searchers.ts";
import type { Web } from "#services/web/set-up.ts";
import { openPosts } from "#services/x/lazy-posts.ts";
import { systemClock } from "#util/clock.ts";
import { readVersion } from "../shipped.ts";
import { type Catalogue, mediaServerOf, xKeysOf } from "./catalogue.ts";
import { openMemory } from "./memory.ts";

export interface Shared {
  readonly http: Http;
  readonly model: LanguageModel;
  readonly gate: ModelGate;
  readonly memory: RecallingMemory;
  readonly embeddings: Pick<EmbeddingMeter, "read">;
  /** Services that do not depend on the agent. */
  readonly services: Partial<Services>;
}

export interface SharedParts {
  readonly home: Home;
  readonly settings: Settings;
  readonly catalogue: Catalogue;
  readonly store: Store;
  /** Wraps the HTTP layer; the demo uses it to serve a recorded web. */
  throughHttp(http: Http): Http;
  report(problem: string): void;
  /** Set for the parts of a single agent that is recorded or replayed. */
  readonly tape?: Tape;
  /** The host's request limiter, which also limits a recorded agent. */
  readonly gate?: ModelGate;
}

export function openShared(parts: SharedParts): Shared {
  const { home, settings, store, report, tape } = parts;
  const open = () => parts.throughHttp(openHttp(settings));
  const http = tape?.http(open) ?? open();
  const server = serverOf(settings, http);
  const gate = parts.gate ?? createModelGate(settings.daemon, tape?.beside ?? systemClock);
  const termsFile = taped(openJsonCache(home.privateFolder, "model-servers.json"), tape);
  const asking = { ...optionsOf(settings), termsFile, clock: tape?.clock ?? systemClock };
  const model = gate.guard(createOpenAIModel({ ...server, ...asking }));
  const ofMemory = { home, settings, server, store, keeper: store, report };
  const { memory, embeddings } = openMemory({ ...ofMemory, ...(tape ? { tape } : {}) });
  return {
    http,
    gate,
    model,
    memory,
    embeddings,
    services: openServices({ home, settings, http, clock: tape?.beside ?? systemClock }),
  };
}

/** Opens long-term memory for a person's search. It recalls as agents do, from a read-only store. */
export function openRecall(
  home: Home,
  settings: Settings,
  reader: Pick<StoreReader, "memories">,
  report: (problem: string) => void,
): RecallingMemory {
  const store = {
    memories: (namespace: string, after: number, limit: number) => reader.memories(namespace, after, limit),
    saveVectors: async () => undefined,
  };
  const server = serverOf(settings, openHttp(settings));
  return openMemory({ home, settings, server, store, report }).memory;
}

/** Opens web pages for a person; undefined when this home is not set up for it. */
export const openPages = (home: Home, settings: Settings): WebPages | undefined =>
  openServices({ home, settings, http: openHttp(settings), clock: systemClock }).pages;

const openHttp = ({ web }: Settings): Http => createHttp({}, { allow: web.allow?.split(/[,\s]+/) ?? [] });

/** Records the cached facts about model servers, since requests depend on them. */
const taped = (file: JsonCache, tape: Tape | undefined): JsonCache =>
  tape
    ? {
        read: async () => {
          const content = await file.read();
          return tape.value("knowledge of model servers", () => content ?? null);
        },
        write: (content) => file.write(content),
      }
    : file;

/** The model server, which also makes embeddings. */
function serverOf(settings: Settings, http: Http) {
  const { apiKey, baseUrl, organization } = settings.openai;
  const ofOrganization = organization ? { organization } : {};
  return { baseUrl, apiKey: apiKey ?? "", ...ofOrganization, http, timeoutMs: settings.modelTimeoutMs };
}

const optionsOf = ({ temperature, reasoningEffort, modelIdleTimeoutMs }: Settings) => ({
  idleTimeoutMs: modelIdleTimeoutMs,
  ...(temperature === null ? {} : { temperature }),
  ...(reasoningEffort === null ? {} : { reasoningEffort }),
});

/** Checks that the model server of these settings answers, without calling a model. */
export const checkModelServer = (settings: Settings, timeoutMs: number): Promise<ServerCheck> =>
  checkServer({ ...serverOf(settings, openHttp(settings)), timeoutMs });

/** Finds model servers on the usual local ports. */
export const findServers = (): Promise<readonly LocalServer[]> => findLocalServers(createHttp());

// ---------------------------------------------------------------- services of commands

export interface ServiceParts {
  readonly home: Home;
  readonly settings: Settings;
  readonly http: Http;
  readonly clock: Clock;
}

/** Opens services that connect to nothing before their first call. */
export function openServices({ settings, http, clock }: ServiceParts): Partial<Services> {
  const xKeys = xKeysOf(settings);
  const git = findGit(process.env.PATH);
  const { fetchPage, search, downloads } = lazyWeb(settings, http, clock);
  const images = mediaServerOf(settings, settings.images);
  const speech = mediaServerOf(settings, settings.speech);
  return {
    pages: createWebPages({ fetchPage, reader: createPageReader(), clock }),
    ...(images ? { images: createOpenAIImages({ ...images, http }) } : {}),
    ...(speech ? { speech: createOpenAISpeech({ ...speech, http }) } : {}),
    ...(git ? { repositories: lazyRepositories(settings, git) } : {}),
    ...(searchersOf(settings.search).length > 0 ? { search } : {}),
    downloads,
    ...(xKeys ? { posts: openPosts({ baseUrl: settings.twitter.baseUrl, keys: xKeys, http, clock }) } : {}),
  };
}

/** Loads the web service with the first page, search or download. */
function lazyWeb(settings: Settings, http: Http, clock: Clock) {
  let opened: Promise<Web> | undefined;
  const open = (): Promise<Web> => {
    const userAgent = settings.web.userAgent ?? `goald/${readVersion()}`;
    opened ??= import("#services/web/set-up.ts").then(({ openWeb }) => openWeb(settings, { http, clock, userAgent }));
    return opened;
  };
  const fetchPage: PoliteWeb["get"] = async (...given) => (await open()).polite.get(...given);
  const search: WebSearch = { search: async (...given) => (await open()).search.search(...given) };
  const downloads: Downloads = { get: async (...given) => (await open()).downloads.get(...given) };
  return { fetchPage, search, downloads };
}

/** Loads the repository service with the first clone. */
function lazyRepositories({ git: { allow, username, apiKey, keyOrigin } }: Settings, git: string): Repositories {
  // GitHub accepts any user name with a token.
  const key = apiKey === null ? null : { origin: keyOrigin, user: username ?? "x-access-token", token: apiKey };
  const open = async (): Promise<Repositories> => {
    const [{ createRepositories }, rules] = await Promise.all([
      import("#services/git/clone.ts"),
      import("#http/public-address.ts"),
    ]);
    const { isPublicAddress: isPublic, isNeverAllowed } = rules;
    return createRepositories({ git, allow, key, environment: process.env, isPublic, isNeverAllowed });
  };
  let repositories: Promise<Repositories> | undefined;
  return {
    clone: async (...given) => {
      repositories ??= open();
      return (await repositories).clone(...given);
    },
  };
}
