/** main-shared.ts -- what all agents of a host use together: the way out, the model behind its gate, long-term memory. */
import { join } from "node:path";
import type { Tape } from "#cassette/tape.ts";
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import { openTermsFile, type TermsFile } from "#config/terms-file.ts";
import type { Embedder, LanguageModel, OpenIndex, Store, StoreReader } from "#core/ports.ts";
import type { Services, WebPages } from "#core/services.ts";
import { createHttp, type Http } from "#http/http.ts";
import { fallbackEmbedder } from "#memory/choose-embedder.ts";
import { openHashEmbedder } from "#memory/hash-embedder.ts";
import { chooseIndex } from "#memory/index/choose-index.ts";
import { openLongTermMemory, type RecallingMemory } from "#memory/recall.ts";
import { createModelGate, type ModelGate } from "#model/gate.ts";
import { createOpenAIEmbedder } from "#model/openai-embedder.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { systemClock } from "#util/clock.ts";
import type { Catalogue } from "./main-catalogue.ts";
import { openServices } from "./main-services.ts";

export interface Shared {
  readonly http: Http;
  readonly model: LanguageModel;
  readonly gate: ModelGate;
  readonly memory: RecallingMemory;
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
  tape?: Tape,
): Shared {
  const open = () => openHttp(settings);
  const http = tape?.http(open) ?? open();
  const { concurrency, requestsPerMinute } = settings.daemon;
  const gate = createModelGate({ concurrency, requestsPerMinute }, tape?.beside ?? systemClock);
  const termsFile = taped(openTermsFile(home.privateFolder), tape);
  const asking = { ...temperatureOf(settings), replySchema, termsFile, clock: tape?.clock ?? systemClock };
  const model = gate.guard(createOpenAIModel({ ...serverOf(settings, http), ...asking }));
  const embedder = chooseEmbedder(settings, http, report);
  const memory = openLongTermMemory({ store, embedder, openIndex: openIndexes(home, settings, report, tape), report });
  return { http, gate, model, memory, services: openServices({ home, settings, http, clock: asking.clock }) };
}

/** Long-term memory for a person who looks into it: as agents recall, on a store that is only read. */
export function openRecall(
  settings: Settings,
  reader: Pick<StoreReader, "memories">,
  report: (problem: string) => void,
): RecallingMemory {
  const store = {
    memories: (namespace: string, after: number, limit: number) => reader.memories(namespace, after, limit),
    saveVectors: async () => undefined,
  };
  return openLongTermMemory({ store, embedder: chooseEmbedder(settings, openHttp(settings), report), report });
}

/** What reads pages of the web, for a person; undefined where this home is not set up for it. */
export const openPages = (home: Home, settings: Settings): WebPages | undefined =>
  openServices({ home, settings, http: openHttp(settings), clock: systemClock }).pages;

const openHttp = ({ web }: Settings): Http => createHttp({}, { allow: web.allow?.split(/[,\s]+/) ?? [] });

/** What was known of the servers at the time has a say in what is asked of them. */
const taped = (file: TermsFile, tape: Tape | undefined): TermsFile =>
  tape
    ? {
        read: async () => {
          const content = await file.read();
          return tape.value("knowledge of model servers", () => content ?? null);
        },
        write: (content) => file.write(content),
      }
    : file;

/** A run that is recorded or played leaves no index files: another one of the same agent may be at work. */
function openIndexes(home: Home, settings: Settings, report: (problem: string) => void, tape?: Tape): OpenIndex {
  const folder = tape ? null : join(home.privateFolder, "memory");
  return chooseIndex(settings.memoryBackend, { folder, report });
}

/** A server's embeddings where there are any, else the offline embedder; said once when it comes to that. */
function chooseEmbedder(settings: Settings, http: Http, report: (problem: string) => void): Embedder {
  const offline = openHashEmbedder();
  if (settings.embedder === "offline") return offline;
  const remote = createOpenAIEmbedder({ ...serverOf(settings, http), model: settings.models.embedding });
  if (settings.embedder === "openai") return remote;
  return fallbackEmbedder(remote, offline, (reason) => report(`Memory works offline: ${reason}`));
}

function serverOf(settings: Settings, http: Http) {
  const { apiKey, baseUrl, organization } = settings.openai;
  const ofOrganization = organization ? { organization } : {};
  return { baseUrl, apiKey: apiKey ?? "", ...ofOrganization, http, timeoutMs: settings.modelTimeoutMs };
}

const temperatureOf = ({ temperature }: Settings) => (temperature === null ? {} : { temperature });
