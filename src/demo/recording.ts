/** recording.ts -- the recorded agent of the demo: who it is, what lies in its folder, what its model said. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RecordedReply } from "./replay-server.ts";

export interface Recording {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  readonly replies: readonly RecordedReply[];
  /** Files that lie in the agent's folder before it starts. */
  readonly files: readonly { readonly path: string; readonly content: string }[];
}

/** Reads `recording.json` and `reviews/` below `folder`. */
export async function readRecording(folder: string): Promise<Recording> {
  const recording = JSON.parse(await readFile(join(folder, "recording.json"), "utf8")) as Omit<Recording, "files">;
  const names = (await readdir(join(folder, "reviews"))).sort();
  const files = await Promise.all(
    names.map(async (name) => ({
      path: `reviews/${name}`,
      content: await readFile(join(folder, "reviews", name), "utf8"),
    })),
  );
  return { ...recording, files };
}
