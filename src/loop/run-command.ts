/** run-command.ts -- runs one approved call: prepare, intent, run, result; after a crash, probe. */
import { type CallContext, type Prepared, prepareCall, probeCall, runCall } from "#commands/execute.ts";
import { sourcesBeforeCrash } from "#commands/track-sources.ts";
import { differed, type Observation, outcomeUnknown, sourcesOfInterrupted } from "#core/call.ts";
import { BAD_RESULT, type CommandWrite, fail, isCellCommand, type NamespaceWrite } from "#core/command.ts";
import type { Move } from "#core/decide.ts";
import type { NewEvent, OfCall } from "#core/event.ts";
import { hasChecks } from "#core/evolve-turn.ts";
import { frameOwning, isNestedCall } from "#core/frames.ts";
import type { GoalTests } from "#core/goal-check.ts";
import { addSources, type OutsideSource, outsideOf, plainSources, withSources } from "#core/provenance.ts";
import type { Services } from "#core/services.ts";
import { type AgentState, formOfFrame, openCommand } from "#core/state.ts";
import { headOf, restoreValue } from "#core/text.ts";
import { checkResult } from "#reply/check-value.ts";
import { remarkOnAction } from "./action-remarks.ts";
import type { AskParts } from "./ask-model.ts";
import { type CellParts, openCells } from "./cells.ts";
import { type FileHistory, markFiles, markStaged, openFileSources } from "./file-sources.ts";
import type { Journal, Outcome } from "./journal.ts";
import {
  grantRequests,
  type OwnMemories,
  openDirectory,
  openMemories,
  openPlan,
  refuseMemories,
  type SubagentParts,
} from "./loop-services.ts";
import { openMethodSearch } from "./method-search.ts";
import { DIVERGED, RecordedNestedWork, SUSPENDED } from "./nested-work.ts";
import { type DownloadMeter, meterDownloads, openPurchases, type PurchaseParts, type Purchases } from "./purchases.ts";
import { effectless, type PreparedMove } from "./run-parts.ts";

/** Parts of each call; paid services are created per call. */
export interface CommandParts
  extends PurchaseParts,
    Pick<AskParts, "agentId" | "checkOutgoing" | "random" | "signal">,
    Pick<CallContext, "folder" | "openWorkspace" | "openOwnWorkspace"> {
  readonly history: FileHistory & OwnMemories;
  /** Maximum bytes that the agent downloads in its life; absent for no limit. */
  readonly downloadLimitBytes?: number;
  knowsAgent(id: string): Promise<boolean>;
  /** Absent: commands see no sub-agents and cannot start any. */
  readonly subagents?: SubagentParts;
  /** Absent: no code runs. */
  readonly cells?: CellParts;
}

export async function execute(
  move: Extract<Move, { kind: "execute" }>,
  journal: Journal,
  parts: CommandParts,
): Promise<PreparedMove> {
  const { callId, attempt, effect } = move;
  const call = await openCall(callId, journal, parts);
  if (!call) return effectless(notThere(callId, journal, parts));
  const { open, of, command } = call;
  // An earlier attempt may have received words, and left them in a file.
  const before = attempt > 1 ? sourcesBeforeCrash(command, call.args) : [];
  const looked = await prepareCall({ ...call, received: addSources(before, open.intent?.outside ?? []) });
  const earlier = open.intent && { prepared: await restoreValue(open.intent.prepared, journal.read) };
  // The first attempt's record stays valid for `probe`. `prepare` runs again only to preserve current files.
  const ready = earlier ?? refuseSecrets(looked.result, command.name, journal.scrub);
  if ("refused" in ready)
    return effectless({ events: [{ type: "command-finished", ...of, observation: ready.refused, durationMs: 0 }] });
  const { prepared } = ready;
  const { annotations } = command;
  const { epoch } = journal.lease;
  const purchases = openPurchases(command.needs, journal.state, { ...parts, scrub: journal.scrub });
  const started: NewEvent = {
    type: "command-started",
    ...of,
    attempt,
    epoch,
    effect,
    annotations,
    prepared,
    ...outsideOf(looked.outside),
    ...(purchases ? { reserved: purchases.reserved } : {}),
  };
  return {
    intent: { events: [started], files: await markFiles(looked.files, of, call.fileSources, "prepare") },
    perform: async (runNested) => {
      const downloads = meterDownloads(call.services, journal.state, parts.downloadLimitBytes);
      const nested = new RecordedNestedWork(callId, journal, parts, runNested);
      const services = {
        ...call.services,
        ...downloads.services,
        ...purchases?.services,
        ...cellsFor(callId, journal, parts, nested),
      };
      const signal = AbortSignal.any([call.signal, nested.signal]);
      try {
        const received = looked.outside;
        const running = { ...call, services, nested, signal, received, downloads, purchases };
        return await finishCall(running, prepared, journal, parts);
      } catch (thrown) {
        if (thrown === SUSPENDED) return null;
        if (thrown === DIVERGED) return { events: [differed(callId, open)] };
        throw thrown;
      }
    },
  };
}

/** Asks an interrupted command whether its effect happened. Changes nothing. */
export async function probe(
  move: Extract<Move, { kind: "probe" }>,
  journal: Journal,
  parts: CommandParts,
): Promise<PreparedMove> {
  const { callId, effect } = move;
  const call = await openCall(callId, journal, parts);
  const intent = call?.open.intent;
  if (!call || !intent) return effectless(notThere(callId, journal, parts));
  const { open, of, command } = call;
  const prepared = await restoreValue(intent.prepared, journal.read);
  const received = addSources(intent.outside ?? [], sourcesBeforeCrash(command, call.args));
  const { result, files, outside } = await probeCall({ ...call, received }, prepared);
  switch (result.found) {
    case "not-done":
      return execute({ kind: "execute", callId, attempt: intent.attempt + 1, effect }, journal, parts);
    case "unknown":
      return effectless({ events: [outcomeUnknown(callId, open, { problem: result.problem, outside })] });
    case "done": {
      const text = `${command.name} had been done when goald was restarted; it was not repeated.`;
      const artifacts = files.map((file) => file.path);
      // Code expects the path of the file that the command wrote, as from its `run`.
      const value = artifacts.length === 1 && isNestedCall(callId) ? { value: artifacts[0] } : {};
      const observation = { status: "ok", text, source: "goald", artifacts, ...value } as const;
      const marked = withSources(observation, outside);
      const finished: NewEvent = {
        type: "command-finished",
        ...of,
        observation: marked,
        durationMs: 0,
        reconciled: true,
      };
      const written = addSources(plainSources(journal.state.received), outside);
      // The probe found what the call wrote before the crash, and nobody else's words.
      const own = files.map((file) => (file.operation === "found" ? { ...file, operation: "write" as const } : file));
      return effectless({ events: [finished], files: await markFiles(own, of, call.fileSources, written) });
    }
  }
}

/** Undefined when there is no such call or command any more. */
async function openCall(callId: string, journal: Journal, parts: CommandParts) {
  const { state } = journal;
  const open = openCommand(state, callId);
  const command = open && parts.commandsFor(state).get(open.call.name);
  if (!open || !command) return undefined;
  const args = (await restoreValue(open.call.args, journal.read)) as CallContext["args"];
  const { folder, openWorkspace, openOwnWorkspace, signal, subagents, clock } = parts;
  const services = {
    methods: openMethodSearch(state, parts),
    plan: openPlan(state),
    memories: openMemories(parts.agentId, state.trustedSeq, parts.history),
    tests: testsFor(callId, journal, parts),
    ...parts.services,
    ...(subagents ? { agents: openDirectory(state, subagents, clock) } : {}),
    ...cellsFor(callId, journal, parts),
  };
  const checks = hasChecks(state) ? state.checks : [];
  const agent = { id: parts.agentId, name: state.name, goals: state.goals, checks };
  return {
    open,
    of: { step: open.step, callId },
    command,
    args,
    callId,
    step: open.step,
    ...(open.script ? { script: open.script } : {}),
    agent,
    folder,
    openWorkspace,
    openOwnWorkspace,
    services,
    signal,
    fileSources: openFileSources(journal, parts.history),
  };
}

/** `nested`: absent while the command is prepared. */
function cellsFor(
  callId: string,
  journal: Journal,
  parts: CommandParts,
  nested?: RecordedNestedWork,
): Partial<Services> {
  const { cells } = parts;
  return cells ? { cells: openCells({ callId, journal, parts: { ...parts, cells }, nested }) } : {};
}

/** Loaded by the first check. */
function testsFor(callId: string, journal: Journal, parts: CommandParts): GoalTests {
  const { agentId, clock, cells } = parts;
  let count = 0;
  const nextVersion = (): string => {
    count += 1;
    return `${callId}#${openCommand(journal.state, callId)?.intent?.attempt ?? 1} test ${count}`;
  };
  const of = { agentId, clock, nextVersion, cells, statuses: parts.services.statuses };
  return {
    run: async (...given) => (await import("./goal-tests.ts")).openGoalTests(of).run(...given),
  };
}

/** The command was switched off, or no longer exists, although the call was approved. */
function notThere(callId: string, { state }: Journal, { commandsFor }: CommandParts): Outcome {
  const open = openCommand(state, callId);
  const [text = ""] = commandsFor(state).checkArguments(open?.call.name ?? callId, {});
  const marked = withSources(fail("no-such-command", text), open ? sourcesOfInterrupted(open) : []);
  const of = { step: (open ?? state).step, callId };
  return { events: [{ type: "command-finished", ...of, observation: marked, durationMs: 0 }] };
}

interface RunningCall extends NonNullable<Awaited<ReturnType<typeof openCall>>> {
  readonly nested: RecordedNestedWork;
  readonly downloads: DownloadMeter;
  readonly purchases: Purchases | undefined;
}

async function finishCall(
  call: RunningCall,
  prepared: unknown,
  journal: Journal,
  parts: CommandParts,
): Promise<Outcome> {
  const { of, purchases } = call;
  const startedAt = parts.clock.now();
  const execution = await runCall(call, prepared);
  call.nested.end();
  const durationMs = Math.max(0, parts.clock.now().getTime() - startedAt.getTime());
  const { result } = execution;
  const spent = purchases?.spent();
  const paid = spent ? { spent } : {};
  const outside = addSources(plainSources(journal.state.received), execution.outside);
  const files = await markFiles(execution.files, of, call.fileSources, outside);
  const finished = (observation: Observation, more: Partial<Outcome> = {}): Outcome => {
    const { observation: kept, ...closes } = settleResult(observation, call.command, of.callId, journal.state);
    // The answer of a sub-task is the model's, and may hold all that the agent has received.
    const isAnswer = closes.closesTurn === true && frameOwning(journal.state, of.callId)?.kind === "run";
    const marked = isAnswer ? { ...kept, ...outsideOf(outside) } : withSources(kept, execution.outside);
    const event: NewEvent = {
      type: "command-finished",
      ...of,
      durationMs,
      ...paid,
      ...call.downloads.counted(),
      observation: marked,
      ...closes,
    };
    return { files, ...more, events: [...(more.events ?? []), event] };
  };
  const { events: noted, writes } = toEvents(execution.staged, of, outside);
  const granted = await grantRequests(writes, execution.outside, journal.state, of, parts.subagents);
  if ("refused" in granted) return finished(granted.refused);
  const events = [...noted, ...granted.events];
  const staged = granted.staged.map((write) => markStaged(write, outside, parts.agentId));
  const receivers = staged.flatMap((write) => (write.kind === "send" ? [write.to] : []));
  const known = await Promise.all(receivers.map(parts.knowsAgent));
  const strangers = receivers.filter((_name, index) => !known[index]);
  if (strangers.length > 0) {
    const text = `${call.command.name} wrote to ${strangers.join(", ")}, and there is no such agent. Nothing of it was sent or kept.`;
    return finished(fail("no-such-agent", text));
  }
  const refused = await refuseMemories(staged, parts.agentId, parts.history);
  if (refused !== undefined) return finished(fail("memory", refused));
  if (result.status !== "waiting")
    return finished(await remarkOnAction(result, of.callId, journal, parts), { events, staged });
  const { waitFor, until } = result;
  const waiting: NewEvent = {
    type: "command-waiting",
    ...of,
    waitFor,
    until,
    ...paid,
    ...outsideOf(execution.outside),
  };
  return { events: [...events, waiting], files, staged };
}

/** Namespaces and found methods are events of the agent's own log. A namespace holds words of the agent: it carries what that has received. */
function toEvents(staged: readonly CommandWrite[], of: OfCall, outside: readonly OutsideSource[]) {
  const writes: CommandWrite[] = [];
  const events: NewEvent[] = [];
  for (const write of staged) {
    const { kind, ...fields } = write;
    if (kind === "namespace")
      events.push({
        type: "namespace-saved",
        ...of,
        ...(fields as Omit<NamespaceWrite, "kind">),
        ...outsideOf(outside),
      });
    else if (kind === "methods-found") events.push({ type: "methods-found", ...of, names: write.names });
    else if (kind === "task-added")
      events.push({ type: kind, ...of, parent: write.parent, task: write.task, by: "agent" });
    else if (kind === "task-changed") events.push({ type: kind, ...of, id: write.id, state: write.state, by: "agent" });
    else if (kind === "goals-checked") events.push({ type: kind, ...of, results: write.results });
    else writes.push(write);
  }
  return { events, writes };
}

/**
 * Returns what the result of a call means for its frame: whether it ends a turn or a sub-task, and what is kept of it.
 * A value is kept where code reads it: of a nested call, and of what ends a sub-task. A cell ends its sub-task with
 * `stop(value)`, and in code form with any value; the value must be one that the sub-task's schema allows.
 */
function settleResult(
  observation: Observation,
  command: { readonly name: string; readonly closesTurn?: boolean },
  callId: string,
  state: AgentState,
): { readonly observation: Observation; readonly closesTurn?: true } {
  const { value, asksToEnd, ...plain } = observation;
  const frame = frameOwning(state, callId);
  const closes = command.closesTurn === true && plain.status === "ok" ? { closesTurn: true as const } : {};
  if (frame?.kind === "call") return { observation: value === undefined ? plain : { ...plain, value }, ...closes };
  if (frame?.kind !== "run" || !frame.origin)
    return { observation: asksToEnd ? { ...plain, asksToEnd } : plain, ...closes };
  const isResult = asksToEnd === true || (formOfFrame(state) === "code" && value !== undefined);
  if (!isCellCommand(command.name) || plain.status !== "ok" || !isResult) return { observation: plain, ...closes };
  const result = value ?? null;
  const problems = checkResult(frame.origin.returns, result);
  if (problems.length === 0) return { observation: { ...plain, value: result }, closesTurn: true };
  const reason = `The value of the code is not the result that this task asks for. ${problems.join(" ")}`;
  const text = `${headOf(plain.text)}\n${reason}`.trimStart();
  return { observation: { ...plain, status: "failed", code: BAD_RESULT, text } };
}

/** A prepared value comes back as it is, so it cannot be scrubbed: what holds a secret is not stored and not run. */
function refuseSecrets(looked: Prepared, name: string, scrub: Journal["scrub"]): Prepared {
  if ("refused" in looked || !holdsSecret(looked.prepared, scrub)) return looked;
  const text =
    `${name} was not run: what it read to prepare itself holds a secret of the settings (a key or a password), which is never stored. ` +
    "Leave that out, or use another command.";
  return { refused: fail("secret-prepared", text) };
}

/** True when a string or a name in the value holds a known secret. */
function holdsSecret(value: unknown, scrub: Journal["scrub"]): boolean {
  if (typeof value === "string") return scrub(value) !== value;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, item]) => holdsSecret(name, scrub) || holdsSecret(item, scrub));
}
