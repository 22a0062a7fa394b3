/**
 * services.ts -- services that commands use beyond their folder, one narrow interface each. A command names its
 * services in `needs`; the host provides those that are set up. A command whose service is missing is hidden from the
 * model and listed for people with the setting that enables it. Failures are GoaldErrors, whose message and hint the
 * model reads. Aborting `signal` rejects every call with the signal's reason.
 */
import type { Observation } from "./call.ts";
import type { CommandContext } from "./command.ts";
import type { Usage } from "./event.ts";
import type { AddressStatus, GoalTests } from "./goal-check.ts";
import type { MemoryBook } from "./memory.ts";
import type { PlanBook } from "./plan.ts";
import type { MethodSearch } from "./ports/memory.ts";
import type { OutsideSource } from "./provenance.ts";

export interface SearchResult {
  readonly title: string;
  readonly href: string;
  /** The provider's excerpt: a few sentences of the page. */
  readonly body: string;
}
export interface SearchAnswer {
  /** The provider that answered, such as `brave`. */
  readonly provider: string;
  /** Empty only when the provider found nothing; a refusal or a rate limit is an error. */
  readonly results: readonly SearchResult[];
  /** Providers that failed before, each with the reason in words. */
  readonly failed: readonly { readonly provider: string; readonly reason: string }[];
  readonly isCached: boolean;
}
export interface WebSearch {
  /** Throws GOALD_SEARCH when no provider could answer; the message names each with its reason. */
  search(query: string, count: number, signal: AbortSignal): Promise<SearchAnswer>;
}

/** The readable content of a fetched page. */
export interface Page {
  /** Final address after redirects. */
  readonly url: string;
  readonly title: string;
  /** Markdown for HTML; the plain text of a PDF or text file. */
  readonly text: string;
  readonly links: readonly { readonly text: string; readonly href: string }[];
  /** Such as `text/html`. */
  readonly contentType: string;
  /** Hash of the received bytes. */
  readonly sha256: string;
  /** ISO time. */
  readonly fetchedAt: string;
  /** What is missing, such as text cut at a limit. Empty when nothing is. */
  readonly remarks: readonly string[];
}
/** A piece of a page's text, split at its structure. */
export interface Passage {
  /** Name that answers cite, such as `p3`. */
  readonly id: string;
  /** Headings above the passage, outermost first. */
  readonly headings: readonly string[];
  readonly text: string;
}
export interface WebPages {
  /** Throws GOALD_WEB for a page that cannot be fetched or read, GOALD_HTTP_REFUSED for an address that is not public. */
  read(url: string, signal: AbortSignal): Promise<Page>;
  /** The passages most relevant to the question, best first, up to `tokens`; all of them in order when they fit. */
  select(page: Page, question: string, maxTokens: number): Promise<readonly Passage[]>;
}

export interface Download {
  readonly url: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** True if a secret of the settings is in the bytes as text. */
  readonly holdsSecret: boolean;
}
export interface Downloads {
  /** Throws as `WebPages.read`, and GOALD_HTTP_TOO_LARGE. */
  get(url: string, signal: AbortSignal): Promise<Download>;
}

export interface Repositories {
  /**
   * Clones into `folder` (absolute, empty) and resolves to a description of the clone. Throws GOALD_GIT; the caller
   * then removes the folder.
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
  /** Parts left out on purpose, in words: submodules, links, large files. */
  readonly remarks: readonly string[];
}

export interface Question {
  /** `smart`: the loop's model; `fast`: the one for small tasks. */
  readonly role: "smart" | "fast";
  /** Name of the section of prompts/questions.md with the instructions. */
  readonly words: string;
  /** Text from elsewhere, sent as data in a delimited user message. */
  readonly material: readonly { readonly label: string; readonly text: string }[];
  /** JSON Schema of the answer. */
  readonly schema: object;
}
export interface Advisor {
  /**
   * Returns one answer that is valid against the schema, after at most one retry. The cost counts against the agent's
   * limits. Throws GOALD_MODEL when there is no valid answer, GOALD_LIMIT when it would exceed a limit.
   */
  ask(question: Question, signal: AbortSignal): Promise<{ readonly value: unknown; readonly usage: Usage }>;
}

/** Counts the cost of a request. `sent` comes before it leaves, then the first of the others counts. Without an end it may be charged. */
export interface UseListener {
  sent(): void;
  /** The server did the work; null when it reported no usage. */
  took(usage: Usage | null): void;
  /** The request never arrived, or was rejected before any work. */
  refused(): void;
}
export interface Images {
  /** Throws GOALD_MEDIA, or GOALD_LIMIT when it would exceed a limit. `size` such as `1024x1024`. */
  generate(prompt: string, size: string, signal: AbortSignal, listener?: UseListener): Promise<GeneratedImage>;
}
export interface GeneratedImage {
  readonly bytes: Uint8Array;
  /** Detected from the bytes, not taken from the server. */
  readonly format: "png" | "jpeg" | "webp";
  readonly width: number;
  readonly height: number;
  readonly revisedPrompt: string | null;
}
export interface Speech {
  /** `file`: name for messages, not sent to the server. `language` such as `en`. Throws as `generate`. */
  transcribe(
    file: string,
    bytes: Uint8Array,
    signal: AbortSignal,
    language?: string,
    listener?: UseListener,
  ): Promise<string>;
}

/** The values that `prepare` records for a cell, so that a repeated run computes the same. */
export interface CellStart {
  readonly seed: number;
  readonly startedAt: string;
  /** Number of the event with the namespace that the cell starts from; null for an empty one. */
  readonly namespaceSeq: number | null;
}
export interface Cells {
  begin(): CellStart;
  /** Sources of the outside words that the namespace has received. */
  received(): readonly OutsideSource[];
  /**
   * Runs code in the agent's namespace, and stages what the namespace then holds. `name`: what an error
   * calls the code. Resolves to the cell's observation.
   */
  run(
    cell: { readonly code: string; readonly name: string } & CellStart,
    context: CommandContext,
  ): Promise<Observation>;
  /** For `save_files`: what the cell that made this call wants to save, by path; null removes a file. */
  changes(): ReadonlyMap<string, Uint8Array | null>;
}

export interface Posts {
  /** Throws GOALD_POST when nothing was posted for certain; resolves to `unknown` when nobody can tell. */
  post(
    text: string,
    signal: AbortSignal,
  ): Promise<
    | { readonly kind: "posted"; readonly id: string; readonly url: string }
    | { readonly kind: "unknown"; readonly reason: string }
  >;
}

/** What an agent may know about its sub-agents. Commands start, message and end them with staged requests. */
export interface AgentDirectory {
  children(): Promise<readonly ChildAgent[]>;
  /** Finds a sub-agent by its key, or by its name when that is unique. */
  child(key: string): Promise<ChildAgent | undefined>;
  /** Message that says which sub-agents exist. */
  unknown(key: string): string;
  /** ISO time until which a call waits for a sub-agent's answer. */
  answerBy(): string;
}
export interface ChildAgent {
  /** Key that commands use. */
  readonly key: string;
  readonly name: string;
  readonly task: string;
  /** State in a few words, such as `working`, `finished`, `waits for a person`, `paused: budget`. */
  readonly standing: string;
  /** False for a sub-agent that a person has stopped: a task does not start it. */
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
  readonly cells: Cells;
  readonly methods: MethodSearch;
  readonly plan: PlanBook;
  readonly memories: MemoryBook;
  readonly statuses: AddressStatus;
  readonly tests: GoalTests;
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
  "cells",
  "methods",
  "plan",
  "memories",
  "statuses",
  "tests",
];

/** Ready, or what to do to set it up. */
export type ServiceState = { readonly ready: true } | { readonly ready: false; readonly toDo: string };
