/** why.ts -- `goald why`: explains why a file exists: goals, step, thoughts and sources. */
import { EXIT } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { describeFileStory } from "#views/file-story.ts";
import type { GlobalOptions } from "../shared/context.ts";
import { findFile } from "../shared/find-file.ts";
import { reading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
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
  return reading(options, async (reading, { output, redact, home }) => {
    const found = await findFile(file, path, reading, home);
    const story = await reading.fileStory(found.agent, found.path);
    output.data(redact(output.json ? JSON.stringify(story) : clean(describeFileStory(story))));
    return EXIT.ok;
  });
}
