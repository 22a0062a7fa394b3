/**
 * fact.ts -- facts that an agent notes with `remember`: a subject, an attribute and a value, as one line of text.
 *
 * Two notes are about the same thing when subject and attribute differ only in case, accents, white space, hyphens between
 * letters and a leading article. The text of a row is the only place of the words, so that a person who forgets the row erases them.
 */
import { oneLine } from "./text.ts";

export interface Fact {
  readonly subject: string;
  readonly attribute: string;
  readonly value: string;
}

/** `MemoryRow.importance` of a fact: as much as the closing words of a turn. */
export const FACT_IMPORTANCE = 0.8;
/** Maximum characters of a subject or an attribute. */
const MAX_NAME_CHARS = 200;
/** Maximum characters of a value. */
const MAX_VALUE_CHARS = 2_000;
/** Between the parts of the text. A subject and an attribute never contain it. */
const BETWEEN = ": ";

/** The fact as one line: "Depot: opening hour: 7". `parseFact` reads it. */
export function formatFact({ subject, attribute, value }: Fact): string {
  return [toName(subject), toName(attribute), oneLine(value, MAX_VALUE_CHARS)].join(BETWEEN);
}

/** Returns undefined for a text that `formatFact` has not written. */
export function parseFact(text: string): Fact | undefined {
  const [subject, attribute, ...value] = text.split(BETWEEN);
  if (!subject || !attribute || value.length === 0) return undefined;
  return { subject, attribute, value: value.join(BETWEEN) };
}

/** The fact `wrong` with another value. `given` is the value or the whole fact. Undefined when `wrong` is not a fact. */
export function correctFact(wrong: string, given: string): string | undefined {
  const [fact, whole] = [parseFact(wrong), parseFact(given)];
  if (!fact) return undefined;
  const isWhole = whole !== undefined && identifyFact(whole) === identifyFact(fact);
  return formatFact({ ...fact, value: isWhole ? whole.value : given });
}

const toName = (text: string): string =>
  oneLine(text, MAX_NAME_CHARS)
    .replaceAll(/:(?= )/g, ",")
    .replace(/[\s:.,;]+$/, "");

/** Equal for facts about the same thing, different for others. Empty when the subject or the attribute has no letter or digit. */
export function identifyFact({ subject, attribute }: Pick<Fact, "subject" | "attribute">): string {
  const names = [foldName(subject), foldName(attribute)];
  return names.every((name) => /[\p{L}\p{N}]/u.test(name)) ? JSON.stringify(names) : "";
}

/** Keeps punctuation at digits: 1.2 is not 12. */
const foldName = (text: string): string =>
  toName(text)
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/(?<=\p{L})[-_‐‑](?=\p{L})/gu, " ")
    .replace(/^(?:the|an|a) (?=\S)/, "");

/** Whether two values are the same text, apart from case and white space. */
export const isSameValue = (one: string, other: string): boolean => foldValue(one) === foldValue(other);

const foldValue = (text: string): string => oneLine(text, MAX_VALUE_CHARS).normalize("NFKC").toLowerCase();
