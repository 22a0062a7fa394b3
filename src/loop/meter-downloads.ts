/** meter-downloads.ts -- counts the bytes that one command call downloads, within the agent's quota. */

import { GoaldError } from "#core/errors.ts";
import type { Services } from "#core/services.ts";
import type { AgentState } from "#core/state.ts";
import { MEBIBYTE } from "#util/mebibyte.ts";

export interface DownloadMeter {
  /** Services that count, in place of the host's. They throw GOALD_QUOTA_EXCEEDED before anything is saved. */
  readonly services: Pick<Partial<Services>, "downloads" | "repositories">;
  /** For the end of the call; empty when nothing was downloaded. */
  counted(): { readonly downloadedBytes?: number };
}

/** `limitBytes`: over the agent's life; absent for no limit. */
export function meterDownloads(
  { downloads, repositories }: Partial<Services>,
  { downloadedBytes }: Pick<AgentState, "downloadedBytes">,
  limitBytes = Number.POSITIVE_INFINITY,
): DownloadMeter {
  let added = 0;
  const within = async <T>(what: string, load: () => Promise<T>, sizeOf: (loaded: T) => number): Promise<T> => {
    if (downloadedBytes + added >= limitBytes) throw exceeded(what, downloadedBytes + added, limitBytes);
    const loaded = await load();
    const before = downloadedBytes + added;
    added += sizeOf(loaded);
    if (downloadedBytes + added > limitBytes) throw exceeded(what, before, limitBytes);
    return loaded;
  };
  return {
    services: {
      ...(downloads && {
        downloads: {
          get: (url, signal) =>
            within(
              url,
              () => downloads.get(url, signal),
              ({ bytes }) => bytes.length,
            ),
        },
      }),
      ...(repositories && {
        repositories: {
          clone: (url, folder, signal) =>
            within(
              url,
              () => repositories.clone(url, folder, signal),
              ({ bytes }) => bytes,
            ),
        },
      }),
    },
    counted: () => (added === 0 ? {} : { downloadedBytes: added }),
  };
}

const exceeded = (what: string, used: number, limit: number): GoaldError =>
  new GoaldError(
    "GOALD_QUOTA_EXCEEDED",
    `${what} was not saved: this agent has downloaded ${Math.ceil(used / MEBIBYTE)} of ${Math.ceil(limit / MEBIBYTE)} MB in its life (half of quota.megabytes).`,
    { hint: "Deleting files does not help; only a person can raise the setting. browse_website still reads pages." },
  );
