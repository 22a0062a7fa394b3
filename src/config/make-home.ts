/**
 * make-home.ts -- a new home on a person's word: its folders, and files to begin with. What is there already
 * stays as it is.
 */
import { lstat, open, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { GoaldError, toError } from "#core/errors.ts";
import { envTemplate } from "./env-template.ts";
import { type Home, PRIVATE_FOLDER, WORKSPACE_FOLDER } from "./home.ts";
import { openHome } from "./open-home.ts";
import { readTextFile } from "./read-text-file.ts";
import { settingsPath } from "./settings-file.ts";

export interface MadeHome {
  /** Relative to the home, folders with a slash at their end. */
  readonly made: readonly string[];
  readonly kept: readonly string[];
}

/** Idempotent. Throws GOALD_HOME_UNWRITABLE. `exampleAgent`: text of the agent file that comes with it. */
export async function makeHome(home: Home, exampleAgent: string, uid: number | undefined): Promise<MadeHome> {
  const { workspaceFolder, configFolder, commandsFolder, promptsFolder, privateFolder } = home;
  const folders = [workspaceFolder, configFolder, commandsFolder, promptsFolder, privateFolder];
  const parts = await Promise.all(folders.map(async (path) => ({ path: `${path}/`, isNew: !(await isThere(path)) })));
  await openHome(home, uid);
  for (const [path, text, mode] of [
    [home.envFile, envTemplate(), 0o600],
    [join(configFolder, "example-agent.yaml"), exampleAgent, 0o644],
    [join(home.root, "README.md"), README, 0o644],
    [join(home.root, ".gitignore"), GITIGNORE, 0o644],
  ] as const)
    parts.push({ path, isNew: await makeFile(path, text, mode) });
  const named = (isNew: boolean): readonly string[] =>
    parts
      .filter((part) => part.isNew === isNew)
      .map(({ path }) => relative(home.root, path) + (path.endsWith("/") ? "/" : ""));
  return { made: named(true), kept: named(false) };
}

/** False when something is there already, whatever it is. */
export async function makeFile(path: string, text: string, mode: number): Promise<boolean> {
  try {
    await using file = await open(path, "wx", mode);
    await file.writeFile(text);
    return true;
  } catch (thrown) {
    const error = toError(thrown);
    if ("code" in error && error.code === "EEXIST") return false;
    throw new GoaldError("GOALD_HOME_UNWRITABLE", `${path} could not be written: ${error.message}.`, {
      hint: "Make the folder writable, or name another home.",
      cause: thrown,
    });
  }
}

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined;

const README = `# A home of goald

| here | what it is |
|---|---|
| \`workspace/<agent>/\` | what each agent makes |
| \`.env\` | keys and variables, for you alone; the comments in it say what there is |
| \`config/goald.json\` | settings: \`goald config set\`, \`goald config list --show-origin\` |
| \`config/example-agent.yaml\` | an agent in a file: \`goald run --from config/example-agent.yaml\` |
| \`commands/\` | commands of your own, one file each; they are programs and run as you |
| \`prompts/\` | words of your own for the model, instead of those of the same name that come with goald |
| \`.goald/\` | goald's own: the record of everything, the lock, the daemon's socket; leave it alone |
`;

const GITIGNORE = `.env\n${PRIVATE_FOLDER}/\n${WORKSPACE_FOLDER}/\n`;

// ---------------------------------------------------------------- whether it may be made, and trusted

/**
 * Throws GOALD_USAGE for a folder in which the agents of another home write: what they write must not become commands
 * and keys. True when it only lies below some folder called workspace, where no home is ever found by itself.
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

/** A checkout may be a home that no agent has run in yet. */
const isHome = async (folder: string): Promise<boolean> =>
  (await isThere(join(folder, PRIVATE_FOLDER))) || (await isThere(join(folder, "src", "goald.js")));

/** Of a path whose end need not be there yet. */
async function realPathOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return real ?? path;
  return join(await realPathOf(dirname(path)), basename(path));
}

/** Whether something lies there that goald would run, read or obey: then the folder is not of our making. */
export async function holdsSomething(home: Home): Promise<boolean> {
  for (const path of [home.privateFolder, home.envFile, settingsPath(home)]) if (await isThere(path)) return true;
  for (const folder of [home.commandsFolder, home.promptsFolder])
    if ((await readdir(folder).catch(() => [])).length > 0) return true;
  return false;
}

/** Names that a `.gitignore` of somebody else leaves out: a home in a repository would be committed with its keys. */
export async function unignored({ root }: Pick<Home, "root">): Promise<readonly string[]> {
  const file = await readTextFile(join(root, ".gitignore"), 1_000_000).catch(() => undefined);
  const lines = (file?.text ?? "").split("\n").map((line) => line.trim().replace(/^\/|\/$/g, ""));
  return [".env", PRIVATE_FOLDER].filter((name) => !lines.some((line) => line === name || line === `${name}*`));
}
