/** trust-file.ts -- the row of the file history that says that a person trusts the words of a path. Pure. */
import type { CommittedFile, FileVersion, InboxMessage } from "#core/ports/store.ts";

/** `last`: the newest version of the path; undefined for a file in a placed folder. Undefined for a deleted file. */
export function trustRow(
  path: string,
  last: Pick<FileVersion, "operation" | "bytes" | "sha256"> | undefined,
  step: number,
): CommittedFile | undefined {
  if (last?.operation === "delete") return undefined;
  const { bytes, sha256 } = last ?? { bytes: 0, sha256: null };
  return { path, operation: "trust", bytes, sha256, content: null, step, callId: "" };
}

/** The path whose words the message trusts; undefined for any other message. */
export const trustedPath = (message: InboxMessage): string | undefined =>
  message.type === "trust" && message.what === "file" ? message.path : undefined;
