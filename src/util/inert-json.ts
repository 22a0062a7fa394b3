/**
 * inert-json.ts -- JSON text that does nothing to the terminal it is shown on, and hides nothing from who reads it there.
 *
 * JSON leaves DEL, the C1 controls, the marks that turn the direction of writing and the characters that nobody sees as
 * they are; a terminal obeys the first ones, and with `clean` all that stands between two of them goes. Outside
 * strings they cannot stand, so each is written as its escape: every program reads the same value.
 */
import { UNSEEN } from "./visible.ts";

export const inertJson = (json: string): string => json.replace(UNSEEN, escaped);

const escaped = (character: string): string =>
  character.length === 1
    ? escapeOf(character.charCodeAt(0))
    : escapeOf(character.charCodeAt(0)) + escapeOf(character.charCodeAt(1));
const escapeOf = (unit: number): string => `\\u${unit.toString(16).padStart(4, "0")}`;
