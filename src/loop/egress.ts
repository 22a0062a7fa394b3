/**
 * egress.ts -- judges what the calls of a reply would send out after the agent has read outside words.
 *
 * An address may be followed when it stands in a page, a search answer, a setting, a person's words or a file that the
 * agent did not write; so may a folder above it, and any page of an open host. Of a search or a message few characters
 * may be words that neither the web nor a person said. No disguise of a text is sought: an address that nobody gave
 * stays unknown in any form.
 */
import type { CommandCall } from "#core/call.ts";
import type { EventOf, RecordedEvent } from "#core/event.ts";
import { MAX_OWN_CHARS, MAX_SITE_PAGES, MAX_TURN_CHARS, type OutgoingText } from "#core/policy.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { AgentState } from "#core/state.ts";
import { AGENTS_FOLDER } from "#core/subagent.ts";
import { oneLine, type Text } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { bySeq, readPages } from "#util/read-pages.ts";
import { ADDRESS, completeAddress, decodeUrl } from "#util/web-address.ts";
import type { Journal } from "./journal.ts";
import { type CommandFacts, isFetching, isSending, type SentText, splitSent, stringsIn } from "./sent-text.ts";

/** Known words and counts come from so many of the newest events: about 600 steps. Reading takes some 50 ms. */
const MAX_EVENTS = 2_000;
const PAGE_EVENTS = 200;
/** Known words, addresses or numbers. The oldest go first. */
const MAX_KNOWN = 200_000;
const MAX_SHOWN_CHARS = 200;

export interface EgressParts {
  facts(name: string): CommandFacts | undefined;
  /** The whole text, from its blob if it has one. */
  read(text: Text): Promise<string>;
  /** The settings without secrets, one value a line. */
  readonly settingTexts: string;
  /** Hosts whose pages may be opened by any address; so may those of their subdomains. */
  readonly openHosts: readonly string[];
  /** The agent's files. Both look-ups read all of them, up to a limit, and happen only when nothing else decides. */
  readonly folder: ReturnType<typeof searchFolder>;
  /** True when a parent or a sub-agent of the agent may follow this address: agents pass on what they have read. */
  isKnownToFamily(url: URL): Promise<boolean>;
}

export type EgressLog = Pick<Journal, "state" | "head" | "eventsAfter">;
export type Egress = ReturnType<typeof openEgress>;

export function openEgress(parts: EgressParts) {
  let known: Known | undefined;
  let seq = 0;

  async function catchUp(log: EgressLog): Promise<Known> {
    if (!known) seq = Math.max(0, log.head - MAX_EVENTS);
    known ??= new Known(parts, log.state);
    for await (const events of readPages(log.eventsAfter, bySeq, { limit: PAGE_EVENTS, after: seq }))
      for (const event of events) {
        await known.add(event);
        seq = event.seq;
      }
    return known;
  }

  return {
    /** Returns one entry for each call; undefined when the call is within the rule. */
    judge: async (calls: readonly CommandCall[], log: EgressLog): Promise<readonly (OutgoingText | undefined)[]> => {
      if (!calls.some((call) => isSending(parts.facts(call.name)))) return calls.map(() => undefined);
      const texts = await catchUp(log);
      const counts = texts.copyCounts();
      const leaving: (OutgoingText | undefined)[] = [];
      for (const call of calls) {
        const facts = parts.facts(call.name);
        leaving.push(isSending(facts) ? await texts.judge(splitSent(call, facts?.sends), counts) : undefined);
      }
      return leaving;
    },
    /** Whether the agent may follow the address, without a look at its family. */
    mayFollow: async (url: URL, log: EgressLog): Promise<boolean> => (await catchUp(log)).mayFollow(url),
  };
}

/** The pages and characters that the calls of a turn have sent. */
interface Counts {
  /** By site, without pages that a person named. */
  readonly pages: Map<string, number>;
  ownChars: number;
}

class Known {
  readonly #parts: EgressParts;
  readonly #hasFamily: boolean;
  readonly #addresses = new Set<string>();
  /** The addresses that a person gave. */
  readonly #named = new Set<string>();
  /** Hosts inside addresses that nobody gave. The answer may repeat them, and so may the file that keeps it. */
  readonly #inner = new Set<string>();
  readonly #words = new Set<string>();
  readonly #numbers = new Set<string>();
  readonly #calls = new Map<string, CommandCall>();
  #counts: Counts = { pages: new Map(), ownChars: 0 };

  constructor(parts: EgressParts, { role, goals, startedBy, children }: AgentState) {
    this.#parts = parts;
    this.#hasFamily = startedBy?.agent != null || Object.keys(children).length > 0;
    this.#addText(parts.settingTexts);
    // The role and the goals of a sub-agent are its parent's words, which may be those of a page.
    if (!startedBy?.outside.length) this.#addNamed([role, ...goals].join("\n"));
  }

  copyCounts = (): Counts => ({ ...this.#counts, pages: new Map(this.#counts.pages) });

  async add(event: RecordedEvent): Promise<void> {
    switch (event.type) {
      case "command-requested":
        this.#calls.set(event.callId, event.call);
        return;
      case "command-approved":
        if (event.by === "person")
          for (const url of this.#sentBy(event.callId)?.addresses ?? [])
            addAll(this.#named, foldersOf(addressKey(url) ?? ""));
        return;
      case "command-denied":
        this.#calls.delete(event.callId);
        if (event.by === "person") this.#addNamed(event.reason);
        return;
      case "command-started": {
        const sent = this.#sentBy(event.callId);
        if (!sent) return;
        this.#count(sent, this.#counts);
        for (const url of sent.addresses) {
          const key = addressKey(url) ?? "";
          const inner = listAddresses(url.href).filter((one) => hostOf(one) !== hostOf(key));
          if (!this.#addresses.has(key)) addAll(this.#inner, inner.map(hostOf));
          addAll(this.#addresses, foldersOf(key));
        }
        return;
      }
      case "command-finished":
        return this.#addResult(event);
      case "message-received":
        return this.#addNamed(await this.#parts.read(event.text));
      case "task-received":
        if (event.outside.length === 0) this.#addNamed(await this.#parts.read(event.text));
        return;
      case "goals-changed":
        return this.#addNamed(event.goals.join("\n"));
      case "turn-finished":
        this.#counts = { pages: new Map(), ownChars: 0 };
        return;
      default:
        return;
    }
  }

  /** Adds the call to `counts`. */
  async judge(sent: SentText, counts: Counts): Promise<OutgoingText | undefined> {
    let leaving: OutgoingText = { to: sent.to };
    for (const url of sent.addresses)
      if (!(await this.mayFollow(url)) && !(this.#hasFamily && (await this.#parts.isKnownToFamily(url))))
        leaving = { to: url.host, address: oneLine(clean(url.href), MAX_SHOWN_CHARS) };
    const { ownChars, pages } = this.#count(sent, counts);
    if (pages > MAX_SITE_PAGES) leaving = { ...leaving, pages };
    if (ownChars > MAX_OWN_CHARS) leaving = { ...leaving, ownChars };
    if (ownChars > 0 && counts.ownChars > MAX_TURN_CHARS) leaving = { ...leaving, turnChars: counts.ownChars };
    const sentNumbers = listNumbers(sent.words.replace(/\s/g, " ")).flatMap(cutNumber);
    const said = sentNumbers.length === 0 ? "" : [...this.#numbers].join("\n");
    const numbers = sentNumbers.filter((number) => !said.includes(number));
    const quotes = numbers.length === 0 ? undefined : await this.#parts.folder.findNumber(new Set(numbers));
    if (quotes) leaving = { ...leaving, quotes };
    return Object.keys(leaving).length > 1 ? leaving : undefined;
  }

  #sentBy(callId: string): SentText | undefined {
    const call = this.#calls.get(callId);
    const facts = call && this.#parts.facts(call.name);
    return call && isSending(facts) ? splitSent(call, facts?.sends) : undefined;
  }

  async #addResult({ callId, observation }: EventOf<"command-finished">): Promise<void> {
    const call = this.#calls.get(callId);
    this.#calls.delete(callId);
    const facts = call && this.#parts.facts(call.name);
    if (observation.source === "person") this.#addNamed(await this.#parts.read(observation.text));
    else if (isFetching(facts)) {
      const echoed = stringsIn(call?.args).join("\n");
      this.#addText(await this.#parts.read(observation.text), `${echoed}\n${decodeUrl(echoed)}`);
    }
  }

  #addNamed(given: string): void {
    // A host of other letters or of four numbers counts where a person names it; `1.2` is none.
    const text = given.replace(/\S+/g, (word) => (/[^!-~]|^(?:\d+\.){3}\d/.test(word) ? completeAddress(word) : word));
    addAll(this.#named, listAddresses(text).flatMap(foldersOf));
    this.#addText(text);
  }

  /** `echoed`: text of the call that this answers. What the answer repeats of it is still the model's. */
  #addText(text: string, echoed = ""): void {
    const own = new Set([listAddresses, wordsIn].flatMap((list) => list(echoed)));
    const ownNumbers = listNumbers(echoed).join("\n");
    const ownHosts = this.#inner.intersection(new Set([...own].map(hostOf)));
    const isNew = (key: string): boolean => !own.has(key) && !ownHosts.has(hostOf(key));
    addAll(this.#addresses, listAddresses(text).filter(isNew).flatMap(foldersOf).filter(isNew));
    addAll(this.#words, wordsIn(text).filter(isNew));
    // An answer may repeat a part of a number, or put something before it.
    const isNewNumber = (number: string): boolean => !cutNumber(number).some((piece) => ownNumbers.includes(piece));
    addAll(this.#numbers, listNumbers(text).filter(isNewNumber));
  }

  /** Adds the call, and returns its own share. */
  #count({ addresses, words }: SentText, counts: Counts): { readonly ownChars: number; readonly pages: number } {
    const ownChars = this.#countOwn(words);
    counts.ownChars += ownChars;
    let most = 0;
    for (const url of addresses) {
      const key = addressKey(url);
      if (this.#isOpenHost(url) || (key !== undefined && this.#named.has(key))) continue;
      const pages = (counts.pages.get(siteOf(url)) ?? 0) + 1;
      counts.pages.set(siteOf(url), pages);
      most = Math.max(most, pages);
    }
    return { ownChars, pages: most };
  }

  /** Characters outside known words. One blank between words does not count; more could carry something. */
  #countOwn(text: string): number {
    const marked = text.replace(/(?<=\S) (?=\S)/g, "\0");
    return marked.replace(WORD, (word) => (this.#words.has(word.toLowerCase()) ? "" : word)).replaceAll("\0", "")
      .length;
  }

  #isOpenHost = (url: URL): boolean =>
    url.port === "" &&
    addressKey(url) !== undefined &&
    this.#parts.openHosts.some((host) => url.hostname === host || url.hostname.endsWith(`.${host}`));

  async mayFollow(url: URL): Promise<boolean> {
    const key = addressKey(url);
    if (key === undefined) return false;
    if (this.#addresses.has(key) || this.#isOpenHost(url)) return true;
    return !this.#inner.has(hostOf(key)) && this.#parts.folder.hasAddress(url);
  }
}

function addAll(known: Set<string>, keys: readonly string[]): void {
  // A copy: a word cut from a page keeps the whole page in memory.
  for (const key of keys) if (!known.has(key)) known.add(structuredClone(key));
  for (const key of known) {
    if (known.size <= MAX_KNOWN) return;
    known.delete(key);
  }
}

const MAX_FILES = 2_000;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Reading and searching this takes about 0.2 s. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Finds the writer of the newest version of a file. `web`: a command that fetched it, or a clone; `agent`: any other call. */
export type FindWriter = (path: string) => Promise<"person" | "web" | "agent">;

/**
 * Looks for an address or a number in the files of an agent's folder, literally. Reads all files up to a limit. Files
 * of sub-agents are not searched for addresses, because the sub-agents wrote them.
 */
export function searchFolder(workspace: Pick<Workspace, "list" | "read">, writerOf: FindWriter) {
  async function* texts(): AsyncIterable<{ readonly path: string; readonly text: string }> {
    let files = 0;
    let bytes = 0;
    for await (const file of workspace.list("")) {
      // goald's own files hold the texts of earlier calls.
      if (file.bytes > MAX_FILE_BYTES || file.path.startsWith("_goald/")) continue;
      files += 1;
      bytes += file.bytes;
      if (files > MAX_FILES || bytes > MAX_BYTES) return;
      const content = await workspace.read(file.path).catch(() => undefined);
      if (content) yield { path: file.path, text: Buffer.from(content).toString("utf8") };
    }
  }
  return {
    /** The first file with such a number; without files that the web wrote. */
    findNumber: async (numbers: ReadonlySet<string>): Promise<NonNullable<OutgoingText["quotes"]> | undefined> => {
      for await (const { path, text } of texts()) {
        const held = listNumbers(text);
        const found = [...numbers].find((number) => held.some((one) => one.includes(number)));
        if (found !== undefined && (await writerOf(path)) !== "web") return { file: path, text: found };
      }
      return undefined;
    },
    /** True when a file that a person or the web wrote, and that the agent has not changed, has the address. */
    hasAddress: async (url: URL): Promise<boolean> => {
      const key = addressKey(url);
      const host = url.hostname.replace(/^www\./, "");
      for await (const { path, text } of texts()) {
        const isNamed = host.includes("xn--") || text.toLowerCase().includes(host);
        if (path.startsWith(`${AGENTS_FOLDER}/`) || !isNamed) continue;
        const isHeld = listAddresses(text).some((one) => one === key);
        if (isHeld && (await writerOf(path)) !== "agent") return true;
      }
      return false;
    },
  };
}

/**
 * Returns the address without scheme, `www.`, fragment, one last slash and `.git`: a number of slashes could be a message.
 * Undefined for an address with a password.
 */
function addressKey(url: URL): string | undefined {
  if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return undefined;
  return `${url.host.replace(/^www\./, "")}${url.pathname.replace(/(?:\.git)?\/?$/, "")}${url.search}`;
}

/** The address and every folder above it. */
function foldersOf(key: string): readonly string[] {
  const [path = ""] = key.split("?", 1);
  return [key, ...Array.from(path.matchAll(/\/|$/g), ({ index }) => path.slice(0, index))];
}

/** A longer address cannot be opened. The limit bounds the folders above an address, each of which is kept. */
const MAX_ADDRESS_CHARS = 2_000;

const hostOf = (key: string): string => key.replace(/[/?].*$/s, "");

/**
 * Keys of the addresses in a text, with or without `https://`, and of those inside them. A bracket, apostrophe, bar, last
 * sign or letter of another script may belong to the address or to the text, and feeds, JSON and Markdown escape some
 * signs, so all readings are listed.
 */
function listAddresses(text: string): readonly string[] {
  const written = (text.match(ADDRESS) ?? []).filter(({ length }) => length <= MAX_ADDRESS_CHARS);
  const plain = written.map((run) => run.replace(/&(?:amp|#0*38|#x26);|\\u0026/gi, "&").replaceAll("\\", ""));
  const decoded = decodeUrl(plain.join("\n")).replaceAll("\\", "");
  const inner = INNER_STARTS.flatMap((start) => decoded.replace(start, " $&").match(ADDRESS) ?? []);
  const readings = [...new Set([...written, ...plain, ...inner])].map(completeAddress).flatMap((address) => {
    const shorter = ENDS.map((end) => dropPoint(address).replace(end, ""));
    return [address, ...shorter, ...shorter.map(dropPoint)];
  });
  const urls = [...new Set(readings)].map((reading) => URL.parse(reading));
  return [...new Set(urls.flatMap((url) => (url && addressKey(url)) ?? []))];
}
const ENDS = [/$/, /[)\]'|]$/, /(?:[)[\]'|;,]|[^!-~]).*$/s, /&.*$/s];
const INNER_STARTS = [/https?:\/\//gi, /(?<![a-z\d.@-])(?:[a-z\d-]+\.)+[a-z]{2,}/gi];

/** Removes the signs that end a sentence or an emphasis. */
const dropPoint = (address: string): string => address.replace(/[.,;:!?*_~]{1,9}$/, "");

/** The part of a host name that one owner registers, taken rather too short than too long. */
function siteOf({ host, hostname }: URL): string {
  if (/^[\d.]+$|^\[|^[^.]+$/.test(hostname)) return host;
  const labels = hostname.split(".");
  const [second = "", last = ""] = labels.slice(-2);
  return labels.slice(second.length <= 3 && last.length === 2 ? -3 : -2).join(".");
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const wordsIn = (text: string): readonly string[] => text.toLowerCase().match(WORD) ?? [];

const MIN_NUMBER_CHARS = 8;
const DATE =
  /(?<![\w-])(?:\d{4}-\d\d?-\d\d?(?:t[\d:.]+z?)?|\d\d?[./]\d\d?[./]\d{2,4}|(?:19|20)\d\d(?:-(?:19|20)?\d\d)?|\d\d?:\d\d(?::\d\d)?)(?![\w-])/g;

/** Unusual blanks, and wide letters and digits. Normal forms of other characters may be eighteen times as long. */
const WIDE = /[\u00a0\u2000-\u200a\u202f\u205f\u3000\uff01-\uff5e]+/g;

/**
 * Runs of neighbouring words with a digit or an @, such as account numbers, keys and e-mail addresses; without dates.
 * Digits may be of any script.
 */
const listNumbers = (text: string): readonly string[] =>
  text
    .replace(WIDE, (signs) => signs.normalize("NFKC"))
    .toLowerCase()
    .replace(DATE, " ")
    .split(/[^\S ]+|(?<=^| )[^\s\p{Nd}@]+(?= |$)/u)
    .map((run) => run.replace(/[^\p{L}\p{N}@]+|\p{Default_Ignorable_Code_Point}/gu, ""))
    .filter((run) => run.length >= MIN_NUMBER_CHARS && /[\p{Nd}@]/u.test(run));

/** Pieces of the shortest length that counts, each with a digit or an @. */
const cutNumber = (number: string): readonly string[] =>
  Array.from({ length: number.length - MIN_NUMBER_CHARS + 1 }, (_, at) =>
    number.slice(at, at + MIN_NUMBER_CHARS),
  ).filter((piece) => /[\p{Nd}@]/u.test(piece));
