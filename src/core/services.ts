/**
 * services.ts -- what commands may ask of the world beyond their folder, one narrow interface per service.
 *
 * A command names what it `needs`; a host offers what it is set up for. A command whose need is not met is listed with
 * what to set and is never advertised. Failures are GoaldErrors, whose message and hint the model reads; every call
 * ends when `signal` is aborted, with its reason.
 */
import type { Usage } from "./event.ts";

// ---------------------------------------------------------------- web

export interface SearchResult {
  readonly title: string;
  readonly href: string;
  /** A few sentences of the page, as the provider gives them. */
  readonly body: string;
}
export interface SearchAnswer {
  /** Which provider answered, such as `brave`. */
  readonly provider: string;
  /** Empty only when the provider said that it found nothing; a refusal or a limit is an error. */
  readonly results: readonly SearchResult[];
  /** The providers that were asked before and failed, with the reason in words. */
  readonly failed: readonly { readonly provider: string; readonly reason: string }[];
  readonly isCached: boolean;
}
export interface WebSearch {
  /** Throws GOALD_SEARCH when no provider could answer; the message names each with its reason. */
  search(query: string, count: number, signal: AbortSignal): Promise<SearchAnswer>;
}

/** A page as it was found, made readable. */
export interface Page {
  /** After redirects. */
  readonly url: string;
  readonly title: string;
  /** Markdown; of a PDF or a plain text, its text. */
  readonly text: string;
  readonly links: readonly { readonly text: string; readonly href: string }[];
  /** Such as `text/html`. */
  readonly contentType: string;
  /** Of the bytes as they came. */
  readonly sha256: string;
  /** ISO time. */
  readonly fetchedAt: string;
  /** Said where something is missing: cut at a limit, no article found. Empty for none. */
  readonly remarks: readonly string[];
}
/** A piece of a page's text, cut on its structure. */
export interface Passage {
  /** Such as `p3`: what an answer cites. */
  readonly id: string;
  /** Headings that it stands under, outermost first. */
  readonly headings: readonly string[];
  readonly text: string;
}
export interface WebPages {
  /** Throws GOALD_WEB for what cannot be had or read, GOALD_HTTP_REFUSED for an address that is not public. */
  read(url: string, signal: AbortSignal): Promise<Page>;
  /** The passages that are nearest to the question, best first, within so many tokens; all of them in order when they fit. */
  select(page: Page, question: string, maxTokens: number): readonly Passage[];
}

export interface Download {
  readonly url: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}
export interface Downloads {
  /** Throws as `WebPages.read`, and GOALD_HTTP_TOO_LARGE. */
  get(url: string, signal: AbortSignal): Promise<Download>;
}

// ---------------------------------------------------------------- other programs

export interface Repositories {
  /**
   * Clones into `folder`, which is absolute and empty, and resolves to what lies in it then. Throws GOALD_GIT; what is
   * there then is rubbish, for whoever made the folder to remove.
   */
  clone(url: string, folder: string, signal: AbortSignal): Promise<Cloned>;
}
export interface Cloned {
  readonly url: string;
  /** Full hash of the commit. */
  readonly commit: string;
  readonly branch: string | null;
  readonly files: number;
  readonly bytes: number;
  /** Left out on purpose, in words: submodules, links, large files. */
  readonly remarks: readonly string[];
}

// ---------------------------------------------------------------- models

export interface Question {
  /** `smart`: the loop's model; `fast`: the one for small tasks. */
  readonly role: "smart" | "fast";
  /** What is to be done, in goald's own words: name of a file of prompts/. */
  readonly words: string;
  /** Text from elsewhere: data, in a user-role message that it cannot close. */
  readonly material: readonly { readonly label: string; readonly text: string }[];
  /** JSON Schema that the answer must keep to. */
  readonly schema: object;
}
export interface Advisor {
  /**
   * One answer, read and checked; asked again once when it does not keep to the schema. What it costs is counted
   * against the agent's limits. Throws GOALD_MODEL when there is none, and GOALD_LIMIT when the agent may not spend so much.
   */
  ask(question: Question, signal: AbortSignal): Promise<{ readonly value: unknown; readonly usage: Usage }>;
}

/**
 * Hears what a request takes; for goald, which counts it, not for commands. `sent` comes before the request leaves, then one
 * of the others, of which the first counts. Sent and no more heard of, it may have been charged.
 */
export interface UseListener {
  sent(): void;
  /** The server did the work; null when it does not say what that took. */
  took(usage: Usage | null): void;
  /** It never arrived, or was turned down before any work. */
  refused(): void;
}
export interface Images {
  /** Throws GOALD_MEDIA, and GOALD_LIMIT when the agent may not spend so much. `size` such as `1024x1024`. */
  generate(prompt: string, size: string, signal: AbortSignal, listener?: UseListener): Promise<GeneratedImage>;
}
export interface GeneratedImage {
  readonly bytes: Uint8Array;
  /** Told from the bytes, not from what the server says. */
  readonly format: "png" | "jpeg" | "webp";
  readonly width: number;
  readonly height: number;
  readonly revisedPrompt: string | null;
}
export interface Speech {
  /** `file`: its name in messages; the server is told no name. `language` such as `en`. Throws as `generate`. */
  transcribe(
    file: string,
    bytes: Uint8Array,
    signal: AbortSignal,
    language?: string,
    listener?: UseListener,
  ): Promise<string>;
}

/** A program in a file of the workspace, run where it can reach nothing else. */
export interface Sandbox {
  /** Throws GOALD_FILE for a file that it cannot run. */
  runPythonFile(
    file: string,
    args: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly exitCode: number; readonly output: string; readonly changed: readonly string[] }>;
}

// ---------------------------------------------------------------- people and agents

export interface Posts {
  /** Throws GOALD_POST where it is certain that nothing was posted; `unknown` where nobody can tell. */
  post(
    text: string,
    signal: AbortSignal,
  ): Promise<
    | { readonly kind: "posted"; readonly id: string; readonly url: string }
    | { readonly kind: "unknown"; readonly reason: string }
  >;
}

/** What an agent may know of those that it started. Starting, telling and ending them are wishes that a command stages. */
export interface AgentDirectory {
  children(): Promise<readonly ChildAgent[]>;
  /** By its key, or by its name where only one has that. */
  child(key: string): Promise<ChildAgent | undefined>;
  /** Why there is no such agent, and which there are. */
  unknown(key: string): string;
  /** ISO time until which a call waits for an agent's answer before it goes on without. */
  answerBy(): string;
}
export interface ChildAgent {
  /** What commands call it by. */
  readonly key: string;
  readonly name: string;
  readonly task: string;
  /** In a few words, such as `working`, `finished`, `waits for a person`, `paused: budget`. */
  readonly standing: string;
  /** A task would set it going, or is heard with its next step; false for one that a person has stopped. */
  readonly listens: boolean;
  readonly step: number;
}

export interface Services {
  readonly search: WebSearch;
  readonly pages: WebPages;
  readonly downloads: Downloads;
  readonly repositories: Repositories;
  readonly advisor: Advisor;
  readonly images: Images;
  readonly speech: Speech;
  readonly posts: Posts;
  readonly agents: AgentDirectory;
  readonly sandbox: Sandbox;
}
export type ServiceName = keyof Services;
export const SERVICES: readonly ServiceName[] = [
  "search",
  "pages",
  "downloads",
  "repositories",
  "advisor",
  "images",
  "speech",
  "posts",
  "agents",
  "sandbox",
];

/** What a host has to say of each service: it is there, or what is to be done so that it is. */
export type ServiceState = { readonly ready: true } | { readonly ready: false; readonly toDo: string };
