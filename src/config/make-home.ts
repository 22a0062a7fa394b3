/** make-home.ts -- makes a new home with its folders and first files. Existing files are kept. */
import { lstat, open, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { codeOf, GoaldError, toError } from "#core/errors.ts";
import { type Home, PRIVATE_FOLDER, WORKSPACE_FOLDER } from "./home.ts";
import { openHome } from "./open-home.ts";
import { readTextFile } from "./private-file.ts";
import type { SettingRow } from "./setting-row.ts";
import { readDefaults, SETTINGS, type SettingName, valueAt } from "./settings.ts";
import { settingsPath } from "./settings-file.ts";

/**
 * Idempotent. `exampleAgent` is the text of the example agent file. Returns paths relative to the home; folders end in a
 * slash. Throws GOALD_HOME_UNWRITABLE.
 */
export async function makeHome(home: Home, exampleAgent: string, uid: number | undefined) {
  const { workspaceFolder, configFolder, commandsFolder, promptsFolder, privateFolder } = home;
  const folders = [workspaceFolder, configFolder, commandsFolder, promptsFolder, privateFolder];
  const parts = await Promise.all(folders.map(async (path) => ({ path: `${path}/`, isNew: !(await exists(path)) })));
  await openHome(home, uid);
  for (const [path, text, mode] of [
    [home.envFile, renderEnvTemplate(), 0o600],
    [join(configFolder, "example-agent.yaml"), exampleAgent, 0o644],
    [join(home.root, "README.md"), README, 0o644],
    [join(home.root, ".gitignore"), GITIGNORE, 0o644],
  ] as const)
    parts.push({ path, isNew: await createFile(path, text, mode) });
  const named = (isNew: boolean): readonly string[] =>
    parts
      .filter((part) => part.isNew === isNew)
      .map(({ path }) => relative(home.root, path) + (path.endsWith("/") ? "/" : ""));
  return { made: named(true), kept: named(false) };
}

/** Returns false when the path exists already, as a file or anything else. Throws GOALD_HOME_UNWRITABLE. */
export async function createFile(path: string, text: string, mode: number): Promise<boolean> {
  try {
    await using file = await open(path, "wx", mode);
    await file.writeFile(text);
    return true;
  } catch (cause) {
    if (codeOf(cause) === "EEXIST") return false;
    throw new GoaldError("GOALD_HOME_UNWRITABLE", `${path} could not be written: ${toError(cause).message}.`, {
      hint: "Make the folder writable, or name another home.",
      cause,
    });
  }
}

const exists = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined;

const README = `# A home of goald

| path | contents |
|---|---|
| \`workspace/<agent>/\` | the files that each agent makes |
| \`.env\` | keys and variables; keep it private. \`goald config --all\` lists all settings |
| \`config/goald.json\` | settings: \`goald config NAME VALUE\`, \`goald config --show-origin\` |
| \`config/example-agent.yaml\` | an example of an agent file: \`goald run --from config/example-agent.yaml\` |
| \`commands/\` | your own commands, one file each; they are programs and run with your permissions |
| \`methods/\` | your own Python helpers (\`*.py\`), for code that agents run in the sandbox; make the folder when you have one |
| \`prompts/\` | your own prompts: files with sections that replace those of goald's prompts |
| \`.goald/\` | goald's data: the event log, the lock, the daemon's socket; do not edit it |
`;

const GITIGNORE = `.env\n${PRIVATE_FOLDER}/\n${WORKSPACE_FOLDER}/\n`;

/**
 * Returns true when a folder above is called `workspace`: a home there is never found upward. Throws GOALD_USAGE when
 * that is another home's workspace, because files of its agents must not become commands and keys.
 */
export async function isBelowWorkspace(root: string): Promise<boolean> {
  const path = await realPathOf(root);
  let below = false;
  for (let folder = path; dirname(folder) !== folder; folder = dirname(folder)) {
    if (basename(folder) !== WORKSPACE_FOLDER) continue;
    below = true;
    const owner = dirname(folder);
    if (await isHome(owner))
      throw new GoaldError(
        "GOALD_USAGE",
        `Expected a folder for a home, got ${root}: the agents of the home ${owner} write there.`,
        { hint: "Choose a folder outside of it, such as: goald init ~/goald" },
      );
  }
  return below;
}

/** A checkout is a home too, even before its first agent has run. */
const isHome = async (folder: string): Promise<boolean> =>
  (await exists(join(folder, PRIVATE_FOLDER))) || (await exists(join(folder, "src", "goald.js")));

/** The last parts of the path need not exist. */
async function realPathOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return real ?? path;
  return join(await realPathOf(dirname(path)), basename(path));
}

/** Whether the folder holds files that goald would run or obey, so that a person must trust them first. */
export async function holdsHomeFiles(home: Home): Promise<boolean> {
  for (const path of [home.privateFolder, home.envFile, settingsPath(home)]) if (await exists(path)) return true;
  for (const folder of [home.commandsFolder, home.methodsFolder, home.promptsFolder])
    if ((await readdir(folder).catch(() => [])).length > 0) return true;
  return false;
}

/** The private names that an existing `.gitignore` lacks: git would commit them with their keys. */
export async function findUnignored({ root }: Pick<Home, "root">): Promise<readonly string[]> {
  const file = await readTextFile(join(root, ".gitignore"), 1_000_000).catch(() => undefined);
  const lines = (file?.text ?? "").split("\n").map((line) => line.trim().replace(/^\/|\/$/g, ""));
  return [".env", PRIVATE_FOLDER].filter((name) => !lines.some((line) => line === name || line === `${name}*`));
}

/**
 * Returns a description of each setting, in the order of the table. `default`: the value as a person writes it with its unit, or
 * its effect when the setting is unset. `heading`: the part of the settings that begins with this one.
 */
export function describeSettings() {
  const defaults = readDefaults();
  return SETTINGS.map((row) => {
    const value = valueAt(defaults, row.name);
    const byDefault = value === null ? (row.whenUnset ?? "unset") : withUnit(value, row);
    const { name, environment, meaning } = row;
    return { name, environment, meaning, default: byDefault, heading: HEADINGS[name] };
  });
}

const withUnit = (value: unknown, { unit }: SettingRow): string => (unit ? `${value} ${unit}` : String(value));

/** The settings that most people set themselves. `goald config --all` lists the others. */
const COMMON: readonly SettingName[] = [
  "openai.apiKey",
  "openai.baseUrl",
  "models.smart",
  "models.fast",
  "agents.approve",
  "agents.form",
  "agents.commands",
  "limits.unattendedUsd",
  "search.tavily.apiKey",
  "log.level",
];

/** The `.env` of a new home, and `.env.example`: the common variables, each below its meaning and default. */
export function renderEnvTemplate(): string {
  const shown = describeSettings().filter(({ name }) => COMMON.includes(name));
  return `${HEAD}${shown.map(renderVariable).join("")}`;
}

/** A placeholder reads as unset. */
function renderVariable(setting: ReturnType<typeof describeSettings>[number]): string {
  const { name, meaning, default: byDefault } = setting;
  const [variable = ""] = setting.environment;
  const [sentence] = meaning.split(/\.(?: |$)/);
  const isSecret = name.endsWith("Key");
  const value = isSecret ? `your-${variable.toLowerCase().replaceAll("_", "-")}` : valueAt(readDefaults(), name);
  const text = isSecret ? sentence : `${sentence} (default ${byDefault})`;
  return `# ${text}.\n${isSecret ? "" : "# "}${variable}=${value ?? ""}\n`;
}

const HEAD = `# Settings of goald, one NAME=value per line. Keep this file private (chmod 600). Environment variables
# override this file, and this file overrides config/goald.json. All settings: goald config --all
# A line "# NAME=value" shows a default; remove the "# " to change it.

`;

/** Printed above the first setting of each part. */
const HEADINGS: Readonly<Partial<Record<SettingName, string>>> = {
  "openai.apiKey": "model server",
  "memory.embedder": "memory",
  "window.batch": "agents",
  "daemon.concurrency": "daemon and log",
  "web.allow": "web and code",
  "search.providers": "search",
  "images.model": "services for single commands",
};
