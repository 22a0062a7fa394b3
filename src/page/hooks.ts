/** hooks.ts -- what components share: one request at a time, values that load again, and what was on the screen. */
import { type ApiError, get, toApiError } from "./api.ts";
import { useEffect, useRef, useState } from "./html.ts";
import { addRange, firstGap, type Ranges } from "./rows.ts";
import { useLost } from "./store.ts";

/**
 * `run` resolves to whether the act succeeded; its error stays in `problem` until the next run. `isOff`: a request is
 * under way, or the daemon is gone: nothing can be asked for.
 */
export function useAction() {
  const isLost = useLost();
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (act: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    const failed = await act().then(() => null, toApiError);
    setProblem(failed);
    setBusy(false);
    return failed === null;
  };
  return { run, problem, isOff: isBusy || isLost };
}

/**
 * Loads what is at a path, and again when a value of `on` changes or the page can ask again. Returns nothing of another
 * path, and null for none. Drops late answers; keeps the last value when loading fails.
 */
export function useLoaded<T>(path: string | null, ...on: readonly unknown[]): readonly [T | null, ApiError | null] {
  const [[of, value, problem], setState] = useState<readonly [typeof path, T | null, ApiError | null]>([
    path,
    null,
    null,
  ]);
  const isLost = useLost();
  useEffect(() => {
    if (isLost || path === null) return undefined;
    const late = new AbortController();
    get<T>(path, late.signal).then(
      (loaded) => setState([path, loaded, null]),
      (thrown) =>
        late.signal.aborted || setState((last) => [path, last[0] === path ? last[1] : null, toApiError(thrown)]),
    );
    return () => late.abort();
  }, [path, ...on, isLost]);
  return of === path ? [value, problem] : [null, null];
}

/** Height of the bar above every screen, which covers what scrolls below it. */
const TOP_PX = 48;
const EVENTS = ["scroll", "resize", "visibilitychange"] as const;

/**
 * Whether every part of an element has been on the screen since its size or `content` changed last. `more` scrolls to
 * the first part that was not. What `.answer` and `.below` cover was not on the screen.
 */
export function useSeen(content = "") {
  const element = useRef<HTMLElement | null>(null);
  const seen = useRef<{ ranges: Ranges; size: string }>({ ranges: [], size: "" });
  const [whole, setWhole] = useState<string | null>(null);
  const look = (): void => {
    if (!element.current || document.hidden) return;
    const { top, width, height } = element.current.getBoundingClientRect();
    const size = `${width} ${height} ${content}`;
    if (seen.current.size !== size) seen.current = { ranges: [], size };
    const cover = document.querySelector(".below") ?? document.querySelector(".answer");
    const end = Math.min(innerHeight, cover?.getBoundingClientRect().top ?? innerHeight);
    seen.current.ranges = addRange(seen.current.ranges, Math.max(0, TOP_PX - top), Math.min(height, end - top));
    setWhole(height > 0 && firstGap(seen.current.ranges, height) === height ? content : null);
  };
  useEffect(() => {
    look();
    const stop = new AbortController();
    for (const name of EVENTS) addEventListener(name, look, { passive: true, signal: stop.signal });
    return () => stop.abort();
  });
  const more = (): void => {
    const top = element.current?.getBoundingClientRect().top ?? 0;
    scrollBy({ top: top + firstGap(seen.current.ranges, Number.POSITIVE_INFINITY) - TOP_PX - 24 });
  };
  return { element, isSeen: whole === content, more };
}
