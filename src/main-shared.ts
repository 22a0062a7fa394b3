/** main-shared.ts -- what all agents of a host use together: the way out, the model behind its gate, long-term memory. */
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import { openTermsFile } from "#config/terms-file.ts";
import type { Embedder, LanguageModel, Store } from "#core/ports.ts";
import { createHttp, type Http } from "#http/http.ts";
import { fallbackEmbedder } from "#memory/choose-embedder.ts";
import { openHashEmbedder } from "#memory/hash-embedder.ts";
import { openLongTermMemory, type RecallingMemory } from "#memory/recall.ts";
import { createModelGate, type ModelGate } from "#model/gate.ts";
import { createOpenAIEmbedder } from "#model/openai-embedder.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { systemClock } from "#util/clock.ts";
import type { Catalogue } from "./main-catalogue.ts";

export interface Shared {
  readonly http: Http;
  readonly model: LanguageModel;
  readonly gate: ModelGate;
  readonly memory: RecallingMemory;
}

export function openShared(
  home: Home,
  settings: Settings,
  { replySchema }: Catalogue,
  store: Store,
  report: (problem: string) => void,
): Shared {
  const http = createHttp();
  const { concurrency, requestsPerMinute } = settings.daemon;
  const gate = createModelGate({ concurrency, requestsPerMinute }, systemClock);
  const termsFile = openTermsFile(home.privateFolder);
  const asking = { ...temperatureOf(settings), replySchema, termsFile, clock: systemClock };
  const model = gate.guard(createOpenAIModel({ ...serverOf(settings, http), ...asking }));
  const memory = openLongTermMemory({ store, embedder: chooseEmbedder(settings, http, report), report });
  return { http, gate, model, memory };
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
