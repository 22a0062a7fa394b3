/**
 * known-addresses.ts -- which part of an address stood in a page, a search answer, a person's words or a setting.
 *
 * A subdomain of a known host is known; its further labels are what the sender chose.
 */
import { foldText } from "./fold-text.ts";
import { partsOfAddress, type SentPart } from "./sent-text.ts";
import type { ShelfText } from "./text-shelf.ts";

export interface KnownPart {
  readonly isKnownHost: boolean;
  /** The labels that the sender of the address chose. */
  readonly own: readonly SentPart[];
  readonly ownChars: number;
}

const URL_END = /[\s"'<>`\\^{|}\])]|$/;
const MAX_ADDRESS_CHARS = 4_000;

/** `texts`: pages, search answers, words of people, settings. */
export function splitAddress(url: URL, texts: Iterable<Pick<ShelfText, "text" | "except">>): KnownPart {
  const host = url.hostname.toLowerCase();
  const rest = `${url.port}${url.pathname}${url.search}${url.hash}`;
  let knownHost = "";
  let knownChars = 0;
  for (const { text, except = "" } of texts) {
    const lower = text.toLowerCase();
    for (const name of namesAbove(host)) {
      if (name.length <= knownHost.length) break;
      if (namesHost(lower, name)) knownHost = name;
    }
    if (knownHost === host) knownChars = Math.max(knownChars, countKnown(url, text, lower, except));
  }
  const labels = host.slice(0, host.length - knownHost.length).replace(/\.$/, "");
  const parts = partsOfAddress(url);
  const secret = `${url.username}${url.password}`;
  if (knownHost === host && knownChars >= rest.length && secret === "")
    return { isKnownHost: true, own: [], ownChars: 0 };
  const isLabel = ({ slot }: SentPart): boolean => slot.startsWith("label");
  const ownLabels = labels === "" ? [] : parts.filter(isLabel).slice(0, labels.split(".").length);
  const others = knownChars === 0 ? parts.filter((part) => !isLabel(part)) : partsBeyond(url, knownChars);
  return {
    isKnownHost: knownHost !== "",
    own: [...ownLabels, ...others],
    ownChars: labels.length + secret.length + Math.max(0, rest.length - Math.max(1, knownChars)),
  };
}

/** The host, and every name of two labels or more above it; `www.` is not looked at. */
function namesAbove(host: string): readonly string[] {
  if (/^[\d.]+$|^\[/.test(host)) return [host];
  const labels = host.split(".");
  const names = labels.map((_label, index) => labels.slice(index).join("."));
  return names.filter((name, index) => index === 0 || name.includes("."));
}

function namesHost(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1))
    if (!/[\w.-]/.test(text[at - 1] ?? " ") || text.startsWith("www.", at - 4))
      if (!/^[\w-]|^\.[\w-]/.test(text.slice(at + name.length, at + name.length + 2))) return true;
  return false;
}

/** Characters behind the host that an address of the text begins with, too. */
function countKnown(url: URL, text: string, lower: string, except: string): number {
  const prefix = `${url.protocol}//${url.host}`;
  const rest = `${url.port}${url.pathname}${url.search}${url.hash}`;
  let most = 0;
  for (let at = lower.indexOf(prefix); at >= 0; at = lower.indexOf(prefix, at + 1)) {
    const from = text.slice(at, at + MAX_ADDRESS_CHARS);
    const whole = URL.parse(from.slice(0, from.search(URL_END)).replace(/[.,;:!?]+$/, ""));
    if (!whole) continue;
    const other = `${whole.port}${whole.pathname}${whole.search}${whole.hash}`;
    let same = 0;
    while (same < rest.length && rest[same] === other[same]) same++;
    // An answer may repeat an address of the question, which the model wrote.
    const letters = foldText(rest.slice(0, same));
    if (letters === "" || !except.includes(letters)) most = Math.max(most, same);
  }
  return most;
}

/** The parts of the address behind its known beginning. */
function partsBeyond(url: URL, known: number): readonly SentPart[] {
  const path = `${url.port}${url.pathname}`;
  const query = `${path}${url.search}`;
  const [pathLeft, queryLeft] = [path.slice(known), query.slice(Math.max(known, path.length))];
  const hashLeft = `${query}${url.hash}`.slice(Math.max(known, query.length));
  const bare = new URL(url);
  bare.username = url.username;
  const given = partsOfAddress(bare);
  const behind = [pathLeft, queryLeft, hashLeft]
    .filter((part) => part !== "")
    .map((value) => ({ slot: "rest", value }));
  const slots = given.filter(
    ({ slot, value }) => !slot.startsWith("label") && behind.some((one) => one.value.includes(value)),
  );
  return [...slots, ...behind, ...given.filter(({ slot }) => slot === "user" || slot === "password")];
}
