/** loaded-memories.ts -- the memories in main memory, in the order of their last use, and which of them running agents use. */
import type { AgentMemory } from "./find-recalls.ts";

export class LoadedMemories {
  /** By namespace, the last used one last. */
  readonly #memories = new Map<string, AgentMemory>();
  /** The namespaces that each running agent recalls from. */
  readonly #used = new Map<string, readonly string[]>();

  get(namespace: string): AgentMemory | undefined {
    return this.#memories.get(namespace);
  }

  /** Adds the memory, or marks it as the last used one. */
  put(namespace: string, memory: AgentMemory): void {
    this.#memories.delete(namespace);
    this.#memories.set(namespace, memory);
  }

  delete(namespace: string): void {
    this.#memories.delete(namespace);
  }

  /** The least recently used one first. */
  namespaces(): readonly string[] {
    return [...this.#memories.keys()];
  }

  values(): Iterable<AgentMemory> {
    return this.#memories.values();
  }

  /** Estimated main memory of all. */
  get bytes(): number {
    let bytes = 0;
    for (const { rows, vectors } of this.#memories.values()) bytes += rows.bytes + vectors.bytes;
    return bytes;
  }

  startUse(agent: string, namespaces: readonly string[]): void {
    this.#used.set(agent, namespaces);
  }

  endUse(agent: string): void {
    this.#used.delete(agent);
  }

  isUsed(namespace: string): boolean {
    return this.#used.values().some((namespaces) => namespaces.includes(namespace));
  }
}
