/** trusted-words.ts -- finds the outside words of an agent that a person trusts. Pure. */
import type { FileVersion, StoreReader } from "#core/ports/store.ts";
import { described, nullable, open, type Static, text, time } from "#util/schema.ts";

export const TrustGiven = open({
  path: described(nullable(text), "Null for all words that the agent had read by then."),
  at: time,
});
export type TrustGiven = Static<typeof TrustGiven>;

/** The newest trust in each file or folder, by path. */
export function trustedFiles(versions: readonly FileVersion[]): readonly TrustGiven[] {
  const newest = new Map(versions.map((version) => [version.path, version]));
  return [...newest.values()]
    .filter(({ operation }) => operation === "trust")
    .map(({ path, at }) => ({ path, at }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The form of a path that the history has. */
export const tidyPath = (path: string): string =>
  path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");

/** Whether the history has this file, this folder, or a placed folder around it. Files of a sub-agent are in its own history. */
export function describesPath(versions: readonly FileVersion[], path: string): boolean {
  if (/^agents\/[^/]+\/./.test(path)) return true;
  const newest = new Map(versions.map((version) => [version.path, version]));
  return [...newest.values()].some(
    (version) =>
      version.operation !== "delete" &&
      (version.path === path ||
        version.path.startsWith(`${path}/`) ||
        (path.startsWith(`${version.path}/`) && version.sha256 === null)),
  );
}

/** `seq`: the event of the trust; 0 for none. */
export async function loadTrustInAll(
  agent: string,
  seq: number,
  reader: Pick<StoreReader, "read">,
): Promise<readonly TrustGiven[]> {
  const [event] = seq === 0 ? [] : await reader.read(agent, seq - 1, 1);
  return event ? [{ path: null, at: event.at }] : [];
}
