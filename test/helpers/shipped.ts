/** shipped.ts -- the shipped commands and prompts. Each test file loads them once, since nothing changes them. */
import { loadRegistry, type Registry, type ServiceStates } from "#commands/registry.ts";
import { loadWords } from "#prompt/words.ts";

const registries = new Map<string, Promise<Registry>>();

export function shippedRegistry(services: ServiceStates = {}): Promise<Registry> {
  const key = JSON.stringify(services);
  const loaded = registries.get(key) ?? loadRegistry(["commands"], services);
  registries.set(key, loaded);
  return loaded;
}

let words: ReturnType<typeof loadWords> | undefined;

export function shippedWords(): ReturnType<typeof loadWords> {
  words ??= loadWords(["prompts"]);
  return words;
}
