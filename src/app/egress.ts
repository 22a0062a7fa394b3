/** egress.ts -- connects an agent's store, commands and settings with the part that finds what a call would send out. */
import type { Registry } from "#commands/registry.ts";
import { SETTINGS, type Settings, valueAt } from "#config/settings.ts";
import { ifNotFound } from "#core/errors.ts";
import { namespaceOf } from "#core/memory.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { isTainted } from "#core/provenance.ts";
import type { Egress } from "#egress/egress.ts";
import type { LeavingParts } from "#loop/describe-leaving.ts";
import type { Journal } from "#loop/journal.ts";

export interface EgressSources {
  readonly store: Pick<StoreReader, "memory">;
  readonly registry: Pick<Registry, "get">;
  readonly settingTexts: string;
}

/** For one agent. Nothing is loaded before the first call that matters. */
export function createDescribeLeaving({ store, registry, settingTexts }: EgressSources): LeavingParts {
  let opened: Egress | undefined;
  const open = async (journal: Pick<Journal, "read">): Promise<Egress> => {
    const { openEgress } = await import("#egress/egress.ts");
    opened ??= openEgress({
      facts: (name) => registry.get(name),
      read: (text) => journal.read(text),
      recallText: async (id) => {
        // The agent whose memory it was may have been removed.
        const row = await store.memory(namespaceOf(id), id).catch(ifNotFound(undefined));
        // A row of a step holds the model's words too. One without a step is a page that a person gave.
        const isPage = row?.trust === "web" && row.step === null;
        return isPage ? undefined : row?.text;
      },
      settingTexts,
    });
    return opened;
  };
  return {
    describeLeaving: async (calls, journal, received) =>
      isTainted(journal.state) ? (await open(journal)).describe(calls, journal, received) : [],
    findCarried: async (given, journal) =>
      isTainted(journal.state) ? (await open(journal)).findOrigin(given, journal) : undefined,
  };
}

/** The values of the settings without secrets, one a line. */
const settingTextsOf = (settings: Settings): string =>
  SETTINGS.filter(({ secret }) => secret !== true)
    .map(({ name }) => String(valueAt(settings, name) ?? ""))
    .join("\n");

/** Nothing when the settings permit sending unasked. */
export function describeLeavingFor(host: {
  readonly settings: Settings;
  readonly store: EgressSources["store"];
  readonly catalogue: Pick<EgressSources, "registry">;
}): Partial<LeavingParts> {
  const { settings, store, catalogue } = host;
  if (!settings.web.askBeforeSending) return {};
  const sources = { store, registry: catalogue.registry, settingTexts: settingTextsOf(settings) };
  return createDescribeLeaving(sources);
}
