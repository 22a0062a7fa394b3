/**
 * egress.ts -- computes what the calls of a reply would send out, for the policy and for people.
 *
 * The caller asks only for an agent that received outside words. At the agent's first call of a command of the outside, the
 * newest events of its log are read, so that the cost has a bound.
 */
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { type CarriedOrigin, type CarriedText, type Leaving, MAX_OWN_CHARS } from "#core/leaving.ts";
import type { AgentState } from "#core/state.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { type CarriedSearch, countUnmarked, findCarriedText } from "./carried-text.ts";
import { type CommandFacts, Corpus, type CorpusParts, type SentCall } from "./corpus.ts";
import { foldText } from "./fold-text.ts";
import { type KnownPart, splitAddress } from "./known-addresses.ts";
import { isPlainWords } from "./plain-words.ts";
import { listSentText, type SentPart, type SentText } from "./sent-text.ts";
import type { ShelfText } from "./text-shelf.ts";

/** About 600 steps. The model sees an older text only as a recall or in a file, which are read anew. Reading takes some 50 ms. */
const MAX_EVENTS = 2_000;
const PAGE_EVENTS = 200;

export interface EgressParts extends CorpusParts {
  /** The settings, one value a line. */
  readonly settingTexts: string;
}

/** The log up to now, with the events that are not durable yet. */
export interface EgressLog {
  readonly state: AgentState;
  /** Number of the last event. */
  readonly head: number;
  eventsAfter(seq: number, limit: number): Promise<readonly RecordedEvent[]>;
}

export interface Egress {
  /**
   * One entry for each call; undefined when there is nothing to say. `received`: the origin of text that the code has which makes
   * the calls.
   */
  describe(
    calls: readonly CommandCall[],
    log: EgressLog,
    received?: CarriedOrigin,
  ): Promise<readonly (Leaving | undefined)[]>;
  /** The origin of the first kept text in texts of the model, or of the first file that is not from the web as it is. */
  findOrigin(
    given: { readonly texts: readonly string[]; readonly files: readonly string[] },
    log: EgressLog,
  ): Promise<CarriedOrigin | undefined>;
}

export function openEgress(parts: EgressParts): Egress {
  let corpus: Corpus | undefined;
  let seq = 0;

  async function catchUp(log: EgressLog): Promise<Corpus> {
    const known = corpus ?? new Corpus(parts);
    if (!corpus) seq = Math.max(0, log.head - MAX_EVENTS);
    corpus = known;
    const since = Math.min(...log.state.received.map(({ step }) => step));
    let step = 0;
    for (;;) {
      const events = await log.eventsAfter(seq, PAGE_EVENTS);
      for (const event of events) {
        if ("step" in event) step = event.step;
        await known.add(event, step > since);
        seq = event.seq;
      }
      if (events.length < PAGE_EVENTS) return known;
    }
  }

  const factsOf = ({ name }: CommandCall): CommandFacts | undefined => parts.facts(name);
  return {
    describe: async (calls, log, received) => {
      const isOutgoing = (call: CommandCall): boolean => isSending(factsOf(call), log.state);
      if (!calls.some(isOutgoing)) return calls.map(() => undefined);
      const known = await catchUp(log);
      const inReply: SentText[] = [];
      return calls.map((call) => {
        const facts = factsOf(call);
        if (!facts || !isSending(facts, log.state)) return undefined;
        const sent = listSentText(call, facts.sends);
        const { state } = log;
        const leaving = describeSent({ sent, facts, inReply, known, state, settings: parts.settingTexts, received });
        inReply.push(sent);
        return leaving;
      });
    },
    findOrigin: async ({ texts, files }, log) => {
      const known = await catchUp(log);
      const file = files.find((path) => !known.isOpenPath(path));
      if (file !== undefined) return { from: "folder", where: file };
      const { open, own, kept } = known;
      const parts = texts.map((value): SentPart => ({ slot: "code", value }));
      const sources = [...wordsOfTask(log.state), ...kept.all()];
      const search = { kept: sources, open, own, parts, earlier: [] };
      const people = sources.filter(({ from }) => from === "person");
      const isPlain: CarriedSearch["isExempt"] = (letters, readStretch) =>
        people.some((words) => words.letters.includes(letters)) && isPlainWords(readStretch());
      const found = findCarriedText({ ...search, isExempt: isPlain });
      if (found) return { from: found.from, where: found.where };
      const plain = findCarriedText({ ...search, isExempt: () => false });
      return plain && { from: plain.from, where: plain.where, isPlain: true };
    },
  };
}

/** A command of the outside, or one that names what it gives to another agent. The end of a turn is told to a parent only. */
function isSending(facts: CommandFacts | undefined, { startedBy }: AgentState): boolean {
  if (!facts || (facts.closesTurn && !startedBy?.agent)) return false;
  return facts.sends ? facts.sends.length > 0 : facts.annotations.openWorld;
}

interface Judged {
  readonly sent: SentText;
  readonly facts: CommandFacts;
  /** Texts that earlier calls of the same reply send. */
  readonly inReply: readonly SentText[];
  readonly known: Corpus;
  readonly state: AgentState;
  readonly settings: string;
  readonly received: CarriedOrigin | undefined;
}

function describeSent(judged: Judged): Leaving | undefined {
  const { sent, facts, inReply, known, state, settings, received } = judged;
  if (sent.parts.length === 0) return undefined;
  const told = wordsOfTask(state);
  const people = [...told, ...known.kept.all()].filter(({ from }) => from === "person");
  const places = [...known.open.all(), ...people, { text: settings }];
  const addresses = sent.addresses.map((url) => splitAddress(url, places));
  const inLog = new Set(sent.destinations.flatMap((destination) => known.calls.get(destination) ?? []));
  const earlier = [...inLog, ...inReply.filter(isTo(sent)).map((one): SentCall => ({ sent: one, isApproved: false }))];
  // An encoded form of these words is not exempt, because a search has no reason to encode them.
  const wordsSent = foldText([...earlier.map((call) => call.sent.words), sent.words].join(" "));
  const isQuery = facts.annotations.openWorld && facts.annotations.readOnly && sent.addresses.length === 0;
  const chosen = ownParts(sent, addresses);
  const found = findCarriedText({
    kept: [...told, ...known.kept.all()],
    open: known.open,
    own: known.own,
    parts: chosen,
    earlier,
    isExempt: (letters, readStretch) =>
      isQuery &&
      wordsSent.includes(letters) &&
      people.some((words) => words.letters.includes(letters)) &&
      isPlainWords(readStretch()),
  });
  const isPlainQuery = isQuery && received?.isPlain === true && isPlainWords(sent.words);
  const carries = found ?? (isPlainQuery ? undefined : sentByCode(chosen, received));
  if (!facts.annotations.openWorld) return carries && { to: sent.to, carries, isWithin: true };
  const ownChars = addresses.reduce((sum, one) => sum + one.ownChars, countOwn(sent.words, known));
  const isApprovedHost = earlier.some((call) => call.isApproved && call.sent.to === sent.to);
  const isUnknownHost = addresses.some(({ isKnownHost }) => !isKnownHost) && !isApprovedHost;
  const isLong = ownChars > MAX_OWN_CHARS;
  if (!carries && !isLong && !isUnknownHost) return undefined;
  return {
    to: sent.to,
    ...(carries ? { carries } : {}),
    ...(isLong ? { ownChars } : {}),
    ...(isUnknownHost ? { isUnknownHost } : {}),
  };
}

/** An address as a page gives it has no part that code chose. */
function sentByCode(parts: readonly SentPart[], received: CarriedOrigin | undefined): CarriedText | undefined {
  const text = parts.map(({ value }) => value).join(" ");
  if (!received || text.trim() === "") return undefined;
  const { from, where } = received;
  return { from, where, chars: text.length, excerpt: oneLine(clean(text), EXCERPT_CHARS), isByCode: true };
}

const EXCERPT_CHARS = 60;

const isTo =
  ({ destinations }: SentText) =>
  (other: SentText): boolean =>
    other.destinations.some((destination) => destinations.includes(destination));

/** The role and the goals. Those of a sub-agent are a person's words too, unless its parent passed kept text on. */
function wordsOfTask({ role, goals, startedBy }: AgentState): readonly ShelfText[] {
  const from = startedBy?.carries ? "agent" : "person";
  return [
    { text: role, where: "the role" },
    { text: goals.join("\n"), where: "the goals" },
  ].map((words) => ({ ...words, letters: foldText(words.text), seq: 0, from }));
}

/** The parts of addresses that the model chose, and everything else. */
const ownParts = (sent: SentText, addresses: readonly KnownPart[]): readonly SentPart[] =>
  addresses.length === 0
    ? sent.parts
    : [...addresses.flatMap(({ own }) => own), ...(sent.words === "" ? [] : [{ slot: "words", value: sent.words }])];

/** Characters of a text that are no quote of the web. */
function countOwn(words: string, { open }: Corpus): number {
  if (words.length <= MAX_OWN_CHARS) return words.length;
  const letters = foldText(words);
  const marks = new Uint8Array(letters.length);
  open.markQuotes(letters, marks);
  return Math.round((words.length * countUnmarked(marks)) / Math.max(1, letters.length));
}
