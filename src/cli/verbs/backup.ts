/** backup.ts -- `goald backup`: writes a verified copy of the store, also while agents run. */
import { backUpHome } from "#app/own-store.ts";
import { EXIT } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { flag } from "../option.ts";
import { formatCall, type GlobalOptions, openContext } from "../shared/context.ts";
import { quoteForShell } from "../shared/own-calls.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  description:
    "write a verified copy of the store: events, memories, messages and all versions of files that commands wrote; agents may run meanwhile",
  examples: ["goald backup goald-backup.db", "goald backup goald-backup.db --force"],
  arguments: [{ name: "<file>", about: "file to write, readable by its owner only" }],
  options: { force: flag("--force", "replace the file if it exists") },
  exitCodes: {
    error: "the store is damaged, or the file cannot be written",
    notFound: "this home has no store yet",
    conflict: "the file exists",
  },
  run: ([file = ""], options) => backUp(file, options),
});

async function backUp(name: string, options: GlobalOptions & { readonly force?: boolean }): Promise<number> {
  const { home, output } = await openContext(options);
  try {
    const { file, agents, events, bytes } = await backUpHome(home, name, options.force === true);
    if (output.json) output.data(JSON.stringify({ file, agents, events, bytes }));
    else {
      const size = `${countNoun(agents, "agent")}, ${countNoun(events, "event")}, ${countNoun(bytes, "byte")}`;
      output.say(clean(`Wrote ${file}: ${size}, verified.`));
      output.say(
        "It has the events, memories and messages, and every version of a file that a command of goald wrote.",
      );
      output.say(
        clean(`It does not have ${home.root}/workspace, settings, keys, own commands, prompts, recordings or logs.`),
      );
      const [store, copy] = [quoteForShell(home.database), quoteForShell(file)];
      const [down, verify] = [formatCall(home, "down"), formatCall(home, "verify")];
      output.say(clean(`Restore it: ${down} && rm -f ${store}-* && cp ${copy} ${store} && ${verify}`));
    }
    return EXIT.ok;
  } finally {
    output.close();
  }
}
