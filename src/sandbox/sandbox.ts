/**
 * sandbox.ts -- the sandbox of this machine: cells run in processes of goald's cage, one for each agent.
 *
 * Nothing is searched, loaded or started before it is needed.
 */
import type { Cage } from "#cage/cage.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import type { Namespaces } from "./namespaces.ts";

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

export function createSandbox(options: SandboxOptions): Sandbox {
  let namespaces: Namespaces | undefined;
  let isClosed = false;

  async function openNamespaces(): Promise<Namespaces> {
    const { Namespaces: Loaded } = await import("./namespaces.ts");
    namespaces ??= new Loaded({
      ...{ maxProcesses: MAX_PROCESSES, memoryMegabytes: MEMORY_MEGABYTES, idleMs: IDLE_MS },
      ...options,
    });
    if (isClosed) await namespaces.close();
    return namespaces;
  }

  return {
    async find() {
      const { level, reason } = await options.findCage();
      return { level: level === "strict" ? level : "degraded", reason };
    },
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
