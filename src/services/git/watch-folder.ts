/** watch-folder.ts -- ends a clone that takes too long, or whose folder grows too large. */
import type { GoaldError } from "#core/errors.ts";
import { cloneTookTooLong, repositoryTooLarge } from "./git-errors.ts";
import { measureFolderBytes } from "./measure.ts";

export interface CloneLimits {
  /** Maximum size of the folder at any time, and of the files to check out. */
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly timeoutMs: number;
}

const WATCH_MS = 200;

export interface FolderWatch extends Disposable {
  /** Aborts with the caller's signal, at the timeout, and when the folder exceeds its limit. */
  readonly signal: AbortSignal;
  /** Ends git and the clone with this reason. */
  readonly stop: (reason: GoaldError) => void;
}

export function watchFolder(folder: string, { maxBytes, timeoutMs }: CloneLimits, outer: AbortSignal): FolderWatch {
  const controller = new AbortController();
  const timeout = setTimeout(() => controller.abort(cloneTookTooLong(timeoutMs)), timeoutMs);
  let next: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const measureFolder = async (): Promise<void> => {
    const startedAt = performance.now();
    // A folder that cannot be read now is measured again at the next check.
    if ((await measureFolderBytes(folder).catch(() => 0)) > maxBytes) controller.abort(repositoryTooLarge(maxBytes));
    // Measuring a large folder is slow: spend at most a tenth of the time on it.
    if (!isOver) next = setTimeout(measureFolder, Math.max(WATCH_MS, 10 * (performance.now() - startedAt)));
  };
  next = setTimeout(measureFolder, WATCH_MS);
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    stop: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timeout);
      clearTimeout(next);
    },
  };
}
