/** sent-text.ts -- splits what a call sends into addresses and words. */
import type { CommandCall } from "#core/call.ts";
import { completeAddress } from "#util/web-address.ts";

/** A command as far as this rule needs it. `sends`: the arguments whose text leaves; absent: all of them. */
export interface CommandFacts {
  readonly annotations: { readonly openWorld: boolean };
  readonly sends?: readonly string[];
}

export const isSending = (facts: CommandFacts | undefined): boolean =>
  facts?.annotations.openWorld === true && facts.sends?.length !== 0;

/** True when the answer is the web's. A command that does not say what it sends may as well read something of the folder. */
export const isFetching = (facts: CommandFacts | undefined): boolean =>
  facts?.annotations.openWorld === true && facts.sends !== undefined;

/** The texts of a call that leave: arguments of `sends`, or all. */
export interface SentText {
  /** The host of the first address; else the command. */
  readonly to: string;
  readonly addresses: readonly URL[];
  /** Everything that is no address. */
  readonly words: string;
}

/** Such an argument may name a host without `https://`. Any other may be a text that holds an address. */
const ADDRESS_NAME = /ur[il]|link|address|host|site|href/i;

export function splitSent({ name, args }: CommandCall, sends: readonly string[] | undefined): SentText {
  const addresses: URL[] = [];
  const words: string[] = [];
  for (const [key, value] of Object.entries(args)) {
    if (sends && !sends.includes(key)) continue;
    for (const text of stringsIn(value)) {
      const isNamed = ADDRESS_NAME.test(key);
      const whole = isNamed ? completeAddress(text.trim()) : text.trim();
      const [url] = /^[a-z][a-z\d+.-]*:\/\/\S+$/i.test(whole) ? parseAddresses(whole) : [];
      if (url) addresses.push(url);
      else words.push(text);
      // A command may correct the text, or search it for an address.
      if (!url && isNamed) addresses.push(...parseAddresses(text, ...(text.match(/https?:[^\s"'<>()[\]]+/gi) ?? [])));
    }
  }
  return { to: addresses[0]?.host ?? name, addresses, words: words.join("\n") };
}

/** All texts of a value, with numbers and the names of fields. */
export function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  return Object.entries(Object(value)).flatMap(([key, item]) => [key, ...stringsIn(item)]);
}

const parseAddresses = (...texts: readonly string[]): readonly URL[] =>
  texts.map((text) => URL.parse(text)).filter((url): url is URL => Boolean(url?.hostname));
