/** change-reporter.ts -- reports the changes of files, and remembers them until the history has them. */
import type { FileChange } from "#core/ports/store.ts";
import type { LastVersion } from "#core/ports/workspace.ts";
import { sha256Of } from "./file-content.ts";
import type { FolderQuota } from "./folder-quota.ts";

/** Undefined when the history has none. */
type LatestVersion = Awaited<ReturnType<LastVersion>>;

export class ChangeReporter {
  readonly #onChange: (change: FileChange) => void;
  readonly #lastVersion: LastVersion | undefined;
  readonly #quota: FolderQuota;
  /** The last reported change of each path, which the history may not have stored yet. */
  readonly #reported = new Map<string, LatestVersion>();
  /** Bytes of contents that were reported, and perhaps not stored yet. */
  #newBytes = 0;

  constructor(onChange: (change: FileChange) => void, lastVersion: LastVersion | undefined, quota: FolderQuota) {
    this.#onChange = onChange;
    this.#lastVersion = lastVersion;
    this.#quota = quota;
  }

  get hasHistory(): boolean {
    return this.#lastVersion !== undefined;
  }

  async versionOf(path: string): Promise<LatestVersion> {
    return this.#reported.get(path) ?? (await this.#lastVersion?.(path));
  }

  /** Throws GOALD_QUOTA_EXCEEDED when the history cannot take these further bytes. */
  requireRoom(path: string, bytes: number): Promise<void> {
    return this.#quota.requireHistory(path, this.#newBytes + bytes);
  }

  report(
    operation: FileChange["operation"],
    path: string,
    bytes: number,
    content: Uint8Array | null,
    sha256: string | null = content && sha256Of(content),
  ): void {
    this.#newBytes += content?.length ?? 0;
    if (this.#lastVersion) this.#reported.set(path, { operation, bytes, sha256 });
    this.#onChange({ path, operation, bytes, sha256, content });
  }

  /** Reports the removal of those that the history knows. */
  async reportRemoved(paths: readonly string[]): Promise<void> {
    for (const path of paths)
      if (((await this.versionOf(path))?.operation ?? "delete") !== "delete") this.report("delete", path, 0, null);
  }
}
