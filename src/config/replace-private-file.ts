/**
 * replace-private-file.ts -- a file of a person's configuration, exchanged as a whole: the new text or
 * the old one after a crash, 0600 from its first byte, through a link to the file it names.
 */
import { open, realpath, rename, rm } from "node:fs/promises";

export async function replacePrivateFile(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const temporary = `${target}.${process.pid}.new`;
  await rm(temporary, { force: true });
  try {
    await writeNew(temporary, text);
    await rename(temporary, target);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
}

async function writeNew(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(text);
  await file.sync();
}
