/**
 * provenance.ts -- records the outside sources of a text. Observations, files, memories and tasks carry them. Outside
 * is the web and other agents. An agent that received outside words is tainted until a person trusts them: whatever it
 * writes from then on carries their sources.
 */
import type { Annotations, Observation } from "./call.ts";
import { ifNotFound } from "./errors.ts";
import type { RecalledRow } from "./ports/memory.ts";
import { holdsContent, type LastFileVersion, type Store } from "./ports/store.ts";
import { splitSubagentPath } from "./subagent.ts";
import { joinNames } from "./text.ts";

/** "evil.example", "agent mole", "an unknown page". */
export function describeSource({ from, name }: OutsideSource): string {
  if (name === MORE_SOURCES) return "others";
  if (from === "web") return name || "an unknown page";
  return name === "" ? "another agent" : `agent ${name}`;
}

/** "evil.example, agent mole and 3 more". */
export function listSources(sources: readonly OutsideSource[], max = 3): string {
  return joinNames(sources.map(describeSource), max);
}

/** Completes whose words a row of memory has: what the agent had read before. Empty: nothing from outside. */
export function describeReadBefore({ trust, outside = [] }: Pick<RecalledRow, "trust" | "outside">): string {
  if (trust !== "agent" || outside.length === 0) return "";
  return `, after ${outside.some(({ from }) => from === "web") ? "the web" : "another agent"}`;
}

/** "evil.example (step 2, 2026-11-20T10:31Z) and 3 more"; the oldest first, so it also says since when. */
export function describeReceived(received: readonly Received[], max = 1): string {
  // Minutes are exact enough to find the event.
  const named = received.map((one) => `${describeSource(one)} (step ${one.step}, ${one.at.slice(0, 16)}Z)`);
  return joinNames(named, max);
}

/** The newest change of a path. `at`: null until it is committed. */
export type LastChange = Pick<LastFileVersion, "operation" | "bytes" | "sha256" | "outside" | "seq" | "callId"> & {
  readonly at: string | null;
};

type FileHistory = Pick<Store, "lastFileVersion">;

/** The outside sources of a file's words, as its history records them. */
export interface FileWords {
  readonly outside: readonly OutsideSource[];
  /** ISO time of the newest row; "" without one. */
  readonly at: string;
}

/** Later than any ISO time: a row that is not committed yet. */
const NOT_COMMITTED = "~";

type LookUp = (path: string) => Promise<LastChange | undefined>;

/** Looks up the committed sources of a file's words. `trustedSeq`: the event up to which a person trusts all of them. */
export const sourcesOfFile = async (
  { agent, trustedSeq }: { readonly agent: string; readonly trustedSeq: number },
  path: string,
  history: FileHistory,
): Promise<readonly OutsideSource[]> => (await wordsOf(path, lookUpIn(agent, history), trustedSeq, history)).outside;

/**
 * Looks up in an agent's history the sources of the words in a file. A file below agents/<id>/ holds the words of that
 * sub-agent, and what its own history says of the file. `lookUp` finds changes of this agent that are not committed
 * yet, too.
 */
export async function wordsOf(
  path: string,
  lookUp: LookUp,
  trustedSeq: number,
  history: FileHistory,
): Promise<FileWords> {
  const newest = await findNewest(path, lookUp);
  const outside = newest && newest.seq > trustedSeq ? (newest.outside ?? []) : [];
  const own = { outside, at: newest ? (newest.at ?? NOT_COMMITTED) : "" };
  const { child, inner } = splitSubagentPath(path) ?? {};
  if (!child || !inner) return own;
  const theirs = await wordsOf(inner, lookUpIn(child, history), 0, history);
  if (newest?.operation === "trust" && own.at >= theirs.at) return own;
  const sources: readonly OutsideSource[] = [{ from: "agent", name: child }, ...theirs.outside];
  return { outside: addSources(own.outside, sources), at: own.at > theirs.at ? own.at : theirs.at };
}

/**
 * The newest of a file's own last version and the rows of the folders above it that were placed as a whole or that a
 * person trusts.
 */
export async function findNewest(path: string, lookUp: LookUp): Promise<LastChange | undefined> {
  let newest = await lookUp(path);
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const above = await lookUp(path.slice(0, end));
    if (above && !holdsContent(above) && above.seq > (newest?.seq ?? 0)) newest = above;
  }
  return newest;
}

/** The history of a sub-agent that was removed is gone. */
const lookUpIn =
  (agent: string, history: FileHistory): LookUp =>
  (path) =>
    history.lastFileVersion(agent, path).catch(ifNotFound(undefined));

/** A source of outside words: a web host or another agent. */
export interface OutsideSource {
  readonly from: "web" | "agent";
  /** The host, or the id of the agent; empty when it is not known. */
  readonly name: string;
  /** The file that the words were read from. Only in observations and in what an agent received. */
  readonly file?: string;
}

/** An outside source in the state of an agent: when it was first read since the last clean state. */
export interface Received extends OutsideSource {
  readonly step: number;
  /** ISO time. */
  readonly at: string;
}

/** The words that a person trusts: all that the agent received so far, or those of one file or placed folder. */
export type TrustedWords =
  | { readonly what: "all" }
  /** Relative to the agent's folder, with forward slashes. */
  | { readonly what: "file"; readonly path: string };

/** Number of sources that a list names; the last entry then stands for all further ones. */
export const MAX_SOURCES = 16;

/** Name of the entry that stands for further sources. */
export const MORE_SOURCES = "others";

const isSame = (one: OutsideSource, other: OutsideSource): boolean =>
  one.from === other.from && one.name === other.name;

/** Adds the sources that are not in the list yet. The list stays within MAX_SOURCES. */
export function addSources<S extends OutsideSource>(known: readonly S[], added: readonly S[]): readonly S[] {
  const list = [...known];
  for (const source of added) {
    if (list.some((one) => isSame(one, source))) continue;
    if (list.length < MAX_SOURCES - 1) list.push(source);
    else if (list.length < MAX_SOURCES) list.push({ ...source, name: MORE_SOURCES });
  }
  return list.length === known.length ? known : list;
}

/** Sources of an observation. One that only says `web` or `agent` has an unknown name. */
export function sourcesOf({ source, outside }: Pick<Observation, "source" | "outside">): readonly OutsideSource[] {
  if (outside && outside.length > 0) return outside;
  return source === "web" || source === "agent" ? [{ from: source, name: "" }] : [];
}

/** Adds the sources that the agent received at this event. */
export function addReceived<S extends { readonly received: readonly Received[]; readonly step: number }>(
  state: S,
  sources: readonly OutsideSource[],
  { at }: { readonly at: string },
): S {
  const marked = sources.map((source): Received => ({ ...source, step: state.step, at }));
  const received = addSources(state.received, marked);
  return received === state.received ? state : { ...state, received };
}

/** The sources without the file and the time at which they were received. */
export const plainSources = (received: readonly OutsideSource[]): readonly OutsideSource[] =>
  received.map(({ from, name }) => ({ from, name }));

/** The field `outside` of a row, for a spread: absent when there are no sources. */
export const outsideOf = (
  ...lists: readonly (readonly OutsideSource[])[]
): { readonly outside?: readonly OutsideSource[] } => {
  const outside = lists.reduce((known, list) => addSources(known, plainSources(list)), []);
  return outside.length === 0 ? {} : { outside };
};

/** The observation with all sources of the words in it: the web counts more than an agent, and keeps an unknown host. */
export function withSources(observation: Observation, outside: readonly OutsideSource[]): Observation {
  if (outside.length === 0) return observation;
  const { source } = observation;
  const isUnnamed = (source === "web" || source === "agent") && !outside.some(({ from }) => from === source);
  const all = addSources(observation.outside ?? [], outside);
  const named = isUnnamed ? addSources(all, [{ from: source, name: "" }]) : all;
  const isWeb = source === "web" || named.some(({ from }) => from === "web");
  return { ...observation, source: isWeb ? "web" : "agent", outside: named };
}

/** Reads sources that somebody else wrote, such as a line of a file. Undefined for anything else than a list of sources. */
export function parseSources(value: unknown): readonly OutsideSource[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_SOURCES) return undefined;
  const sources = value.filter(isSource);
  return sources.length === value.length ? plainSources(sources) : undefined;
}

function isSource(value: unknown): value is OutsideSource {
  const { from, name } = (value ?? {}) as Record<string, unknown>;
  return (from === "web" || from === "agent") && typeof name === "string" && name.length <= MAX_NAME_CHARS;
}

/** A host name has at most 253 characters. */
const MAX_NAME_CHARS = 300;

/** The source of words from this address, with or without a scheme. `text` may also be the name of a service. */
export function webSource(text: string): OutsideSource {
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  return { from: "web", name: url?.host.slice(0, MAX_NAME_CHARS) ?? "" };
}

/** Sources that a call may have received before it was interrupted: the hosts in its arguments, else an unknown one. */
export function expectedSources(
  { openWorld }: Pick<Annotations, "openWorld">,
  args: unknown,
): readonly OutsideSource[] {
  if (!openWorld) return [];
  const addresses = JSON.stringify(args).match(/\bhttps?:\/\/[^\s"'\\/?#<>]+/gi) ?? [""];
  return addSources([], addresses.map(webSource));
}
