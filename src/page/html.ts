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
 * Loads what is at a path, and again when a value of `on` changes or the page can ask again. Returns nothing of another
 * path, and null for none. Drops late answers; keeps the last value when loading fails.
 */
export function useLoaded<T>(path: string | null, ...on: readonly unknown[]): readonly [T | null, ApiError | null] {
  const [found, setFound] = useState<{ of: string | null; value: T | null; problem: ApiError | null }>();
  const known = found?.of === path ? found : undefined;
  const isOff = isAway();
  useEffect(() => {
    if (isOff || path === null) return undefined;
    const late = new AbortController();
    get<T>(path, late.signal).then(
      (value) => setFound({ of: path, value, problem: null }),
      (thrown) =>
        late.signal.aborted || setFound({ of: path, value: known?.value ?? null, problem: toApiError(thrown) }),
    );
    return () => late.abort();
  }, [path, ...on, isOff]);
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
