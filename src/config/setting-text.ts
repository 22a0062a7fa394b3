/**
 * setting-text.ts -- what a person wrote into a variable or after a flag, as a value.
 *
 * Blanks around it do not count, and a placeholder of a template that nobody filled in is no value.
 */
import type { SettingRow } from "./settings-table.ts";

/** `your-openai-api-key`, `<key>`, `sk-...`, or nothing at all. */
export function isPlaceholder(text: string | undefined): boolean {
  const value = text?.trim() ?? "";
  return value === "" || /^(?:your[-_ ].*|<.*>|github_pat_123|sk-(?:\.{3}|…|x+))$/i.test(value);
}

/** The value; text that is none stays text, so that the schema refuses it and the message can show it. */
export function parseText(text: string, row: SettingRow, layer: string): unknown {
  const value = text.trim();
  if (row.offWhenSet && layer !== "flag") return false;
  if (row.schema.nullable && /^(?:none|null|unset)$/i.test(value)) return null;
  switch (row.schema.type) {
    case "integer":
      return /^[+-]?\d{1,15}$/.test(value) ? Number(value) : value;
    case "number":
      return /^[+-]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})$/.test(value) ? Number(value) : value;
    case "boolean":
      return WORDS[value.toLowerCase()] ?? value;
    case "string":
      return textOf(value, row);
  }
}

/** Python's True and False among them: AutoGPT's files have those. */
const WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  1: true,
  false: false,
  no: false,
  off: false,
  0: false,
};

function textOf(value: string, { name, schema }: SettingRow): string {
  if (name.endsWith(".baseUrl")) return value.replace(/\/{1,20}$/, "");
  return schema.enum?.find((choice) => choice.toLowerCase() === value.toLowerCase()) ?? value;
}
