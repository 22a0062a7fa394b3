/**
 * track-sources.ts -- collects the sources of the outside words that one call receives: from files, services and nested
 * calls.
 *
 * A call that reads, appends to, moves or removes a file receives the sources of its newest version. A call that lists
 * a folder receives the sources of the listed files, because their names are words too.
 */
import type { Annotations } from "#core/call.ts";
import { isGoaldError } from "#core/errors.ts";
import { addSources, expectedSources, type OutsideSource, webSource } from "#core/provenance.ts";
import type { Services } from "#core/services.ts";
import { subagentFolderOf } from "#core/subagent.ts";

/** Looks up the sources of files in the history. */
export interface FileSources {
  /** `path`: a plain path of a file. */
  ofFile(path: string): Promise<readonly OutsideSource[]>;
  /** Sources that any file below the folder has or had: one look-up instead of one for each file. */
  ofFolder(path: string): Promise<readonly OutsideSource[]>;
}

/** Look-ups of single files in one call; those of further listed files are replaced by one of the whole folder. */
const MAX_LISTED = 48;

export class SourceTracker {
  readonly #files: FileSources | undefined;
  readonly #known = new Map<string, Promise<void>>();
  #sources: readonly OutsideSource[];
  #listed = 0;

  /** Without `files` no file has a source. */
  constructor(files?: FileSources, sources: readonly OutsideSource[] = []) {
    this.#files = files;
    this.#sources = sources;
  }

  get sources(): readonly OutsideSource[] {
    return this.#sources;
  }

  add(sources: readonly OutsideSource[]): void {
    this.#sources = addSources(this.#sources, sources);
  }

  readFile(path: string): Promise<void> {
    return this.#once(`file ${path}`, async (files) =>
      (await files.ofFile(path)).map((source) => ({ ...source, file: path })),
    );
  }

  /** `folder`: the one that is listed. */
  listFile(path: string, folder: string): Promise<void> {
    const isKnown = this.#known.has(`file ${path}`);
    if (!isKnown) this.#listed += 1;
    if (isKnown || this.#listed <= MAX_LISTED) return this.readFile(path);
    // A sub-agent has a history of its own.
    const whole = subagentFolderOf(path) || folder;
    return this.#once(`folder ${whole}`, (files) => files.ofFolder(whole));
  }

  #once(key: string, look: (files: FileSources) => Promise<readonly OutsideSource[]>): Promise<void> {
    const files = this.#files;
    if (!files) return NOTHING;
    const known = this.#known.get(key) ?? look(files).then((sources) => this.add(sources));
    this.#known.set(key, known);
    return known;
  }
}

const NOTHING = Promise.resolve();

type Note = <T>(asked: Promise<T>, whose: (answer: T) => readonly string[], address?: string) => Promise<T>;

/**
 * Returns the service with each answer noted: which strangers' servers answered a call with pages, searches, downloads,
 * repositories or posts. A failure counts like an answer, unless the error says that no words of a stranger had
 * arrived. Services of goald's own model servers stay as they are.
 */
export function trackService<N extends keyof Services>(name: N, service: Services[N], tracker: SourceTracker) {
  if (name === "memories") return trackMemories(service as Services["memories"], tracker) as Services[N];
  if (name === "cells") return trackCells(service as Services["cells"], tracker) as Services[N];
  const wrap = TRACKED[name] as ((service: Services[N], note: Note) => Services[N]) | undefined;
  if (!wrap) return service;
  const note: Note = async (asked, whose, address = "") => {
    try {
      const answer = await asked;
      tracker.add(whose(answer).map(webSource));
      return answer;
    } catch (error) {
      tracker.add((isGoaldError(error) ? error.outside : undefined) ?? [webSource(address)]);
      throw error;
    }
  };
  return wrap(service, note);
}

/** A cell has received all that its namespace has. */
const trackCells = (cells: Services["cells"], tracker: SourceTracker): Services["cells"] => ({
  ...cells,
  begin: () => {
    tracker.add(cells.received());
    return cells.begin();
  },
});

/** A command that reads a row of the agent's memory receives the outside words in it. */
const trackMemories = (memories: Services["memories"], tracker: SourceTracker): Services["memories"] => ({
  findFact: async (fact) => {
    const known = await memories.findFact(fact);
    for (const row of [known.holds, known.corrected?.row, known.corrected?.by]) tracker.add(row?.outside ?? []);
    return known;
  },
  findOwn: async (id) => {
    const row = await memories.findOwn(id);
    tracker.add(row.outside ?? []);
    return row;
  },
});

const TRACKED: { readonly [N in keyof Services]?: (service: Services[N], note: Note) => Services[N] } = {
  search: (search, note) => ({
    search: (...given) => note(search.search(...given), ({ provider }) => [provider]),
  }),
  pages: (pages, note) => ({
    read: (url, signal) => note(pages.read(url, signal), (page) => [url, page.url], url),
    select: (...given) => pages.select(...given),
  }),
  downloads: (downloads, note) => ({
    get: (url, signal) => note(downloads.get(url, signal), (download) => [url, download.url], url),
  }),
  repositories: (repositories, note) => ({
    clone: (url, folder, signal) => note(repositories.clone(url, folder, signal), (cloned) => [url, cloned.url], url),
  }),
  posts: (posts, note) => ({
    // The id of a post is a number; only an answer that was not understood is quoted.
    post: (...given) => note(posts.post(...given), ({ kind }) => (kind === "unknown" ? [""] : [])),
  }),
};

/** Services that bring words of strangers. */
const STRANGERS: ReadonlySet<string> = new Set(Object.keys(TRACKED));

/** Sources that an interrupted call may have received. None for a command that reaches only goald's own model servers. */
export function sourcesBeforeCrash(
  { annotations, needs }: { readonly annotations: Annotations; readonly needs: readonly string[] },
  args: unknown,
): readonly OutsideSource[] {
  const isOwn = needs.length > 0 && !needs.some((name) => STRANGERS.has(name));
  return isOwn ? [] : expectedSources(annotations, args);
}
