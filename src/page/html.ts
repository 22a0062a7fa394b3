/** html.ts -- templates of htm as elements of Preact, its hooks, values that load again, and what was on the screen. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "/vendor/hooks.js";
import htm from "/vendor/htm.js";
import { h } from "/vendor/preact.js";
import { type ApiError, get, toApiError } from "./api.ts";
import { isAway } from "./store.ts";

export type { ComponentChildren as Children } from "preact";
export { useEffect, useMemo, useState } from "/vendor/hooks.js";
export { render } from "/vendor/preact.js";

/** By `this[0]` htm keeps no element between calls: a kept one holds the tree that it stood in first, with all rows. */
function create(this: number[], ...given: Parameters<typeof h>): VNode {
  this[0] = 3;
  return h(...given);
}
// The types of htm are those of its CommonJS module.
const templates = htm as unknown as typeof htm.default;
export const html = templates.bind(create) as (strings: TemplateStringsArray, ...values: readonly unknown[]) => VNode;

/**
 * Loads what is at a path, and again when a value of `on` changes or the page can ask again: after the answer that is
 * under way, however slow. Returns nothing of another path, and null for none. Keeps the last value when loading fails.
 */
export function useLoaded<T>(path: string | null, ...on: readonly unknown[]): readonly [T | null, ApiError | null] {
  const [found, setFound] = useState<{ of: string | null; value: T | null; problem: ApiError | null }>();
  const known = found?.of === path ? found : undefined;
  const isOff = isAway();
  const reload = useRef(async () => {});
  // Stands above the first load, when there is nothing yet to load again.
  useEffect(() => void reload.current(), on);
  useEffect(() => {
    if (isOff || path === null) return undefined;
    const late = new AbortController();
    let wishes = 0;
    const load = async (): Promise<void> => {
      wishes += 1;
      if (wishes > 1) return;
      const answer = await get<T>(path, late.signal).then(
        (value) => ({ value, problem: null }),
        (thrown) => ({ problem: toApiError(thrown) }),
      );
      if (late.signal.aborted) return;
      setFound((last) => ({ value: null, ...(last?.of === path && last), ...answer, of: path }));
      const isDue = wishes > 1;
      wishes = 0;
      if (isDue) void load();
    };
    reload.current = load;
    void load();
    return () => late.abort();
  }, [path, isOff]);
  return [known?.value ?? null, known?.problem ?? null];
}

/** Height of the bar above every screen, which covers what scrolls below it. */
const TOP_PX = 48;

/**
 * Whether an element was on the screen from its beginning to its end, part after part, since its size or `content`
 * changed last. `more` scrolls to the first part that was not. What `.answer`, `.below` and a popover cover was not on
 * the screen. A pixel at an end is no part.
 */
export function useSeen(content = "") {
  const element = useRef<HTMLElement | null>(null);
  const seen = useRef({ to: 0, size: "" });
  const [whole, setWhole] = useState<string | null>(null);
  const look = (): void => {
    if (!element.current || document.hidden) return;
    const { top, width, height } = element.current.getBoundingClientRect();
    const size = `${width} ${height} ${content}`;
    if (seen.current.size !== size) seen.current = { to: 0, size };
    const covers = [...document.querySelectorAll(".answer, .below, :popover-open")];
    const end = Math.min(innerHeight, ...covers.map((cover) => cover.getBoundingClientRect().top));
    if (TOP_PX - top <= seen.current.to + 1) seen.current.to = Math.max(seen.current.to, Math.min(height, end - top));
    setWhole(height > 0 && seen.current.to >= height - 1 ? content : null);
  };
  useEffect(() => {
    look();
    const stop = new AbortController();
    for (const name of ["scroll", "resize", "visibilitychange"])
      addEventListener(name, look, { passive: true, signal: stop.signal });
    return () => stop.abort();
  });
  const more = (): void => {
    const top = element.current?.getBoundingClientRect().top ?? 0;
    scrollBy({ top: top + seen.current.to - TOP_PX - 24 });
  };
  return { element, isSeen: whole === content, more };
}
