/** new-command.ts -- `goald commands NAME --new`: writes a command that works without changes, and its test. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { loadRegistryOf } from "#app/catalogue.ts";
import { COMMAND_NAME } from "#commands/validate.ts";
import { createFile } from "#config/make-home.ts";
import { openFolder } from "#config/open-home.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { ROOT_FOLDER } from "../../shipped.ts";
import { formatCall, type GlobalOptions, openContext } from "./context.ts";
import { quoteForShell } from "./own-calls.ts";

export async function newCommand(name: string, options: GlobalOptions): Promise<number> {
  if (!COMMAND_NAME.test(name))
    throw new GoaldError(
      "GOALD_USAGE",
      `Expected a name of lower-case letters, digits and underscores that begins with a letter, got ${JSON.stringify(name)}.`,
      { hint: "Such as: goald commands count_words --new" },
    );
  const { home, output } = await openContext({ ...options, revives: false });
  try {
    const isShipped = (await loadRegistryOf(home, {})).fileOf(name) !== undefined;
    await openFolder(home.commandsFolder, home);
    const file = join(home.commandsFolder, `${name}.ts`);
    const test = join(home.commandsFolder, `${name}.test.ts`);
    if (!(await createFile(file, await skeleton("command.ts.txt", name), 0o644))) throw taken(file);
    if (!(await createFile(test, await skeleton("command.test.ts.txt", name), 0o644))) {
      await rm(file);
      throw taken(test);
    }
    if (output.json) output.data(JSON.stringify({ name, file, test, replacesShipped: isShipped }));
    else
      for (const line of [
        `Your command: ${file}`,
        `Its test:     ${test}`,
        ...(isShipped ? [`It replaces goald's own ${name} in this home.`] : []),
        "It counts words and works as it is. Next:",
        `  node --test ${quoteForShell(test)}`,
        `  ${formatCall(home, "commands", name)}`,
        `  ${formatCall(home, "reload")}    (when the daemon is running)`,
      ])
        output.say(clean(line));
    return EXIT.ok;
  } finally {
    output.close();
  }
}

const skeleton = async (shipped: string, name: string): Promise<string> =>
  (await readFile(join(ROOT_FOLDER, "config", "skeletons", shipped), "utf8")).replaceAll("{{name}}", name);

const taken = (path: string): GoaldError =>
  new GoaldError("GOALD_CONFLICT", `${path} exists already and was not changed.`, {
    hint: "Choose another name, or move the file away.",
  });
