/**
 * main-services.ts -- what commands may ask of the world beyond their folder: what a home is set up for, and its making.
 *
 * One line each in both tables: a service that is not in the first is not part of this goald, one that is not ready says
 * what a person can do.
 */
import type { ServiceStates } from "#commands/registry.ts";
import type { Home } from "#config/home.ts";
import { DEFAULT_BASE_URL, type ServiceServer, type Settings } from "#config/settings.ts";
import type { Price } from "#core/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Downloads, Posts, Repositories, ServiceState, Services, WebSearch } from "#core/services.ts";
import type { Http } from "#http/http.ts";
import type { PaidService } from "#loop/media.ts";
import { createOpenAIImages } from "#model/openai-images.ts";
import { createOpenAISpeech } from "#model/openai-speech.ts";
import { type PriceTable, priceOf } from "#model/prices.ts";
import { findGit } from "#services/git/find-git.ts";
import { createPageReader } from "#services/page/read-page.ts";
import { createWebPages } from "#services/page/web-pages.ts";
import type { PoliteWeb } from "#services/web/polite-web.ts";
import { searchersOf } from "#services/web/searchers.ts";
import type { Web } from "#services/web/set-up.ts";
import type { OAuthKeys } from "#services/x/oauth.ts";
import { readVersion } from "../shipped.ts";

export function serviceStates(settings: Settings): ServiceStates {
  return {
    // Whoever runs an agent has a model for it.
    advisor: { ready: true },
    // Each agent has its own (main.ts).
    agents: { ready: true },
    pages: { ready: true },
    repositories: stateOf(findGit(process.env.PATH), "Install git, 2.37 or newer."),
    search: stateOf(
      searchersOf(settings.search).length,
      "Set TAVILY_API_KEY, SERPER_API_KEY, BRAVE_API_KEY or SEARXNG_URL, or name duckduckgo in GOALD_SEARCH_PROVIDERS.",
    ),
    downloads: { ready: true },
    images: stateOf(
      serverOf(settings, settings.images),
      "Set OPENAI_API_KEY, or GOALD_IMAGE_BASE_URL for another server.",
    ),
    speech: stateOf(
      serverOf(settings, settings.speech),
      "Set OPENAI_API_KEY, or GOALD_SPEECH_BASE_URL for another server.",
    ),
    posts: stateOf(
      xKeysOf(settings),
      "Set TW_CONSUMER_KEY, TW_CONSUMER_SECRET, TW_ACCESS_TOKEN and TW_ACCESS_TOKEN_SECRET.",
    ),
  };
}

const stateOf = (isReady: unknown, toDo: string): ServiceState => (isReady ? { ready: true } : { ready: false, toDo });

export interface ServiceParts {
  readonly home: Home;
  readonly settings: Settings;
  readonly http: Http;
  readonly clock: Clock;
}

/** The services that are shared by all agents of a host. Nothing is reached before the first call. */
export function openServices({ settings, http, clock }: ServiceParts): Partial<Services> {
  const xKeys = xKeysOf(settings);
  const git = findGit(process.env.PATH);
  const { fetchPage, search, downloads } = lazyWeb(settings, http, clock);
  const images = serverOf(settings, settings.images);
  const speech = serverOf(settings, settings.speech);
  return {
    pages: createWebPages({ fetchPage, reader: createPageReader(), clock }),
    ...(images ? { images: createOpenAIImages({ ...images, http }) } : {}),
    ...(speech ? { speech: createOpenAISpeech({ ...speech, http }) } : {}),
    ...(git ? { repositories: lazyRepositories(settings, git) } : {}),
    ...(searchersOf(settings.search).length > 0 ? { search } : {}),
    downloads,
    ...(xKeys ? { posts: lazyPosts(settings.twitter.baseUrl, xKeys, http, clock) } : {}),
  };
}

/** Of the model behind a service; null where nobody knows. */
export function servicePriceOf(name: PaidService, settings: Settings, prices: PriceTable): Price | null {
  const server = serverOf(settings, settings[name]);
  return (server && priceOf(server.model, server.baseUrl, prices)) ?? null;
}

/**
 * undefined where nobody is known to do it: of other model servers than OpenAI's few do. A key goes to no other
 * server than the one that it was set for.
 */
function serverOf({ openai }: Settings, { model, baseUrl, apiKey }: ServiceServer) {
  const isDefault = openai.baseUrl === DEFAULT_BASE_URL && openai.apiKey !== null;
  const address = baseUrl ?? (isDefault ? openai.baseUrl : undefined);
  if (address === undefined) return undefined;
  const isSame = URL.parse(address)?.origin === URL.parse(openai.baseUrl)?.origin;
  const own = { apiKey: openai.apiKey, ...(openai.organization ? { organization: openai.organization } : {}) };
  return { model, baseUrl: address, ...(isSame ? own : {}), apiKey: apiKey ?? (isSame ? own.apiKey : null) ?? "" };
}

/** Loaded with the first page, search or download. */
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

/** Loaded with the first clone. */
function lazyRepositories({ git: { allow, username, apiKey, keyOrigin } }: Settings, git: string): Repositories {
  // GitHub takes any name with a token.
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

/** Loaded with the first post. */
function lazyPosts(baseUrl: string, keys: OAuthKeys, http: Http, clock: Clock): Posts {
  let posts: Promise<Posts> | undefined;
  return {
    post: async (...given) => {
      posts ??= import("#services/x/x-posts.ts").then(({ createXPosts }) =>
        createXPosts({ baseUrl, keys, http, clock }),
      );
      return (await posts).post(...given);
    },
  };
}

/** All four, or none. */
function xKeysOf({ twitter }: Settings): OAuthKeys | undefined {
  const { consumerKey, consumerSecret, accessToken, accessTokenSecret } = twitter;
  return consumerKey && consumerSecret && accessToken && accessTokenSecret
    ? { consumerKey, consumerSecret, accessToken, accessTokenSecret }
    : undefined;
}
