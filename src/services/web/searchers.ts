/**
 * searchers.ts -- lists the search providers that the settings configure. Separate from the code that uses them, which
 * is loaded later.
 */

export interface SearchSettings {
  readonly providers: string | null;
  readonly tavily: KeyedProvider;
  readonly serper: KeyedProvider;
  readonly brave: KeyedProvider;
  readonly searxng: { readonly baseUrl: string | null };
  readonly duckduckgo: { readonly baseUrl: string };
}
interface KeyedProvider {
  readonly apiKey: string | null;
  readonly baseUrl: string;
}

/** Returns the names of the configured providers, in the order in which they are tried. */
export function searchersOf(settings: SearchSettings): readonly string[] {
  const named = [...new Set(settings.providers?.split(/[,\s]+/) ?? [])];
  const ready: Readonly<Record<string, unknown>> = {
    tavily: settings.tavily.apiKey,
    serper: settings.serper.apiKey,
    brave: settings.brave.apiKey,
    searxng: settings.searxng.baseUrl,
    duckduckgo: true,
  };
  return named.filter((name) => ready[name]);
}
