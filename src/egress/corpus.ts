/**
 * corpus.ts -- collects the texts that an agent has read and sent, from its newest events. They decide which text may leave.
 *
 *   kept    texts of the folder, of memory, of people and of other agents; they may not leave unasked
 *   open    texts of the web; everybody can read them
 *   own     texts that the model thought, sent, or wrote after it had read outside words; they are not secret
 *   calls   texts sent to each destination
 *
 * Each list is bounded, and the oldest entries go first.
 */
import type { CommandCall, Observation } from "#core/call.ts";
import type { EventOf, RecordedEvent } from "#core/event.ts";
import type { CarriedText } from "#core/leaving.ts";
import { shownIds } from "#core/memory.ts";
import { headOf, type Text } from "#core/text.ts";
import { foldText } from "./fold-text.ts";
import { listSentText, type SentText } from "./sent-text.ts";
import { TextShelf } from "./text-shelf.ts";

const MAX_SHELF_CHARS = 2_000_000;
const MAX_CALLS_PER_DESTINATION = 64;
const MAX_DESTINATIONS = 500;
const MAX_PATHS = 5_000;

export interface CommandFacts {
  readonly annotations: { readonly openWorld: boolean; readonly readOnly: boolean };
  readonly sends?: readonly string[];
  readonly closesTurn?: boolean;
}

export interface SentCall {
  readonly sent: SentText;
  /** A person approved it, and knew what would leave. */
  readonly isApproved: boolean;
}

export interface CorpusParts {
  facts(name: string): CommandFacts | undefined;
  /** The whole text, from its blob if it has one. */
  read(text: Text): Promise<string>;
  /** The text of a memory; undefined when it is gone, or when everybody can read it. */
  recallText(id: string): Promise<string | undefined>;
}

interface OpenRequest {
  readonly call: CommandCall;
  readonly hasLeaving: boolean;
  isApproved: boolean;
}

export class Corpus {
  readonly kept = new TextShelf(MAX_SHELF_CHARS);
  readonly open = new TextShelf(MAX_SHELF_CHARS);
  readonly own = new TextShelf(MAX_SHELF_CHARS);
  /** By destination, the one that was called last at the end. */
  readonly calls = new Map<string, readonly SentCall[]>();
  /** Files and folders that came from the web and were not changed since. */
  readonly #openPaths = new Set<string>();
  readonly #requests = new Map<string, OpenRequest>();
  readonly #recalled = new Set<string>();
  readonly #parts: CorpusParts;

  constructor(parts: CorpusParts) {
    this.#parts = parts;
  }

  /** `isTainted`: the agent had received outside words before the event. */
  async add(event: RecordedEvent, isTainted: boolean): Promise<void> {
    const { seq } = event;
    switch (event.type) {
      case "command-requested":
        return this.#addRequest(event, isTainted);
      case "command-approved": {
        const request = this.#requests.get(event.callId);
        if (request?.hasLeaving && event.by === "person") request.isApproved = true;
        return;
      }
      case "command-started":
        return this.#addCall(event.callId);
      case "command-denied":
        this.#requests.delete(event.callId);
        if (event.by === "person") this.#keep(event.reason, seq, "person", "an answer");
        return;
      case "command-finished":
        return this.#addResult(event);
      case "message-received":
        return this.#keep(await this.#parts.read(event.text), seq, "person", event.from);
      case "task-received":
        return this.#keep(await this.#parts.read(event.text), seq, event.carries ? "agent" : "person", event.from);
      case "agent-reported":
        if (event.observation)
          this.#addReport(event.observation, await this.#parts.read(event.observation.text), seq, event.agent);
        return;
      case "model-asked":
        return this.#addShown(event);
      default:
        return;
    }
  }

  /** The egress check of a sub-agent has already judged its texts from after it read outside words. */
  #addReport({ outside = [], carries }: Observation, text: string, seq: number, agent: string): void {
    const isJudged = outside.some(({ from }) => from === "web") && !carries;
    if (isJudged) this.open.add({ text, seq });
    else this.#keep(text, seq, "agent", agent);
  }

  #keep(text: string, seq: number, from: CarriedText["from"], where: string): void {
    this.kept.add({ text, seq, from, where });
  }

  #addRequest(event: EventOf<"command-requested"> & { readonly seq: number }, isTainted: boolean): void {
    const { callId, call, thought, seq } = event;
    this.#requests.set(callId, { call, hasLeaving: event.leaving !== undefined, isApproved: false });
    if (!isByModel(callId)) return;
    this.own.add({ text: thought, seq });
    // A file that the model wrote before it read outside words may have the only copy of a secret.
    const isSent = this.#parts.facts(call.name)?.annotations.openWorld === true;
    if (isTainted || isSent) for (const text of stringsIn(call.args)) this.own.add({ text, seq });
  }

  #addCall(callId: string): void {
    const request = this.#requests.get(callId);
    const facts = request && this.#parts.facts(request.call.name);
    if (!request || !facts?.annotations.openWorld) return;
    const sent = listSentText(request.call, facts.sends);
    const entry = { sent, isApproved: request.isApproved };
    for (const destination of sent.destinations) {
      const earlier = this.calls.get(destination) ?? [];
      this.calls.delete(destination);
      this.calls.set(destination, [...earlier, entry].slice(-MAX_CALLS_PER_DESTINATION));
    }
    dropOldest(this.calls, MAX_DESTINATIONS);
  }

  async #addResult({
    callId,
    observation,
    seq,
  }: EventOf<"command-finished"> & { readonly seq: number }): Promise<void> {
    const call = this.#requests.get(callId)?.call;
    this.#requests.delete(callId);
    const text = await this.#parts.read(observation.text);
    const args = stringsIn(call?.args ?? {});
    const { source, status, artifacts } = observation;
    const facts = this.#parts.facts(call?.name ?? "");
    // A command that does not say what it sends may as well read something of the folder.
    const sends = (facts?.sends?.length ?? 0) > 0;
    const isOutside = sends && facts?.annotations.openWorld === true;
    const isOpenFile = status === "ok" && args.length > 0 && args.every((arg) => this.isOpenPath(arg));
    const isOpen = isOutside || isOpenFile;
    // A folder of the web that the agent changes may hold anything from then on.
    for (const path of artifacts) for (const folder of foldersOf(path)) this.#openPaths.delete(folder);
    if (isOutside) for (const path of artifacts) this.#openPaths.add(path);
    dropOldest(this.#openPaths, MAX_PATHS);
    if (isOpen) return this.open.add({ text, seq, except: foldText(args.join("\n")) });
    // goald's own text about a success quotes nothing, and the rest was written by the model.
    if ((source === "goald" && status === "ok") || args.includes(text)) return;
    if (source === "person") return this.#keep(text, seq, "person", "an answer");
    if (sends) return this.#addReport(observation, text, seq, "");
    this.#keep(text, seq, "folder", args.find((arg) => arg !== "" && arg.length <= 200 && !arg.includes("\n")) ?? "");
  }

  /** A file of the web that was not changed since, or that is in a folder of the web. */
  isOpenPath(given: string): boolean {
    const path = given.replace(/^(?:\.\/+)+/, "");
    return !path.split("/").includes("..") && foldersOf(path).some((folder) => this.#openPaths.has(folder));
  }

  async #addShown({ folder, seq, ...asked }: EventOf<"model-asked"> & { readonly seq: number }): Promise<void> {
    if (folder) this.#keep(folder, seq, "folder", "the list of files");
    for (const id of shownIds(asked)) {
      if (this.#recalled.has(id)) continue;
      this.#recalled.add(id);
      dropOldest(this.#recalled, MAX_PATHS);
      const text = await this.#parts.recallText(id);
      if (text !== undefined) this.#keep(text, seq, "memory", id);
    }
  }
}

/** The path and every folder above it. */
const foldersOf = (path: string): readonly string[] =>
  path.split("/").map((_part, index, all) => all.slice(0, index + 1).join("/"));

/** Nested calls of a command end in a number; what they send may be text that the model has not seen. */
const isByModel = (callId: string): boolean => /(?:^|\.)c\d+(?:-\d+)?$/.test(callId);

/** Every string of the value; of a long one the beginning. */
function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  if ("blob" in value) return [headOf(value as Exclude<Text, string>)];
  return Object.values(value).flatMap(stringsIn);
}

function dropOldest(entries: Map<string, unknown> | Set<string>, most: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(key);
  }
}
