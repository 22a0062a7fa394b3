/** text-keys.ts -- finds the addresses, words and numbers of a text, in a form that can be compared. */

/** Returns the address without scheme, `www.`, fragment, last slash and `.git`. Undefined for an address with a password. */
export function addressKey(url: URL): string | undefined {
  if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return undefined;
  return `${url.host.replace(/^www\./, "")}${url.pathname.replace(/(?:\.git)?\/*$/, "")}${url.search}`;
}

/** The address and every folder above it. */
export function foldersOf(key: string): readonly string[] {
  const [path = ""] = key.split("?", 1);
  const parts = path.split("/");
  return [key, ...parts.map((_part, index) => parts.slice(0, index + 1).join("/"))];
}

/**
 * Keys of the addresses in a text, with or without `https://`. A bracket may belong to the address or to the text, so both
 * readings are listed.
 */
export function listAddresses(text: string): readonly string[] {
  const whole = text.match(/https?:\/\/[^\s"'<>`\\^{|}]{1,4000}/gi) ?? [];
  const bare = text.match(/(?<![\w@/.:-])(?:[a-z\d-]+\.)+[a-z]{2,}(?::\d+)?(?:\/[^\s"'<>`\\^{|}]{0,4000})?/gi) ?? [];
  const given = [...whole, ...bare.map((address) => `https://${address}`)].map(dropPoint);
  const readings = given.flatMap((address) => [
    address,
    address.replace(/[)\]]$/, ""),
    address.replace(/[)\]].*$/s, ""),
  ]);
  return readings.flatMap((address) => {
    const url = URL.parse(dropPoint(address));
    return (url && addressKey(url)) ?? [];
  });
}

/** Removes the signs that end a sentence or an emphasis. */
const dropPoint = (address: string): string => address.replace(/[.,;:!?*_]{1,9}$/, "");

/** The part of a host name that one owner registers, taken rather too short than too long. */
export function siteOf({ host, hostname }: URL): string {
  if (/^[\d.]+$|^\[|^[^.]+$/.test(hostname)) return host;
  const labels = hostname.split(".");
  const [second = "", last = ""] = labels.slice(-2);
  return labels.slice(second.length <= 3 && last.length === 2 ? -3 : -2).join(".");
}

export const WORD = /[\p{L}\p{N}\p{M}]+/gu;
export const wordsIn = (text: string): readonly string[] => text.toLowerCase().match(WORD) ?? [];

const MIN_NUMBER_CHARS = 8;
const DATE =
  /(?<![\w-])(?:\d{4}-\d\d?-\d\d?(?:t[\d:.]+z?)?|\d\d?[./]\d\d?[./]\d{2,4}|(?:19|20)\d\d|\d\d?:\d\d(?::\d\d)?)(?![\w-])/g;

/** Runs of neighbouring words with a digit or an @, such as account numbers, keys and e-mail addresses; without dates. */
export const listNumbers = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .replace(DATE, " ")
    .split(/[^\S ]+|(?<=^| )[^\s\d@]+(?= |$)/u)
    .map((run) => run.replace(/[^\p{L}\p{N}@]+/gu, ""))
    .filter((run) => run.length >= MIN_NUMBER_CHARS && /[\d@]/.test(run));

/** Pieces of the shortest length that counts, each with a digit or an @. */
export const cutNumber = (number: string): readonly string[] =>
  Array.from({ length: number.length - MIN_NUMBER_CHARS + 1 }, (_, at) =>
    number.slice(at, at + MIN_NUMBER_CHARS),
  ).filter((piece) => /[\d@]/.test(piece));
