/** leaving.ts -- what a call would send out beyond the rule of src/egress, and the words for it. */

/** Recorded with a call of an agent that received outside words. Absent when the call is within the rule. */
export interface Leaving {
  /** The host that the call names; else the command. */
  readonly to: string;
  /** An address that stands in nothing that the agent may follow, on one line. */
  readonly address?: string;
  /** Pages of the address's site in this turn, with this one, when they are more than MAX_SITE_PAGES. */
  readonly pages?: number;
  /** Characters of words that neither the web nor a person said, when they are more than MAX_OWN_CHARS. */
  readonly ownChars?: number;
  /** The same over all calls of the turn, when they are more than MAX_TURN_CHARS. */
  readonly turnChars?: number;
  /** A number, key or e-mail address that a file of the folder has. */
  readonly quotes?: { readonly file: string; readonly text: string };
}

/** Pages of one site in a turn beyond those that a person named: a choice among links says something, too. */
export const MAX_SITE_PAGES = 20;
/** An ordinary search query has fewer than 100 characters. */
export const MAX_OWN_CHARS = 100;
export const MAX_TURN_CHARS = 2_000;

/** The question to a person. */
export const describeLeaving = (leaving: Leaving): string =>
  `The agent has read text from outside, and ${listReasons(leaving)}.`;

/** The observation of a call that is refused because nobody is asked. */
export const refuseLeaving = (leaving: Leaving): string =>
  `It was not run, and nothing was sent: you have read text from outside, and ${listReasons(leaving)}. Nobody can be asked in this run. ` +
  `${leaving.address === undefined && leaving.pages === undefined ? ALLOWED_WORDS : ALLOWED_ADDRESSES} Or go on without it.`;

const ALLOWED_ADDRESSES =
  "You may open an address exactly as a page, a search answer or a person gave it, a folder above it, the first page of a host that a person named, " +
  `and any page of the public sources in the setting web.openHosts; at most ${MAX_SITE_PAGES} pages of one site in a turn. Search for the page to get its address.`;
const ALLOWED_WORDS =
  `A search or message may have up to ${MAX_OWN_CHARS} characters of words that neither the web nor a person said, ${MAX_TURN_CHARS} in a turn, ` +
  "and no number, key or e-mail address from the folder. Use fewer and more general words.";

/** Events of an older form have other fields, which name no reason. */
function listReasons({ to, address, pages, ownChars, turnChars, quotes }: Leaving): string {
  const reasons = [
    address && `the address ${address} stands in no page, search answer, setting or words of a person`,
    pages && `this would be page ${pages} of ${to} in this turn, and ${MAX_SITE_PAGES} may be opened unasked`,
    ownChars && `${ownChars} characters that neither the web nor a person said would go to ${to}`,
    turnChars && `with this call ${turnChars} such characters would have left in this turn`,
    quotes && `${JSON.stringify(quotes.text)} from the file ${JSON.stringify(quotes.file)} would go to ${to}`,
  ].filter((reason) => typeof reason === "string");
  return reasons.join("; ") || `the call would send something to ${to} that needs a person's yes`;
}
