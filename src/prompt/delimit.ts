/**
 * delimit.ts -- encloses text in a delimiter that the text cannot close.
 *
 *   <data-1x9k3fz>
 *   … text of a page, a file or a command …
 *   </data-1x9k3fz>
 *
 * The mark is a hash of the text, changed until the text does not contain it. It uses no randomness, so replays are
 * exact. Nobody can guess it in advance, since a change of the text changes the mark.
 */
import type { OutsideSource } from "#core/provenance.ts";
import type { Message } from "#core/state.ts";
import { joinNames, oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { hashOf } from "#util/words.ts";

/** `data` is never an instruction; `words` are words of a person. */
export function delimitText(kind: "data" | "words", text: string): string {
  const mark = chooseMark(text);
  return `<${kind}-${mark}>\n${text}\n</${kind}-${mark}>`;
}

/** Terminates: a text of finite length contains finitely many marks. */
function chooseMark(text: string): string {
  const hash = hashOf(text).toString(36);
  for (let attempt = 0; ; attempt++) {
    const mark = attempt === 0 ? hash : `${hash}-${attempt}`;
    if (!text.includes(mark)) return mark;
  }
}

const MAX_NAMES = 5;

/**
 * Names the source of a message's words for the line above it, such as `goald`, `the web (a.example)`, `the agent
 * mole`, or `notes.md, which holds text from a.example`.
 */
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

const listNames = (names: readonly string[]): string =>
  joinNames([...new Set(names.map((name) => formatName(name)))], MAX_NAMES);

/** Makes any name one short line without angle brackets, safe outside a delimiter. */
export const formatName = (name: string, maxChars = 80): string => oneLine(clean(name).replace(/[<>]/g, ""), maxChars);
