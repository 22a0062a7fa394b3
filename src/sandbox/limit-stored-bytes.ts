/** limit-stored-bytes.ts -- limits what Python keeps in files: they are in the memory of the process, outside of Python's own. */
import { MEBIBYTE } from "#util/mebibyte.ts";
import { MAX_FILE_BYTES } from "./protocol.ts";
import type { Fs, FsNode } from "./pyodide.ts";

const MAX_STORED_BYTES = 192 * MEBIBYTE;
/** All files are counted when they have grown by this much. */
const COUNT_EVERY_BYTES = 8 * MEBIBYTE;

/** Also for files that are made later. */
export function limitStoredBytes(FS: Fs, errors: Readonly<Record<string, number>>): void {
  const { file } = FS.filesystems.MEMFS.ops_table;
  const { write } = file.stream;
  const { setattr } = file.node;
  let [stored, grown] = [countBytes(FS), 0];
  const grow = (node: FsNode, size: number): void => {
    if (size > MAX_FILE_BYTES) throw new FS.ErrnoError(errors.EFBIG ?? 0);
    const more = size - (node.contents as Uint8Array).byteLength;
    if (more <= 0) return;
    grown += more;
    if (grown > COUNT_EVERY_BYTES || stored + grown > MAX_STORED_BYTES) [stored, grown] = [countBytes(FS) + more, 0];
    if (stored + grown > MAX_STORED_BYTES) throw new FS.ErrnoError(errors.ENOSPC ?? 0);
  };
  file.stream.write = (stream, buffer, offset, length, position, canOwn) => {
    grow(stream.node, position + length);
    return write(stream, buffer, offset, length, position, canOwn);
  };
  file.node.setattr = (node, attributes) => {
    if (attributes.size !== undefined) grow(node, attributes.size);
    setattr(node, attributes);
  };
}

/** Removed files count as long as they are open. */
function countBytes(FS: Fs): number {
  const nodes = new Set<FsNode>();
  for (const first of FS.nameTable) for (let node = first; node; node = node.name_next) nodes.add(node);
  for (const stream of FS.streams) if (stream) nodes.add(stream.node);
  let sum = 0;
  for (const { contents } of nodes) if (ArrayBuffer.isView(contents)) sum += contents.byteLength;
  return sum;
}
