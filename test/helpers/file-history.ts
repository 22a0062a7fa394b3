/** file-history.ts -- builds a file history as the store has it, from a list of changes. */
import { createHash } from "node:crypto";
import type { FileVersion } from "#core/ports/store.ts";
import { AT } from "./events.ts";

export type Change = readonly [
  step: number,
  path: string,
  operation: FileVersion["operation"],
  content: string | Uint8Array,
  callId?: string,
];

export function historyOf(changes: readonly Change[]): {
  readonly versions: readonly FileVersion[];
  readonly store: { blob(sha256: string): Promise<Uint8Array | undefined> };
} {
  const blobs = new Map<string, Uint8Array>();
  const sizes = new Map<string, number>();
  const versions = changes.map(([step, path, operation, content, callId = `c${step}`], index): FileVersion => {
    const at = new Date(Date.parse(AT) + index * 1_000).toISOString();
    const of = { path, operation, step, callId, at };
    if (operation === "delete") {
      sizes.delete(path);
      return { ...of, bytes: 0, sha256: null };
    }
    const piece = Buffer.from(content);
    const sha256 = createHash("sha256").update(piece).digest("hex");
    blobs.set(sha256, piece);
    const bytes = piece.length + (operation === "append" ? (sizes.get(path) ?? 0) : 0);
    sizes.set(path, bytes);
    return { ...of, bytes, sha256 };
  });
  return { versions, store: { blob: async (sha256) => blobs.get(sha256) } };
}
