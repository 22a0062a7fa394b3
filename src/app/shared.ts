/** main-shared.ts -- what all agents of a host use together: the way out, the model behind its gate, long-term memory. */
import type { Tape } from "#cassette/tape.ts";
import type { Home } from "#config/home.ts";
import { type JsonCache, openJsonCache } from "#config/private-file.ts";
import type { Settings } from "#config/settings.ts";
import type { LanguageModel } from "#core/ports/model.ts";
import type { Store, StoreReader } from "#core/ports/store.ts";
import type { Services, WebPages } from "#core/services.ts";
import { createHttp, type Http } from "#http/http.ts";
import type { RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { checkServer, type ServerCheck } from "#model/check-server.ts";
import type { EmbeddingMeter } from "#model/embedding-meter.ts";
import { createModelGate, type ModelGate } from "#model/gate.ts";
import { findLocalServers, type LocalServer } from "#model/local-servers.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { systemClock } from "#util/clock.ts";
import type { Catalogue } from "./catalogue.ts";
import { openMemory } from "./memory.ts";
import { openServices } from "./services.ts";

export interface Shared {
  readonly http: Http;
  readonly model: LanguageModel;
  readonly gate: ModelGate;
  readonly memory: RecallingMemory;
  readonly embeddings: Pick<EmbeddingMeter, "read">;
  /** Those that need not know whose command asks. */
  readonly services: Partial<Services>;
}

/** With a `tape` they are one agent's own, whose run is recorded or played. */
export function openShared(
  home: Home,
  settings: Settings,
  { replySchema }: Catalogue,
  store: Store,
  report: (problem: string) => void,
  { tape, throughHttp = (http) => http }: { readonly tape?: Tape; readonly throughHttp?: (http: Http) => Http } = {},
): Shared {
  const open = () => throughHttp(openHttp(settings));
  const http = tape?.http(open) ?? open();
  const server = serverOf(settings, http);
  const { concurrency, requestsPerMinute } = settings.daemon;
  const gate = createModelGate({ concurrency, requestsPerMinute }, tape?.beside ?? systemClock);
  const termsFile = taped(openJsonCache(home.privateFolder, "model-servers.json"), tape);
  const asking = { ...temperatureOf(settings), replySchema, termsFile, clock: tape?.clock ?? systemClock };
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

/** Long-term memory for a person who looks into it: as agents recall, on a store that is only read. */
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

/** What reads pages of the web, for a person; undefined where this home is not set up for it. */
export const openPages = (home: Home, settings: Settings): WebPages | undefined =>
  openServices({ home, settings, http: openHttp(settings), clock: systemClock }).pages;

const openHttp = ({ web }: Settings): Http => createHttp({}, { allow: web.allow?.split(/[,\s]+/) ?? [] });

/** What was known of the servers at the time has a say in what is asked of them. */
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

/** The model's server, which is asked for embeddings too. */
function serverOf(settings: Settings, http: Http) {
  const { apiKey, baseUrl, organization } = settings.openai;
  const ofOrganization = organization ? { organization } : {};
  return { baseUrl, apiKey: apiKey ?? "", ...ofOrganization, http, timeoutMs: settings.modelTimeoutMs };
}

const temperatureOf = ({ temperature }: Settings) => (temperature === null ? {} : { temperature });

/** Whether the model server of these settings answers, without asking a model. */
export const checkModelServer = (settings: Settings, timeoutMs: number): Promise<ServerCheck> =>
  checkServer({ ...serverOf(settings, openHttp(settings)), timeoutMs });

/** Servers on the usual local ports; found, never used unasked. */
export const findServers = (): Promise<readonly LocalServer[]> => findLocalServers(createHttp());
