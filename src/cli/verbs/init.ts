/** init.ts -- `goald init`: creates a home, lists the created files, and records that the person trusts the home. */

import { readFile, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { printNote } from "#cli/terminal/print.ts";
import { type Home, isTrusted, recordTrust, trustRecordOf } from "#config/home.ts";
import { findUnignored, holdsHomeFiles, isBelowWorkspace, makeHome } from "#config/make-home.ts";
import { EXIT, GoaldError, toError } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { ROOT_FOLDER } from "../../shipped.ts";
import { findContext, formatCall } from "../context.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  description: "make a home: its folders, a .env to fill in, an example agent",
  examples: ["goald init", "goald init ~/agents"],
  arguments: [{ name: "[folder]", about: "folder (default: the home that goald would use)" }],
  run: async ([folder], options) => {
    if (folder !== undefined && options.home !== undefined)
      throw new GoaldError("GOALD_USAGE", "Expected one folder, got one as an argument and one with --home.");
    using context = await findContext({
      ...options,
      ...(folder === undefined ? {} : { home: folder }),
      judges: false,
    });
    const { home, output } = context;
    const isHidden = await isBelowWorkspace(home.root);
    const wasStrange = home.chosenBy !== "default" && (await holdsHomeFiles(home));
    const example = await readFile(join(ROOT_FOLDER, "config", "example-agent.yaml"), "utf8");
    const { made, kept } = await makeHome(home, example, process.getuid?.());
    const notes = await trust(home, wasStrange);
    if (isHidden)
      notes.push(`goald does not find homes below a folder called workspace by itself. Name this one with --home.`);
    const open = await findUnignored(home);
    if (open.length > 0)
      notes.push(`Keep keys out of repositories: add ${open.join(" and ")} to ${join(home.root, ".gitignore")}.`);
    if (!output.printJson({ home: home.root, chosenBy: home.chosenBy, made, kept })) {
      output.say(clean(`${made.length > 0 ? "Made a home" : "This folder is a home already"}: ${home.root}`));
      if (made.length > 0) output.say(`  made:  ${made.join("  ")}`);
      if (kept.length > 0) output.say(`  kept:  ${kept.join("  ")}`);
      output.say(clean(nextSteps(home)));
    }
    for (const note of notes) printNote(note);
    return EXIT.ok;
  },
});

function nextSteps(home: Home): string {
  return [
    `If no model server is set, put your OPENAI_API_KEY into ${home.envFile}, or set the address of your own server. Then run an agent:`,
    `  ${formatCall(home, "config", "openai.baseUrl", "http://127.0.0.1:11434/v1")}`,
    `  ${formatCall(home, "run", "--from", JSON.stringify(join(home.configFolder, "example-agent.yaml")))}`,
  ].join("\n");
}

/**
 * Records the home as trusted, so that goald uses it from inside without asking. A folder that had commands or keys
 * before is not recorded: goald asks about it later. Resolves to notes for the person.
 */
async function trust(home: Home, wasStrange: boolean): Promise<string[]> {
  if (home.chosenBy === "checkout" || home.chosenBy === "found") return [];
  const record = trustRecordOf({ configHome: process.env.XDG_CONFIG_HOME, userHome: homedir() });
  const uid = process.getuid?.();
  const root = await realpath(home.root);
  if (await isTrusted(record, root, uid)) return [];
  if (wasStrange)
    return [
      "This folder held commands, settings or .goald before. Without --home, goald asks once on a terminal before it uses it.",
    ];
  try {
    await recordTrust(record, root, uid);
    return [];
  } catch (thrown) {
    return [toError(thrown).message, "Until then, name the home with --home."];
  }
}
