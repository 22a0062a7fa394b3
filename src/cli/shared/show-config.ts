/**
 * show-config.ts -- implements `goald config`.
 *
 * It works with invalid settings, so that they can be found and fixed. Keys are shown as `set` or `not set`, and are
 * never written into goald.json.
 */

import { existsSync } from "node:fs";
import { printNote } from "#cli/terminal/print.ts";
import { renderTable } from "#cli/terminal/table.ts";
import type { Home } from "#config/home.ts";
import { type ReadSettings, readSettings, wrongSettings } from "#config/load.ts";
import { findSetting } from "#config/settings.ts";
import { settingsPath } from "#config/settings-file.ts";
import { EXIT } from "#core/errors.ts";
import { originInWords, reportOn, reportsOf, type SettingReport } from "./config-report.ts";
import { type CliContext, findContext, type GlobalOptions } from "./context.ts";

export interface ConfigOptions extends GlobalOptions {
  readonly showOrigin?: boolean;
}

/** Throws GOALD_CONFIG (exit code 2) for an invalid setting, after it has listed all. */
export async function configList(options: ConfigOptions): Promise<number> {
  return inHome(options, async ({ home, output }) => {
    const read = await readAll(home, options);
    const settings = reportsOf(read);
    if (output.json) output.data(JSON.stringify({ home: home.root, file: settingsPath(home), settings }));
    else output.data(tableOf(settings, options));
    for (const note of read.notes) printNote(note);
    if (read.problems.length > 0) throw wrongSettings(read.problems);
    return EXIT.ok;
  });
}

export async function configGet(typed: string, options: ConfigOptions): Promise<number> {
  return inHome(options, async ({ home, output }) => {
    const { row } = findSetting(typed);
    const read = await readAll(home, options);
    const problems = read.problems.filter(({ names }) => names.includes(row.name));
    if (problems.length > 0) throw wrongSettings(problems);
    const report = reportOn(row, read);
    if (output.json) output.data(JSON.stringify(report));
    else
      output.data(
        options.showOrigin ? `${valueInWords(report)}\t${originInWords(report.origin)}` : valueInWords(report),
      );
    return EXIT.ok;
  });
}

export async function configSet(typed: string, text: string, options: ConfigOptions): Promise<number> {
  return inHome(options, async (context) => (await import("./config-change.ts")).setSetting(context, typed, text));
}

export async function configUnset(typed: string, options: ConfigOptions): Promise<number> {
  return inHome(options, async (context) => (await import("./config-change.ts")).unsetSetting(context, typed));
}

export async function configPath(options: ConfigOptions): Promise<number> {
  return inHome(options, async ({ home, output }) => {
    const file = settingsPath(home);
    const whole = { home: home.root, file, exists: existsSync(file), envFile: home.envFile };
    output.data(output.json ? JSON.stringify(whole) : file);
    return EXIT.ok;
  });
}

async function inHome(
  options: GlobalOptions,
  act: (context: Pick<CliContext, "home" | "output">) => Promise<number>,
): Promise<number> {
  const context = await findContext(options);
  try {
    return await act(context);
  } finally {
    context.output.close();
  }
}

/** Reads all settings, including --no-color of this call. */
const readAll = (home: Home, { color }: GlobalOptions): Promise<ReadSettings> =>
  readSettings({ home, env: process.env, flags: color === false ? { color } : {} });

function tableOf(settings: readonly SettingReport[], { showOrigin }: ConfigOptions): string {
  const head = ["SETTING", "VALUE", ...(showOrigin ? ["FROM"] : [])];
  const line = (report: SettingReport): readonly string[] => [
    report.name,
    `${valueInWords(report)}${report.problem ? "  (wrong)" : ""}`,
    ...(showOrigin ? [originInWords(report.origin)] : []),
  ];
  return renderTable(head, settings.map(line));
}

const valueInWords = ({ value }: SettingReport): string => (value === null ? "unset" : String(value));
