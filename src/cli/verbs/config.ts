/**
 * config.ts -- `goald config`: shows and changes settings. It works with invalid settings, so that they can be found
 * and fixed. Keys are shown as `set` or `not set`, and are never written into goald.json.
 */
import { printNote, renderTable } from "#cli/terminal/print.ts";
import { readSettings, wrongSettings } from "#config/load-settings.ts";
import { findSetting } from "#config/settings.ts";
import { settingsPath } from "#config/settings-file.ts";
import { EXIT } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { type AtHome, findContext } from "../context.ts";
import { originInWords, reportOn, reportsOf, type SettingReport, setSetting, unsetSetting } from "../own-settings.ts";
import { defineVerb, flag, type OptionValues, usageError } from "../verb.ts";

const OPTIONS = {
  all: flag("--all", "list the settings with their defaults too"),
  showOrigin: flag("--show-origin", "show where a value is from: option, environment, .env, goald.json or default"),
  unset: flag("--unset", "remove the setting from goald.json"),
};
type ConfigOptions = OptionValues<typeof OPTIONS>;

export const verb = defineVerb({
  description:
    "without a name, list the settings that you have set; with a name, print its value; with a value, write it into the home's config/goald.json",
  examples: [
    "goald config",
    "goald config models.smart",
    "goald config openai.baseUrl http://127.0.0.1:11434/v1",
    "goald config limits.approvalMinutes none",
    "goald config SMART_LLM --unset",
  ],
  arguments: [
    { name: "[name]", about: "a setting, or one of its variables" },
    { name: "[value]", about: "the new value; none: no value, where that is possible" },
  ],
  options: OPTIONS,
  exitCodes: { usage: "wrong call, unknown setting or wrong value" },
  run: async ([name, value], options) => {
    checkCall(name, value, options);
    using context = await findContext(options);
    if (name === undefined) return await listSettings(context, options);
    if (value === undefined && !options.unset) return await printSetting(context, name, options);
    return value === undefined ? await unsetSetting(context, name) : await setSetting(context, name, value);
  },
});

/** The first words of calls of earlier versions. */
const WORDS: Readonly<Record<string, string>> = {
  list: "goald config --all",
  get: "goald config NAME",
  set: "goald config NAME VALUE",
  unset: "goald config NAME --unset",
  path: "goald config",
};

/** Throws GOALD_USAGE. */
function checkCall(name: string | undefined, value: string | undefined, { all, unset }: ConfigOptions): void {
  if (name !== undefined && Object.hasOwn(WORDS, name))
    throw usageError(`config has no word ${JSON.stringify(name)}.`, `Use: ${WORDS[name]}`);
  if (unset && (name === undefined || value !== undefined))
    throw usageError("--unset goes with one setting, and without a value.", "Use: goald config NAME --unset");
  if (all && name !== undefined)
    throw usageError("--all lists the settings, so it goes without a name.", "Use: goald config --all");
}

/** Throws GOALD_CONFIG (exit code 2) for an invalid setting, after it has listed the settings. */
async function listSettings({ home, output }: AtHome, { all, showOrigin = false }: ConfigOptions): Promise<number> {
  const read = await readSettings({ home, env: process.env });
  const reports = reportsOf(read);
  const settings = all ? reports : reports.filter(({ origin }) => origin.layer !== "default");
  const file = settingsPath(home);
  if (!output.printJson({ home: home.root, file, envFile: home.envFile, settings })) {
    output.data(clean(file));
    if (settings.length > 0) output.data(tableOf(settings, showOrigin));
    const hidden = reports.length - settings.length;
    if (hidden > 0) output.say(`${hidden} settings have their defaults: goald config --all`);
  }
  for (const note of read.notes) printNote(note);
  if (read.problems.length > 0) throw wrongSettings(read.problems);
  return EXIT.ok;
}

async function printSetting({ home, output }: AtHome, typed: string, { showOrigin }: ConfigOptions): Promise<number> {
  const row = findSetting(typed);
  const read = await readSettings({ home, env: process.env });
  const problems = read.problems.filter(({ name }) => name === row.name);
  if (problems.length > 0) throw wrongSettings(problems);
  const report = reportOn(row, read);
  const origin = showOrigin ? `\t${originInWords(report.origin)}` : "";
  output.data(output.json ? JSON.stringify(report) : `${valueInWords(report)}${origin}`);
  return EXIT.ok;
}

function tableOf(settings: readonly SettingReport[], showOrigin: boolean): string {
  const head = ["SETTING", "VALUE", ...(showOrigin ? ["FROM"] : [])];
  const line = (report: SettingReport): readonly string[] => [
    report.name,
    `${valueInWords(report)}${report.problem ? "  (wrong)" : ""}`,
    ...(showOrigin ? [originInWords(report.origin)] : []),
  ];
  return renderTable(head, settings.map(line));
}

const valueInWords = ({ value }: SettingReport): string => (value === null ? "unset" : String(value));
