/** trust-words.ts -- a person's trust in words from outside: all that an agent has read until now, or those of some files. */
import type { Control } from "#api/control.ts";
import type { TrustedEntry } from "#api/trust-schemas.ts";
import { GoaldError } from "#core/errors.ts";
import type { InboxMessage, Store } from "#core/ports/store.ts";
import { plainSources, sourcesOfFile } from "#core/provenance.ts";
import { describesPath, tidyPath } from "#views/file-versions.ts";
import type { Found } from "./host-views.ts";

export interface TrustParts {
  readonly store: Pick<Store, "files" | "lastFileVersion">;
  find(name: string): Promise<Found>;
  send(found: Found, message: InboxMessage): Promise<void>;
  done(row: Found["row"], note: string): ReturnType<Control["say"]>;
}

/** Throws GOALD_NOT_FOUND, before anything is trusted, for a path that the agent's history does not have. */
export const trustOf =
  ({ store, find, send, done }: TrustParts): Control["trust"] =>
  async (name, { what, paths = [] }) => {
    const found = await find(name);
    const { row, state } = found;
    if ((what === "files") !== paths.length > 0)
      throw new GoaldError("GOALD_USAGE", "Expected paths with `files`, and none with `all`.");
    const trusted: TrustedEntry[] = [];
    const of = { agent: row.id, trustedSeq: state.trustedSeq };
    const versions = what === "files" ? await store.files(row.id) : [];
    for (const path of new Set(paths.map(tidyPath))) {
      if (!describesPath(versions, path)) throw unknownPath(row.id, path);
      trusted.push({ path, outside: await sourcesOfFile(of, path, store) });
    }
    if (what === "all") trusted.push({ path: null, outside: plainSources(state.received) });
    for (const { path } of trusted)
      await send(found, path === null ? { type: "trust", what: "all" } : { type: "trust", what: "file", path });
    return { ...(await done(row, "")), trusted, received: what === "all" ? state.received : [] };
  };

const unknownPath = (agent: string, path: string): GoaldError =>
  new GoaldError("GOALD_NOT_FOUND", `Expected a file of ${agent}, got ${JSON.stringify(path)}.`, {
    hint: `See its files: goald show ${agent} --files`,
  });
