/**
 * sandbox.ts -- sets up the sandbox of a host: whether code may run, at which level, and how a call of it is judged.
 */
import { join } from "node:path";
import type { DaemonStatus } from "#api/schemas.ts";
import type { Cage } from "#cage/cage.ts";
import { findCage } from "#cage/find-cage.ts";
import type { Tape } from "#cassette/tape.ts";
import type { Registry, ServiceStates } from "#commands/registry.ts";
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import { INSTALL_SANDBOX, isCellCommand } from "#core/command.ts";
import { runsChecks, runsUnapproved } from "#core/goal-check.ts";
import type { Sandbox, SandboxFinding } from "#core/ports/sandbox.ts";
import type { ServiceState } from "#core/services.ts";
import type { PerformParts } from "#loop/ask-model.ts";
import type { CellParts } from "#loop/cells.ts";
import type { CheckOutgoing } from "#loop/journal.ts";
import type { Namespaces } from "#sandbox/namespaces.ts";
import { hasPyodide } from "#sandbox/python-files.ts";
import { isRecord, parseJson } from "#util/json.ts";

/** The level is found before the first call of code is judged, since finding it takes 0.1 s. */
export interface SandboxLevel {
  finding: SandboxFinding | null;
}

/** Whether code can run, as far as the settings and the packages tell. */
export function cellsState({ sandbox }: Pick<Settings, "sandbox">): ServiceState {
  if (sandbox.isolation === "off")
    return { ready: false, toDo: "Set GOALD_SANDBOX_ISOLATION to best-effort or required: the sandbox is off." };
  return hasPyodide() ? { ready: true } : { ready: false, toDo: INSTALL_SANDBOX };
}

/** With `required`, code runs only in a strict cage. */
export async function requireLevel(
  services: ServiceStates,
  { sandbox }: Pick<Settings, "sandbox">,
): Promise<ServiceStates> {
  if (sandbox.isolation !== "required" || !services.cells?.ready) return services;
  const { level, reason, advice } = await findCage();
  if (level === "strict") return services;
  const toDo = `${advice} The setting sandbox.isolation is required: ${reason}`;
  return { ...services, cells: { ready: false, toDo } };
}

export async function findSandboxLevel(find: () => Promise<Cage> = findCage): Promise<SandboxFinding> {
  const { level, reason } = await find();
  return { level: level === "strict" ? level : "degraded", reason };
}

/** Describes the sandbox for people. `finding`: null until the machine was checked. */
export function describeSandbox(
  state: ServiceState | undefined,
  finding: SandboxFinding | null,
): DaemonStatus["sandbox"] {
  if (!state?.ready) return { ready: false, level: null, reason: state?.toDo ?? INSTALL_SANDBOX };
  return { ready: true, level: finding?.level ?? null, reason: finding?.reason ?? "" };
}

/** Returns one line for people, such as `strict`. */
export function sandboxInWords({ ready, level, reason }: DaemonStatus["sandbox"]): string {
  if (!ready) return `not ready. ${reason}`;
  const asks = level === "degraded" ? "; goald asks before code runs, unless an agent never asks" : "";
  return `${level ?? "not looked for yet"}${asks}`;
}

/** The sandbox of a home; it starts its first process when a cell runs. */
export const openSandbox = ({ privateFolder }: Pick<Home, "privateFolder">): Sandbox =>
  createSandbox({ findCage, cacheFolder: join(privateFolder, "sandbox") });

/**
 * The same commands; those that run code are judged by the level. Without a strict cage, goald's own checks are no wall against
 * an attacker, so a person is asked. An unknown level counts as such.
 */
export function judgeByLevel(registry: Registry, level: SandboxLevel): Registry {
  const runsCells = ({ needs, isInternal }: Registry["all"][number]): boolean =>
    needs.includes("cells") && isInternal !== true;
  const hasCells = registry.all.some(runsCells);
  const judged = registry.all.map((command) => {
    if (!runsCells(command) && !(hasCells && runsChecks(command))) return command;
    const isStrict = (): boolean => level.finding?.level === "strict";
    return Object.defineProperties(
      { ...command },
      {
        annotations: {
          enumerable: true,
          get: () => (isStrict() ? command.annotations : { ...command.annotations, restorable: false }),
        },
        risk: { enumerable: true, get: () => (isStrict() ? undefined : describeRisk(level.finding)) },
      },
    ) as typeof command;
  });
  const byName = new Map(judged.map((command) => [command.name, command]));
  return { ...registry, all: judged, get: (name) => byName.get(name) };
}

const describeRisk = (finding: SandboxFinding | null): string =>
  `It runs code that only goald's own checks hold. ${finding?.reason ?? ""}`.trim();

/** A cell that computes longer than a minute has most likely no end. Calls of commands and sub-tasks do not count. */
const CELL_MS = 60_000;

export interface CellsHost {
  readonly settings: Settings;
  readonly services: ServiceStates;
  readonly level: SandboxLevel;
  /** Runs cells of code; created at the first call. */
  sandbox(): Sandbox;
}

/** Returns the parts that an agent's cells need. The level is found when the first call of code is requested. */
export function cellPartsOf(
  host: CellsHost,
  tape: Tape | undefined,
  { checkOutgoing, onPrinted }: { checkOutgoing: CheckOutgoing | undefined } & Pick<CellParts, "onPrinted">,
): { readonly checkOutgoing?: CheckOutgoing } & Pick<PerformParts, "cells"> {
  if (!host.services.cells?.ready) return checkOutgoing ? { checkOutgoing } : {};
  const sandbox = tape ? tape.sandbox(() => host.sandbox()) : host.sandbox();
  const { imports } = host.settings.sandbox;
  return {
    checkOutgoing: async (calls, journal) => {
      const runsCode = calls.some((call) => isCellCommand(call.name) || runsUnapproved(call, journal.state));
      if (runsCode) host.level.finding = await sandbox.find();
      return (await checkOutgoing?.(calls, journal)) ?? [];
    },
    cells: {
      sandbox,
      timeLimitMs: CELL_MS,
      imports,
      location: readLocation(host.settings.sandbox.location),
      onPrinted,
    },
  };
}

/** A JSON object as it is; any other text is the name of the place. */
function readLocation(location: string | null): Readonly<Record<string, unknown>> | null {
  if (location === null) return null;
  const value = parseJson(location);
  return isRecord(value) ? value : { place: location };
}

export interface SandboxOptions {
  readonly findCage: () => Promise<Cage>;
  /** Folder of Python's start-up snapshot. */
  readonly cacheFolder: string;
  /** Default: 4. A cell that runs alone inside a wait of the same agent's cell may exceed it. */
  readonly maxProcesses?: number;
  /** Memory that code may use. Default: 512. */
  readonly memoryMegabytes?: number;
  /** Time without a cell after which a process ends. Its namespace is saved. Default: 5 minutes. */
  readonly idleMs?: number;
}

const MAX_PROCESSES = 4;
const MEMORY_MEGABYTES = 512;
const IDLE_MS = 5 * 60_000;

/**
 * Creates the sandbox of this machine: cells run in processes of goald's cage, one for each agent. Nothing is searched,
 * loaded or started before it is needed.
 */
export function createSandbox(options: SandboxOptions): Sandbox {
  let namespaces: Namespaces | undefined;
  let isClosed = false;

  async function openNamespaces(): Promise<Namespaces> {
    const { Namespaces: Loaded } = await import("#sandbox/namespaces.ts");
    namespaces ??= new Loaded({
      maxProcesses: MAX_PROCESSES,
      memoryMegabytes: MEMORY_MEGABYTES,
      idleMs: IDLE_MS,
      ...options,
    });
    if (isClosed) await namespaces.close();
    return namespaces;
  }

  return {
    find: () => findSandboxLevel(options.findCage),
    async run(cell, host, signal) {
      signal.throwIfAborted();
      return (namespaces ?? (await openNamespaces())).run(cell, host, signal);
    },
    get isCrowded() {
      return namespaces?.isCrowded ?? false;
    },
    async close() {
      isClosed = true;
      await namespaces?.close();
    },
  };
}
