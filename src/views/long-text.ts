/** long-text.ts -- reads long texts that events keep as references. */
import type { StoreReader } from "#core/ports/store.ts";
import { isBlobRef, type Text } from "#core/text.ts";

/** Replaces each reference to a long text by the text. A text that is missing from the store stays a reference. */
export async function openTexts(value: unknown, store: Pick<StoreReader, "blob">): Promise<unknown> {
  if (isBlobRef(value)) {
    const bytes = await store.blob(value.blob);
    if (!bytes) return value;
    const text = Buffer.from(bytes).toString("utf8");
    return value.json ? JSON.parse(text) : text;
  }
  if (Array.isArray(value)) return Promise.all(value.map((item) => openTexts(item, store)));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(async ([name, inner]) => [name, await openTexts(inner, store)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** For people: names a text that is missing from the store. */
export const wholeText = (text: Text): string =>
  typeof text === "string" ? text : `${text.head}\n[… of ${text.bytes} bytes; the rest is missing from the store]`;
