/**
 * find-settings.ts -- where each setting comes from: a flag, the environment, the home's `.env`, its
 * config/goald.json, or the shipped defaults.
 *
 * Values are taken as they are written; whether they are right is judged elsewhere. Those that are still a
 * template's placeholder count as unset. Nothing is written, process.env least of all.
 */
import { type EnvFile, type Environment, readEnvFile } from "./env-file.ts";
import type { Home } from "./home.ts";
import { isPlaceholder, parseText } from "./setting-text.ts";
import { readDefaults, valueAt } from "./settings.ts";
import { readSettingsFile, type SettingsFile, settingsPath } from "./settings-file.ts";
import type { NamedRow, SettingName } from "./settings-table.ts";

export type SettingFlags = Readonly<Partial<Record<SettingName, string | number | boolean | null | undefined>>>;

export interface SettingSources {
  readonly flags?: SettingFlags;
  readonly env: Environment;
  /** A trusted home; absent when there is none yet. */
  readonly home?: Pick<Home, "envFile" | "configFolder"> | undefined;
}

export interface Origin {
  readonly layer: "flag" | "environment" | ".env" | "goald.json" | "default";
  /** The variable's name where there is one, else the setting's. */
  readonly name: string;
  /** The file's path; empty for flags and the environment. */
  readonly file: string;
}

/** A setting in one of its sources. */
export interface Found {
  readonly row: NamedRow;
  readonly value: unknown;
  /** As it was written, for the message when it is wrong. */
  readonly written: unknown;
  readonly origin: Origin;
}

/** All sources, read. */
export interface Layers {
  readonly flags: SettingFlags;
  readonly env: Environment;
  readonly envFile: EnvFile & { readonly path: string };
  readonly file: SettingsFile | undefined;
  readonly defaults: unknown;
}

/** Throws GOALD_CONFIG for a file that cannot be read. */
export async function readLayers({ flags = {}, env, home }: SettingSources): Promise<Layers> {
  const [envFile, file] = await Promise.all([
    home ? readEnvFile(home.envFile) : { variables: {}, isOpen: false },
    home ? readSettingsFile(settingsPath(home)) : undefined,
  ]);
  return { flags, env, envFile: { ...envFile, path: home?.envFile ?? "" }, file, defaults: readDefaults() };
}

/** The setting in every source that has it, the one that counts first. */
export function* findAll(row: NamedRow, layers: Layers): Generator<Found, undefined> {
  const flag = layers.flags[row.name];
  if (flag !== undefined) yield foundIn(row, flag, { layer: "flag", name: row.name, file: "" });
  for (const [layer, variables, file] of [
    ["environment", layers.env, ""],
    [".env", layers.envFile.variables, layers.envFile.path],
  ] as const) {
    const name = row.environment.find((candidate) => !isPlaceholder(own(variables, candidate)));
    if (name !== undefined) yield foundIn(row, own(variables, name), { layer, name, file });
  }
  const stored = valueAt(layers.file?.value, row.name);
  if (layers.file && stored !== undefined && !(typeof stored === "string" && isPlaceholder(stored)))
    yield asWritten(row, stored, { layer: "goald.json", name: row.name, file: layers.file.path });
  yield asWritten(row, valueAt(layers.defaults, row.name), {
    layer: "default",
    name: row.name,
    file: "config/default.json",
  });
}

function foundIn(row: NamedRow, written: unknown, origin: Origin): Found {
  const value = typeof written === "string" ? parseText(written, row, origin.layer) : written;
  return { row, value, written, origin };
}

const asWritten = (row: NamedRow, value: unknown, origin: Origin): Found => ({ row, value, written: value, origin });

const own = (variables: Environment, name: string): string | undefined =>
  Object.hasOwn(variables, name) ? variables[name] : undefined;
