/** why.ts -- `goald why`: why a file is there: goals, step, thoughts, and what it rests on. */
import { EXIT, GoaldError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { tellFile } from "#views/file-story.ts";
import { describeFileStory, type FileStory } from "#views/file-story-text.ts";
import { loadWholeCatalogue } from "../main-catalogue.ts";
import { findFile } from "./find-file.ts";
import type { GlobalOptions } from "./house.ts";
import { allEvents, folderOf, reading } from "./reading.ts";

export async function why(file: string, path: string | undefined, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, house) => {
    const found = await findFile(file, path, reader, house);
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
    const { readReply } = await loadWholeCatalogue(house.home);
    const told = await tellFile(row.id, versions, allEvents(reader, row.id));
    const story: FileStory = {
      agent: row.id,
      name: row.name,
      path: found.path,
      workspace: folderOf(house, row),
      versions: await Promise.all(
        told.map(async (version) => {
          const { reply, finishReason } = version;
          const bytes = typeof reply === "object" && reply !== null ? await reader.blob(reply.blob) : undefined;
          const text = bytes ? Buffer.from(bytes).toString("utf8") : reply;
          return { ...version, thoughts: typeof text === "string" ? readReply(text, finishReason).thoughts : null };
        }),
      ),
    };
    if (house.talk.json) house.talk.data(house.redact(JSON.stringify(withoutReplies(story))));
    else house.talk.data(house.redact(clean(describeFileStory(story))));
    return EXIT.ok;
  });
}

/** `goald show --step` has them in full. */
const withoutReplies = ({ versions, ...story }: FileStory): object => ({
  ...story,
  versions: versions.map(({ reply: _reply, finishReason: _finishReason, ...version }) => version),
});
