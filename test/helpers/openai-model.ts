/** openai-model.ts -- a language model that keeps in memory what it learns about its server. */
import type { LanguageModel } from "#core/ports/model.ts";
import * as real from "#model/openai-model.ts";
import { systemClock } from "#util/clock.ts";
import type { JsonFile } from "#util/json.ts";

export type OpenAIModelSettings = Omit<real.OpenAIModelSettings, "termsFile" | "clock"> &
  Partial<Pick<real.OpenAIModelSettings, "termsFile" | "clock">>;

export const createOpenAIModel = (settings: OpenAIModelSettings): LanguageModel =>
  real.createOpenAIModel({ termsFile: createMemoryFile(), clock: systemClock, ...settings });

function createMemoryFile(): JsonFile {
  let kept: unknown;
  return {
    read: async () => kept,
    write: async (content) => {
      kept = content;
    },
  };
}
