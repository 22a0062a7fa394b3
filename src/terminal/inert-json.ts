/**
 * inert-json.ts -- JSON text that does nothing to the terminal it is shown on.
 *
 * JSON leaves DEL, the C1 controls and the marks that turn the direction of writing as they are, and a terminal obeys
 * them. Outside strings they cannot stand, so each is written as its escape: every program reads the same value.
 */
export const inertJson = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
