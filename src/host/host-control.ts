/** host-control.ts -- implements `Control` in a host. Requests are first stored in the inbox: a crash loses nothing. */
import { randomUUID } from "node:crypto";
import type { Control } from "#api/control.ts";
import type {
  ApprovalAnswer,
  ControlResult,
  DaemonStatus,
  NewAgent,
  PlanEdited,
  PlanEdits,
  Trust,
  Trusted,
  TrustedEntry,
} from "#api/schemas.ts";
import type { CommandCall } from "#core/call.ts";
import { conflict, GoaldError } from "#core/errors.ts";
import { tidyPath } from "#core/guarded-files.ts";
import { opensTurn } from "#core/inbox.ts";
import { limitReached } from "#core/limits.ts";
import { isForgetting, SHARED_MEMORY } from "#core/memory.ts";
import type { AgentRow, InboxMessage } from "#core/ports/store.ts";
import { plainSources, sourcesOfFile } from "#core/provenance.ts";
import { type AgentState, approvalOf, isAwaitingPerson, isFinished, isOver, questionOf } from "#core/state.ts";
import { hasChildrenError } from "#core/subagent.ts";
import { redactJson } from "#util/redact.ts";
import type { AgentView } from "#views/agent-view.ts";
import { describesPath } from "#views/file-versions.ts";
import { goOnCall } from "#views/next-step.ts";
import { loadPlan, planEdits } from "#views/plan-view.ts";
import { descendantsOf, findAgent, openTexts } from "#views/read-agent.ts";
import type { ForkParts } from "./fork-agent.ts";
import { REPEATED, RunControl } from "./halt-and-resume.ts";
import { type Found, goalsMessage, type HostViewParts } from "./host-views.ts";
import type { RestoreParts } from "./restore-files.ts";

export interface RecordingControl {
  /**
   * Creates the file for a new agent, unless a request with this key did. Throws GOALD_USAGE for another that exists.
   * Returns a function that removes what it created.
   */
  create(path: string, key?: string): () => void;
  /** Records this agent into the file from now on. Throws GOALD_USAGE when the file does not end where its log does. */
  resume(path: string, row: AgentRow): void;
  pathOf(row: AgentRow): string | undefined;
  /** The next run looks whether the agent's log has gone on without its recording, and ends it then. */
  release(agent: string): void;
  forget(agent: string): void;
}

export interface HostControlParts
  extends HostViewParts,
    Pick<Control, "live" | "openDashboard" | "reload" | "shutdown"> {
  readonly recordings: RecordingControl;
  /** Redacts known secrets and everything that looks like one. */
  redact(text: string): string;
  /** Checks and trims name, role, goals and their checks, and the profile of commands; they throw GOALD_USAGE. */
  checkAgent: ForkParts["checkAgent"];
  /** `before`: the settings of the agent that is changed; absent for a new one. */
  checkSettings<S extends Partial<NewAgent["settings"]>>(settings: S, before?: Partial<NewAgent["settings"]>): S;
  status(): DaemonStatus;
  /** Creates the folder of a new agent, and opens it including goald's own files. */
  openWorkspace: ForkParts["openWorkspace"];
  removeFolder(row: AgentRow): Promise<void>;
  /** Drops a namespace's memory from main memory, and removes its index files. */
  removeMemory(agent: string): Promise<void>;
  readonly openFolder: RestoreParts["openFolder"];
  readonly remember: RestoreParts["remember"];
}

export class HostControl extends RunControl implements Control {
  readonly live = this.parts.live;
  readonly viewAll = this.views.viewAll;
  readonly openDashboard = this.parts.openDashboard;
  readonly reload = this.parts.reload;
  readonly shutdown = this.parts.shutdown;
  readonly addFollower: Control["addFollower"] = (...given) => this.parts.supervisor.front.addFollower(...given);
  readonly whenChanged: Control["whenChanged"] = (signal) => this.parts.supervisor.watch.whenChanged(signal);

  /** Pauses an agent in front that nobody follows. One that waits for a person stays as it is, because nothing runs. */
  async pauseAlone(id: string): Promise<void> {
    const { state } = await this.views.find(id);
    if (!state.settings.background && !isAwaitingPerson(state)) await this.pause(id, "Its terminal has gone.");
  }

  async status(): Promise<DaemonStatus> {
    return this.parts.status();
  }

  async agents(): Promise<readonly AgentView[]> {
    return this.viewAll(await this.parts.store.agents());
  }

  async agent(name: string): Promise<AgentView> {
    return this.views.view(await findAgent(this.parts.store, name));
  }

  async create({ settings: wanted, record, key, ...agent }: NewAgent): Promise<AgentView> {
    const { store, supervisor, clock, recordings, redact } = this.parts;
    const { background = true, ...settings } = this.parts.checkSettings(wanted);
    const given = this.parts.checkAgent(agent);
    const discard = record === undefined ? undefined : recordings.create(record, key);
    // The log of a recorded agent must contain the same redacted texts as its recording.
    const texts = discard ? redactJson(given, redact) : given;
    const spec = { ...texts, ...settings, ...(background ? { background } : {}) };
    const created = store.create(spec, `create/${key ?? randomUUID()}`, clock.now().toISOString());
    const row = await created.catch((thrown) => {
      discard?.();
      throw thrown;
    });
    if (record !== undefined) recordings.resume(record, row);
    supervisor.wake(row.id, !background);
    return this.views.view(row);
  }

  async say(name: string, words: Parameters<Control["say"]>[1]): Promise<ControlResult> {
    return this.#tell(await this.views.find(name), { type: "say", from: words.from, text: words.text }, words.key);
  }

  async setGoals(...[name, goals, checks]: Parameters<Control["setGoals"]>): Promise<ControlResult> {
    const found = await this.views.find(name);
    return this.#tell(found, goalsMessage(found.state, { goals, checks }, this.parts.checkAgent));
  }

  /** Sends all changes as one message, or none. */
  async editPlan(name: string, { edits, key }: PlanEdits): Promise<PlanEdited> {
    const found = await this.views.find(name);
    if (key !== undefined && (await this.parts.store.hasMessage(found.row.id, `plan/${key}`)))
      return { ...(await this.done(found.row, REPEATED)), changes: [] };
    const changes = planEdits(found.state, await loadPlan(found.row, this.parts.store), edits);
    return { ...(await this.#tell(found, { type: "plan", edits }, key)), changes };
  }

  async changeSettings(name: string, settings: Parameters<Control["changeSettings"]>[1]): Promise<ControlResult> {
    const found = await this.views.find(name);
    await this.#send(found, { type: "settings", ...this.parts.checkSettings(settings, found.state.settings) });
    return this.done(found.row, "");
  }

  async answer(name: string, { seen, ...given }: ApprovalAnswer): Promise<ControlResult> {
    const found = await this.views.find(name);
    const { row, state } = found;
    if (given.verdict === "approved" ? given.text !== undefined : given.count !== undefined)
      throw new GoaldError("GOALD_USAGE", "Expected `count` with `approved` alone, and `text` with `denied` alone.");
    const { callId, call, label, hint } = requireApproval(row.id, state, given.callId, this.parts.clock.now());
    if (seen !== undefined && seen !== (await this.#changedFile(row, call)))
      throw conflict("The file has changed since this diff was shown.", "Look at the new diff, then answer.");
    // The first answer counts, even before the agent reads it: another terminal may have been faster.
    if (!(await this.#send(found, { type: "approval", ...given, callId }, callId)))
      throw conflict(`${label} has an answer already; this one has no effect.`, hint);
    const told = given.verdict === "approved" ? "Approved" : "Denied";
    return this.done(row, `${told}: ${call.name}`);
  }

  /** Throws GOALD_NOT_FOUND, before anything is trusted, for a path that the agent's history does not have. */
  async trust(name: string, { what, paths = [] }: Trust): Promise<Trusted> {
    const { store } = this.parts;
    const found = await this.views.find(name);
    const { row, state } = found;
    if ((what === "files") !== paths.length > 0)
      throw new GoaldError("GOALD_USAGE", "Expected paths with `files`, and none with `all`.");
    const trusted: TrustedEntry[] = [];
    const of = { agent: row.id, trustedSeq: state.trustedSeq };
    const versions = what === "files" ? await store.files(row.id) : [];
    for (const path of new Set(paths.map(tidyPath))) {
      if (!describesPath(versions, path))
        throw new GoaldError("GOALD_NOT_FOUND", `Expected a file of ${row.id}, got ${JSON.stringify(path)}.`, {
          hint: `See its files: goald show ${row.id} --files`,
        });
      trusted.push({ path, outside: await sourcesOfFile(of, path, store) });
    }
    if (what === "all") trusted.push({ path: null, outside: plainSources(state.received) });
    for (const { path } of trusted)
      await this.#send(found, path === null ? { type: "trust", what: "all" } : { type: "trust", what: "file", path });
    return { ...(await this.done(row, "")), trusted, received: what === "all" ? state.received : [] };
  }

  async remove(name: string, how: Parameters<Control["remove"]>[1]): ReturnType<Control["remove"]> {
    const { supervisor, store, recordings } = this.parts;
    const { row, state } = await this.views.find(name);
    const requireNoChildren = async (): Promise<void> => {
      const children = (await descendantsOf(row.id, store)).map(({ id }) => id);
      if (children.length > 0) throw hasChildrenError(row.id, children, how.force);
    };
    await requireNoChildren();
    if (!isOver(state) && !how.force)
      throw conflict(`${row.id} has not finished.`, `Stop it first: goald stop ${row.id}, or remove it with --force.`);
    if (!this.isStill(row, state)) await supervisor.cutOff(row.id, "killed", "Removed by a person.");
    // It may have started one before it was cut off.
    await requireNoChildren();
    const { workspace } = await this.views.view(row);
    // From the commit on, the id and the folder may be those of another agent.
    recordings.forget(row.id);
    await supervisor.hold(row.id, async () => {
      if (how.files) await this.parts.removeFolder(row);
      await this.tellRemoval(row);
      await store.remove(row.id);
    });
    const runner = supervisor.runners.get(row.id);
    supervisor.forget(row.id);
    await runner?.settled();
    this.views.forget(row.id);
    await this.parts.removeMemory(row.id);
    return { id: row.id, workspace };
  }

  async fork(name: string, how: Parameters<Control["fork"]>[1]) {
    const { forkAgent } = await import("./fork-agent.ts");
    const { row, files } = await forkAgent(await findAgent(this.parts.store, name), how, this.parts);
    this.parts.supervisor.watch.tell(row.id);
    return { ...(await this.views.view(row)), events: row.head, files };
  }

  async restore(name: string, request: Parameters<Control["restore"]>[1]): ReturnType<Control["restore"]> {
    const { restoreAtRest } = await import("./restore-files.ts");
    const { row } = await this.views.find(name);
    return restoreAtRest(row, await this.views.view(row), request, this.parts);
  }

  /**
   * Applies the changes at once, even while the agent runs. Forgotten vectors also leave the indexes: these are removed, and
   * built again from the rows at the next recall.
   */
  async changeMemory(...[name, changes, key]: Parameters<Control["changeMemory"]>) {
    const { store, clock, removeMemory } = this.parts;
    const namespace = name === SHARED_MEMORY ? name : (await findAgent(store, name)).id;
    const changed = await store.curate(namespace, changes, key, clock.now().toISOString());
    if (changes.some(isForgetting)) await removeMemory(namespace);
    return changed;
  }

  async page(name: string, after: number, limit: number) {
    const { store } = this.parts;
    const { id, head } = await findAgent(store, name);
    return { events: await store.read(id, after, limit), head };
  }

  async whenLonger(name: string, after: number, signal: AbortSignal): Promise<void> {
    const { store, supervisor } = this.parts;
    await supervisor.watch.whenLonger((await findAgent(store, name)).id, after, signal);
  }

  /** SHA-256 of the file that the waiting call would change; null for a new one, undefined for a call without a diff. */
  async #changedFile(row: AgentRow, call: CommandCall): Promise<string | null | undefined> {
    const { changeOf } = await import("#views/file-diff.ts");
    const folder = this.parts.openFolder((await this.views.view(row)).workspace);
    const command = (await openTexts(call, this.parts.store)) as CommandCall;
    return (await changeOf(command, folder).catch(() => null))?.against;
  }

  async #tell(found: Found, message: InboxMessage, key?: string): Promise<ControlResult> {
    const isNew = await this.#send(found, message, key);
    return this.done(found.row, isNew ? this.#deliveryNote(found, message) : REPEATED);
  }

  /** Tells a person when the agent will read their message. */
  #deliveryNote(found: Found, message: InboxMessage): string {
    const { row, state } = found;
    if (isFinished(state) && opensTurn(message)) {
      const limit = limitReached(state, state.step + 1, this.parts.clock.now());
      const more = limit ? ` ${limit.reason.replaceAll("<agent>", row.id)}` : "";
      return `It had finished. This begins turn ${state.turn + 1}.${more}`;
    }
    if (state.paused) return `It is paused and will read this when it goes on: ${goOnCall(row.id, state)}`;
    if (!this.#runsHere(found)) return `It does not run: goald resume ${row.id}`;
    return questionOf(state) !== undefined && message.type === "say"
      ? "It goes on with this as the answer to its question."
      : "It will read this with its next step.";
  }

  /** A waiting agent reads the message at once, a running agent after its step. Resolves as `deliver`. */
  async #send(found: Found, message: InboxMessage, key: string = randomUUID()): Promise<boolean> {
    const { row, state } = found;
    // An agent that finished in front becomes a background agent when it gets more work.
    const isHandedOver = opensTurn(message) && isFinished(state) && !state.settings.background;
    if (isHandedOver) await this.deliver(row.id, { type: "settings", background: true }, `${key}/settings`);
    const isNew = await this.deliver(row.id, message, key);
    // An agent that is over reads a person's trust, and stays as it is.
    const isRead = message.type === "trust" && isOver(state);
    if (isHandedOver || isRead || this.#runsHere(found))
      this.parts.supervisor.wake(row.id, !(isHandedOver || state.settings.background));
    return isNew;
  }

  /** An agent in front that nobody follows is not started by a message. */
  #runsHere({ row, state }: Found): boolean {
    const { runners, front } = this.parts.supervisor;
    return runners.has(row.id) || state.settings.background || front.isHeld(row.id);
  }
}

/**
 * `callId`: the call that the client means; absent for the one that waits. Throws GOALD_CONFLICT when another call waits, or
 * when the question has expired.
 */
function requireApproval(id: string, state: AgentState, callId: string | undefined, now: Date) {
  const waiting = approvalOf(state);
  const hint = `See its state: goald show ${id}`;
  if (!waiting) throw conflict(`${id} has no command that waits for this answer.`, hint);
  const label = `${waiting.callId} (${waiting.call.name})`;
  if (callId !== undefined && callId !== waiting.callId)
    throw conflict(`${id} does not wait for ${callId}: ${label} waits now.`, hint);
  if (waiting.until !== null && Date.parse(waiting.until) <= now.getTime())
    throw conflict(`The approval of ${label} expired at ${waiting.until}.`, hint);
  return { ...waiting, label, hint };
}
