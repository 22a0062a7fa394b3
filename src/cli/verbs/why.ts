/** why.ts -- `goald why`: explains why a file exists: goals, step, thoughts and sources. */
import { EXIT } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { describeFileStory } from "#views/file-story-text.ts";
import type { GlobalOptions } from "../shared/context.ts";
import { findFile } from "../shared/find-file.ts";
import { reading } from "../shared/reading.ts";

export async function why(file: string, path: string | undefined, options: GlobalOptions): Promise<number> {
  return reading(options, async (reading, { output, redact, home }) => {
    const found = await findFile(file, path, reading, home);
    const story = await reading.fileStory(found.agent, found.path);
    output.data(redact(output.json ? JSON.stringify(story) : clean(describeFileStory(story))));
    return EXIT.ok;
  });
}
