/** openai-model.ts -- a language model that keeps in memory what it learns about its server. */
import type { LanguageModel, ModelAnswer, ModelRequest } from "#core/ports/model.ts";
import { createHttp } from "#http/http.ts";
import * as real from "#model/openai-model.ts";
import { systemClock } from "#util/clock.ts";
import type { JsonFile } from "#util/json.ts";

/** All but the address have a default. */
export type OpenAIModelSettings = Pick<real.OpenAIModelSettings, "baseUrl"> & Partial<real.OpenAIModelSettings>;

export function createOpenAIModel(settings: OpenAIModelSettings): LanguageModel {
  const local = { apiKey: "sk-test", http: createHttp(), timeoutMs: 20_000, clock: systemClock };
  return real.createOpenAIModel({ ...local, termsFile: createMemoryFile(), ...settings });
}

/** Asks with one short message, unless the request has others. */
export function askModel(
  model: LanguageModel,
  request: Partial<ModelRequest> = {},
  onText?: (piece: string) => void,
): Promise<ModelAnswer> {
  const messages = [{ role: "user" as const, content: "Which command?" }];
  return model.complete({ model: "gpt-test", messages, ...request }, new AbortController().signal, onText);
}

export function createMemoryFile(): JsonFile {
  let kept: unknown;
  return {
    read: async () => kept,
    write: async (content) => {
      kept = structuredClone(content);
    },
  };
}
