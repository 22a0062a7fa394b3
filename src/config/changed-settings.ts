/** changed-settings.ts -- which settings differ between two readings. */
import type { Settings } from "./settings.ts";

/** One sentence for each, by name only: values may be secrets. */
export function changesBetween(before: Settings, after: Settings): readonly string[] {
  const earlier = new Map(flatten(before, ""));
  return flatten(after, "").flatMap(([name, text]) => (earlier.get(name) === text ? [] : [`${name} changed.`]));
}

const flatten = (value: unknown, name: string): readonly (readonly [string, string])[] =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => flatten(inner, name ? `${name}.${key}` : key))
    : [[name, JSON.stringify(value)]];
