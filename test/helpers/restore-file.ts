/** Restores a file's content from its history alone, as `FileChange` in ports/store.ts says. */
import type { FileVersion, Store } from "#core/ports/store.ts";

/** `versions` are those of one path, oldest first. Returns null for no file. Throws when the history is incomplete. */
export async function restoreFile(
  versions: readonly FileVersion[],
  store: Pick<Store, "blob">,
): Promise<Uint8Array | null> {
  let content: Uint8Array | null = null;
  for (const { operation, bytes, sha256 } of versions) {
    if (operation === "delete") content = null;
    else {
      const piece = await store.blob(sha256 ?? "");
      if (!piece) throw new Error(`Expected the blob ${sha256}, found none.`);
      const base: Uint8Array =
        operation === "append" && bytes > piece.length ? (content ?? new Uint8Array()) : new Uint8Array();
      content = Buffer.concat([base, piece]);
      if (content.length !== bytes) throw new Error(`Expected ${bytes} bytes, the history holds ${content.length}.`);
    }
  }
  return content;
}
