/** commands.ts -- `goald commands`: lists the commands of agents in this home, and the settings that are missing. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { findServiceStates, loadModulesOf, loadRegistryOf } from "#app/catalogue.ts";
import { findSandboxLevel, judgeByLevel } from "#app/sandbox.ts";
import { renderTable } from "#cli/terminal/print.ts";
import {
  AFTER_CRASH,
  type CommandLine,
  describeCommand,
  listCommands,
  listMethods,
  type MethodLine,
} from "#commands/describe.ts";
import { COMMAND_NAME } from "#commands/validate.ts";
import { createFile } from "#config/make-home.ts";
import { openFolder } from "#config/open-home.ts";
import { conflict, EXIT, GoaldError } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { ROOT_FOLDER } from "../../shipped.ts";
import { formatCall, type GlobalOptions, openContext, printValue } from "../context.ts";
import { defineVerb, flag } from "../verb.ts";
import { quoteForShell } from "../verb-list.ts";

export const verb = defineVerb({
  description: "list the commands of agents: state, arguments, effect, risk, and which settings are missing",
  examples: ["goald commands", "goald commands google", "goald commands count_words --new", "goald commands --json"],
  arguments: [{ name: "[name]", about: "show this command in full" }],
  options: { new: flag("--new", "create it for your agents: a file that works as it is, and its test") },
  exitCodes: { notFound: "no such command", conflict: "a file of that name is there" },
  run: async ([name], { new: isNew, ...options }) =>
    isNew ? newCommand(name ?? "", options) : commands(name, options),
});

async function commands(name: string | undefined, options: GlobalOptions): Promise<number> {
  using context = await openContext({ ...options, revives: false });
  const { home, settings, output } = context;
  const services = await findServiceStates(settings);
  const finding = services.cells?.ready ? await findSandboxLevel() : null;
  const registry = judgeByLevel(await loadRegistryOf(home, services), { finding });
  const lines = listCommands(registry, join(ROOT_FOLDER, "commands"));
  const methods = listMethods(await loadModulesOf(home, registry));
  if (name !== undefined) {
    const found = lines.find((line) => line.name === name);
    if (!found) throw unknown(name, lines);
    return printValue(context, found, () => describeCommand(found));
  }
  return printValue(context, { commands: lines, methods }, () =>
    [tableOf(lines, output.columns), ...describeMethods(methods), "", SEE_ALSO].join("\n"),
  );
}

/** A terminal's last column stays free, because a row that reaches it is broken. */
function tableOf(lines: readonly CommandLine[], columns: number): string {
  const argumentsOf = ({ args }: CommandLine) => args.map(({ name, required }) => (required ? name : `${name}?`));
  const rows = lines.map((line) => [
    line.name,
    line.state !== "ready" ? "not set up" : line.listed ? "ready" : "unlisted",
    argumentsOf(line).join(", "),
    AFTER_CRASH[line.effect],
    line.risk,
    line.origin,
  ]);
  const missing = lines.filter(({ state }) => state !== "ready");
  const toDo = missing.flatMap(({ name, toDo: sentences }) => [`  ${name}: ${sentences.join(" ")}`]);
  return [
    renderTable(["COMMAND", "STATE", "ARGUMENTS", "AFTER A CRASH", "RISK", "FROM"], rows, columns - 1, 2),
    ...(toDo.length > 0 ? ["", "Hidden from models until they are set up:", ...toDo] : []),
  ].join("\n");
}

const SEE_ALSO = "Show one in full: goald commands NAME   Create your own: goald commands NAME --new";

const describeMethods = (methods: readonly MethodLine[]): readonly string[] =>
  methods.length === 0
    ? []
    : ["", "Python helpers for code of agents:", ...methods.map(({ file, signature }) => `  ${signature}  (${file})`)];

const unknown = (name: string, lines: readonly CommandLine[]): GoaldError =>
  new GoaldError("GOALD_NOT_FOUND", `There is no command ${JSON.stringify(name)} in this home.`, {
    hint: `There are ${lines.flatMap((line) => (line.listed ? [line.name] : [])).join(", ")}.`,
  });

/** Writes a command that works without changes, and its test. */
async function newCommand(name: string, options: GlobalOptions): Promise<number> {
  if (!COMMAND_NAME.test(name))
    throw new GoaldError(
      "GOALD_USAGE",
      `Expected a name of lower-case letters, digits and underscores that begins with a letter, got ${JSON.stringify(name)}.`,
      { hint: "Such as: goald commands count_words --new" },
    );
  using context = await openContext({ ...options, revives: false });
  const { home, output } = context;
  const isShipped = (await loadRegistryOf(home, {})).fileOf(name) !== undefined;
  await openFolder(home.commandsFolder, home);
  const file = join(home.commandsFolder, `${name}.ts`);
  const test = join(home.commandsFolder, `${name}.test.ts`);
  if (!(await createFile(file, await skeleton("command.ts.txt", name), 0o644))) throw taken(file);
  if (!(await createFile(test, await skeleton("command.test.ts.txt", name), 0o644))) {
    await rm(file);
    throw taken(test);
  }
  if (!output.printJson({ name, file, test, replacesShipped: isShipped }))
    for (const line of [
      `Your command: ${file}`,
      `Its test:     ${test}`,
      ...(isShipped ? [`It replaces goald's own ${name} in this home.`] : []),
      "It counts words and works as it is. Next:",
      // The node of the PATH may be too old for TypeScript.
      `  ${quoteForShell(process.execPath)} --test ${quoteForShell(test)}`,
      `  ${formatCall(home, "commands", name)}`,
      `  ${formatCall(home, "reload")}    (when the daemon is running)`,
    ])
      output.say(clean(line));
  return EXIT.ok;
}

const skeleton = async (shipped: string, name: string): Promise<string> =>
  (await readFile(join(ROOT_FOLDER, "config", "skeletons", shipped), "utf8")).replaceAll("{{name}}", name);

const taken = (path: string): GoaldError =>
  conflict(`${path} exists already and was not changed.`, "Choose another name, or move the file away.");
