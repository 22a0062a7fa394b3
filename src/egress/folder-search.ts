/**
 * folder-search.ts -- looks for an address or a number in the files of an agent's folder, literally.
 *
 * Reads all files up to a limit. Files of sub-agents are not searched for addresses, because the sub-agents wrote them.
 */
import type { Workspace } from "#core/ports/workspace.ts";
import { AGENTS_FOLDER } from "#core/subagent.ts";
import type { EgressFolder } from "./egress.ts";
import { addressKey, listAddresses, listNumbers } from "./text-keys.ts";

const MAX_FILES = 2_000;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Reading and searching this takes about 0.2 s. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Finds the writer of the newest version of a file. `web`: a command that fetched it, or a clone; `agent`: any other call. */
export type FindWriter = (path: string) => Promise<"person" | "web" | "agent">;

export function searchFolder(workspace: Pick<Workspace, "list" | "read">, writerOf: FindWriter): EgressFolder {
  async function* texts(): AsyncIterable<{ readonly path: string; readonly text: string }> {
    let files = 0;
    let bytes = 0;
    for await (const file of workspace.list("")) {
      // goald's own files hold the texts of earlier calls.
      if (file.bytes > MAX_FILE_BYTES || file.path.startsWith("_goald/")) continue;
      files += 1;
      bytes += file.bytes;
      if (files > MAX_FILES || bytes > MAX_BYTES) return;
      const content = await workspace.read(file.path).catch(() => undefined);
      if (content) yield { path: file.path, text: Buffer.from(content).toString("utf8") };
    }
  }
  return {
    findNumber: async (numbers) => {
      for await (const { path, text } of texts()) {
        const held = listNumbers(text);
        const found = [...numbers].find((number) => held.some((one) => one.includes(number)));
        if (found !== undefined && (await writerOf(path)) !== "web") return { file: path, text: found };
      }
      return undefined;
    },
    hasAddress: async (url) => {
      const key = addressKey(url);
      const host = url.hostname.replace(/^www\./, "");
      for await (const { path, text } of texts()) {
        if (path.startsWith(`${AGENTS_FOLDER}/`) || !text.toLowerCase().includes(host)) continue;
        const isHeld = listAddresses(text).some((one) => one === key);
        if (isHeld && (await writerOf(path)) !== "agent") return true;
      }
      return false;
    },
  };
}
