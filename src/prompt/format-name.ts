/** format-name.ts -- makes a name safe outside a delimiter. */
import { oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";

/** Makes any name one short line without angle brackets, safe outside a delimiter. */
export const formatName = (name: string, maxChars = 80): string => oneLine(clean(name).replace(/[<>]/g, ""), maxChars);
