/** describe-source.ts -- writes the line above a message that names the source of its words. */

import type { OutsideSource } from "#core/provenance.ts";
import type { Message } from "#core/state.ts";
import { formatName } from "./format-name.ts";

const MAX_NAMES = 5;

/** Such as `goald`, `the web (a.example)`, `the agent mole`, or `notes.md, which holds text from a.example`. */
export function describeMessageSource({ source, outside = [] }: Pick<Message, "source" | "outside">): string {
  if (outside.length === 0) return source;
  const files = [...new Set(outside.flatMap(({ file }) => file ?? []))];
  const read = outside.filter(({ file }) => file !== undefined);
  const direct = outside.filter(({ file }) => file === undefined);
  const hosts = direct.filter(({ from }) => from === "web").map(({ name }) => name);
  const agents = direct.filter(({ from }) => from === "agent").map(nameOf);
  const named = hosts.filter((name) => name !== "");
  return [
    ...(hosts.length > 0 ? [named.length > 0 ? `the web (${listNames(named)})` : "the web"] : []),
    ...(agents.length > 0 ? [listNames(agents)] : []),
    ...(read.length > 0 ? [`${listNames(files)}, which holds text from ${listNames(read.map(nameOf))}`] : []),
  ].join(" and ");
}

function nameOf({ from, name }: OutsideSource): string {
  if (from === "agent") return name === "" ? "another agent" : `the agent ${name}`;
  return name === "" ? "the web" : name;
}

function listNames(names: readonly string[]): string {
  const shown = [...new Set(names)].map((name) => formatName(name));
  const more = shown.length > MAX_NAMES ? [`${shown.length - MAX_NAMES} others`] : [];
  return [...shown.slice(0, MAX_NAMES), ...more].join(", ");
}
