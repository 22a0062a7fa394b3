/** why.ts -- `goald why`: why a file is there: goals, step, thoughts, and what it rests on. */

import { loadWholeCatalogue } from "#app/catalogue.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { tellFile } from "#views/file-story.ts";
import { describeFileStory, type FileStory } from "#views/file-story-text.ts";
import type { GlobalOptions } from "../shared/context.ts";
import { findFile } from "../shared/find-file.ts";
import { allEvents, folderOf, reading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "why",
  group: "Files of agents",
  summary: "explain why a file exists",
  description: "explain why a file exists: goals, step, thoughts and sources",
  examples: ["goald why foo/notes.md", "goald why foo notes.md", "goald why ./workspace/foo/notes.md"],
  arguments: [
    { name: "<file>", about: "agent/path, an agent's id or name, or a path on this disk" },
    { name: "[path]", about: "path of the file, after an agent's id or name" },
  ],
  exitCodes: { notFound: "no such agent or file" },
  run: ([file = "", path], options) => why(file, path, options),
});

export async function why(file: string, path: string | undefined, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, context) => {
    const found = await findFile(file, path, reader, context);
    const { row } = found;
    const versions = (await reader.files(row.id)).filter((version) => version.path === found.path);
    if (versions.length === 0)
      throw new GoaldError(
        "GOALD_NOT_FOUND",
        `Expected a file that ${row.id} wrote, got ${JSON.stringify(found.path)}.`,
        {
          hint: `If it is there, somebody else put it there. What ${row.id} wrote: goald files ${row.id}`,
        },
      );
    const { readReply } = await loadWholeCatalogue(context.home);
    const told = await tellFile(row.id, versions, allEvents(reader, row.id));
    const story: FileStory = {
      agent: row.id,
      name: row.name,
      path: found.path,
      workspace: folderOf(context, row),
      versions: await Promise.all(
        told.map(async (version) => {
          const { reply, finishReason } = version;
          const bytes = typeof reply === "object" && reply !== null ? await reader.blob(reply.blob) : undefined;
          const text = bytes ? Buffer.from(bytes).toString("utf8") : reply;
          return { ...version, thoughts: typeof text === "string" ? readReply(text, finishReason).thoughts : null };
        }),
      ),
    };
    if (context.output.json) context.output.data(context.redact(JSON.stringify(withoutReplies(story))));
    else context.output.data(context.redact(clean(describeFileStory(story))));
    return EXIT.ok;
  });
}

/** `goald show --step` has them in full. */
const withoutReplies = ({ versions, ...story }: FileStory): object => ({
  ...story,
  versions: versions.map(({ reply: _reply, finishReason: _finishReason, ...version }) => version),
});
