/**
 * guarded-files.ts -- the files that another program runs or obeys without a person naming them.
 *
 * A file is in the table when some program runs it, or obeys it like a program, although the person only opens, enters
 * or lists its folder, or calls a common tool there for another purpose. A file that a person's call is about is not in
 * it: `make`, `pytest`, `cargo test` and `docker compose up` are meant to run what the project says.
 *
 * REFUSED: nobody needs an agent to write it, and the harm comes with the next call of a common tool. ASKED: useful
 * work may need it, so a person decides. Where nobody can be asked, it is refused.
 *
 * Not in the table: `.gitattributes` and `.gitmodules` (git runs only what its own settings name); `.editorconfig`,
 * `.nvmrc`, `.tool-versions` and `.env` (values, no programs); settings of a build, such as `vite.config.ts` and
 * `pyproject.toml` (a person's call is about the build, and few projects work without them).
 */
import { orUndefined } from "./errors.ts";

/** Arguments that name files which the command writes. The value is the argument with the whole new content; null for none. */
export type WrittenArgs = Readonly<Record<string, string | null>>;

export interface AskedFile {
  readonly path: string;
  /** Names the program that runs or obeys the file, and when, as a sentence without its end. */
  readonly says: string;
}

/**
 * The files that a call names and that others would run or obey: the policy asks a person about them. While the command
 * runs, `findUnasked` holds it to them. A file that counts only by its content is left out while the call does not show
 * the content: `findUnasked` looks at what is really written.
 */
export function listAsked(args: Readonly<Record<string, unknown>>, writes: WrittenArgs = {}): readonly AskedFile[] {
  return Object.entries(writes).flatMap(([arg, contentArg]) => {
    const path = args[arg];
    const row = typeof path === "string" ? findAskedRow(path) : undefined;
    if (typeof path !== "string" || !row) return [];
    const content = contentArg === null ? undefined : args[contentArg];
    const isHarmless = typeof content === "string" ? findInstallScripts(content) === "" : content === undefined;
    return row.byContent && isHarmless ? [] : [{ path, says: row.says }];
  });
}

/**
 * Returns who would run a file that is about to be written and that nobody was asked about. `before` and `after` return its
 * content, and are called only when the content counts.
 */
export async function findUnasked(
  path: string,
  asked: readonly AskedFile[],
  content: { before(): Promise<string>; after(): Promise<string> },
): Promise<string | undefined> {
  const row = findAskedRow(path);
  if (!row || asked.some((file) => tidyPath(file.path) === tidyPath(path))) return undefined;
  if (row.byContent) {
    const scripts = findInstallScripts(await content.after());
    if (scripts === "" || scripts === findInstallScripts(await content.before())) return undefined;
  }
  return row.says;
}

/** Returns the form of a path that the history has. A path that leads out of the folder keeps its `..`. */
export function tidyPath(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/"))
    if (name === ".." && (names.at(-1) ?? "..") !== "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  return names.join("/");
}

interface OthersRow {
  readonly pattern: RegExp;
  readonly says: string;
  /** Only a content with these scripts counts. */
  readonly byContent?: true;
}

/** `names` are files or folders, at any depth of a folded path. */
const makeRow = (says: string, ...names: readonly RegExp[]): OthersRow => ({
  pattern: new RegExp(`(?:^|/)(?:${names.map(({ source }) => source).join("|")})(?:/|$)`),
  says,
});

const KEPT_BY_VERSION_CONTROL = makeRow(
  "version control runs the hooks and settings in it at its next call",
  /\.git|git~\d+|\.hg|\.jj|\.bzr|\.svn|_darcs|\.repo|\.sl|\.pijul|\.fslckout/,
);

export const ASKED: readonly OthersRow[] = [
  {
    ...makeRow(
      "the package manager runs these scripts when somebody installs or publishes, or a tool loads these settings",
      /package\.(?:json5?|ya?ml)|composer\.json/,
    ),
    byContent: true,
  },
  makeRow(
    "a package manager or a build obeys it at each call in the folder",
    /\.npmrc|\.yarnrc(?:\.ya?ml)?|\.yarn|\.pnpmfile\.[cm]?js|\.pnp\.(?:[cm]?js|loader\.mjs)|\.?bunfig\.toml/,
    /binding\.gyp|pip\.conf|\.pypirc|\.pip|\.bundle|\.gemrc|\.cargo|build\.rs|\.mvn|pnpm-workspace\.ya?ml/,
    /rust-toolchain(?:\.toml)?|gradle\/wrapper|\.bazelrc|tools\/bazel|\.(?:sbt|jvm)opts/,
  ),
  makeRow(
    "programs of the project load it as installed code",
    /node_modules|site-packages|\.?venv|(?:site|user)customize\.py|\.direnv/,
  ),
  makeRow(
    "direnv, mise or a shell obeys it when somebody enters the folder",
    /\.envrc|\.?mise(?:\.[\w.-]+)?\.toml|\.mise|\.rtx\.toml|\.autoenv.*/,
  ),
  makeRow(
    "a shell, a login or the system obeys it at its start, where the folder is a home",
    /[._](?:ba|z|k|mk|c|tc|da|a|xon)?sh(?:rc|env)|\.bash_(?:profile|login|logout|aliases|completion)/,
    /\.z?(?:profile|login|logout)|\.inputrc|\.x(?:profile|initrc|session|sessionrc|serverrc)/,
    /\.pam_environment|\.config|\.local|\.ssh|\.gnupg|\.docker|\.kube|(?:microsoft\.[\w.]+_)?profile\.ps1/,
    /library\/launch(?:agents|daemons)|\.aws|\.forward|\.procmailrc/,
  ),
  makeRow(
    "a common tool obeys it at its start in the folder or in a home",
    /\.(?:gitconfig|hgrc|gdbinit|lldbinit|pdbrc(?:\.py)?|rprofile|renviron|psqlrc|sqliterc|my\.cnf|irbrc|pryrc|ghci)/,
    /\.(?:pythonrc(?:\.py)?|curlrc|wgetrc|mailcap|screenrc|tmux\.conf|lesskey|octaverc|ocamlinit|perldb|byebugrc|rdebugrc)/,
    /\.(?:mailrc|muttrc|terraformrc|lessfilter|ipython|jupyter)|[._]netrc|\.?ansible\.cfg|(?:ipython|jupyter)_(?:\w+_)?config\.py/,
  ),
  makeRow(
    "an editor obeys it when somebody opens the folder or a file in it",
    /\.vscode|\.idea|\.fleet|\.zed|\.vs|\.helix|\.nova|\.devcontainer(?:\.json)?|.*\.code-workspace|.*\.sublime-project/,
    /[._][gl]?vimrc|\.vim|[._]exrc|\.nvimrc|\.nvim\.lua|\.emacs(?:\.d|\.el)?|\.dir-locals(?:-2)?\.el/,
    /\.ycm_extra_conf\.py|\.gitpod\.ya?ml/,
  ),
  makeRow(
    "a linter or a formatter of an editor loads it, with its plugins, when somebody opens a file of the folder",
    /\.(?:eslint|prettier|stylelint)rc(?:\..+)?|(?:eslint|prettier|stylelint)\.config\..+/,
    /\.?pylintrc|\.flake8|\.?mypy\.ini|\.rubocop\.ya?ml|\.php-cs-fixer(?:\.dist)?\.php|\.(?:formatter|credo)\.exs/,
  ),
  makeRow(
    "a test runner runs it, whichever test somebody names",
    /conftest\.py|\.mocharc\..+|karma\.conf\..+/,
    /(?:cypress|jest|playwright|vitest)\.(?:config|workspace)\..+/,
  ),
  makeRow(
    "git runs it at a commit, a push or a checkout, where such hooks are set up",
    /\.husky|\.githooks|\.?pre-commit-(?:config|hooks)\.ya?ml|\.?lefthook(?:-local)?\.(?:ya?ml|toml|json)/,
    /\.overcommit\.ya?ml|\.(?:lintstaged|commitlint)rc(?:\..+)?|(?:lint-staged|commitlint)\.config\..+/,
  ),
  makeRow(
    "a build server runs it, with the keys of the project, after the next push",
    /\.(?:github|gitea|forgejo)(?:$|\/workflows|\/actions)|\.gitlab-ci\.ya?ml|\.gitlab(?:$|\/ci)|\.circleci|\.buildkite|jenkinsfile/,
    /\.(?:travis|drone|cirrus|woodpecker)\.ya?ml|\.woodpecker|(?:azure|bitbucket)-pipelines\.ya?ml|\.?appveyor\.ya?ml/,
    /netlify\.toml|vercel\.json|(?:buildspec|cloudbuild|\.readthedocs)\.ya?ml|\.semaphore|\.teamcity/,
  ),
  makeRow(
    "another agent obeys it when somebody starts one in the folder",
    /agents(?:\.override)?\.md|claude(?:\.local)?\.md|gemini\.md|\.github\/(?:copilot-instructions\.md|instructions|prompts|agents|chatmodes)/,
    /\.(?:claude|cursor|gemini|codex|continue|roo|kiro|opencode|windsurf|goald)|\.(?:cursor|windsurf|cline|roo|kilocode)rules/,
    /\.?(?:mcp|crush)\.json|\.aider.*|opencode\.jsonc?|(?:qwen|crush|warp)\.md/,
    /\.(?:agents|amazonq|augment|crush|factory|junie|qwen|trae|kilocode|goose(?:hints)?|claude\.json)/,
  ),
  makeRow(
    "a file manager obeys it when somebody opens or lists the folder",
    /.*\.(?:desktop|lnk|scf|url|library-ms|command)|autorun\.inf|desktop\.ini|\.directory/,
  ),
];

/** Folds a name as some file systems do: without case (ß is ss) and invisible characters. */
export const foldLetters = (name: string): string =>
  name
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toUpperCase()
    .toLowerCase();

/** Drops trailing dots and blanks and a stream's name too. */
const foldName = (name: string): string => foldLetters(name).replace(/[. ]*(?::.*)?$/s, "");

const foldPath = (path: string): string =>
  tidyPath(tidyPath(path.replaceAll("\\", "/")).split("/").map(foldName).join("/"));

/** Whether version control keeps its own files there, by any name that some file system treats so. */
export const isOfVersionControl = (path: string): boolean => KEPT_BY_VERSION_CONTROL.pattern.test(foldPath(path));

/** The row of a file that others run or obey; undefined for other files. `path` is relative, normal or as written. */
export function findAskedRow(path: string): OthersRow | undefined {
  const folded = foldPath(path);
  return ASKED.find(({ pattern }) => pattern.test(folded));
}

/** Entries by which git recognizes a repository (setup.c, is_git_directory), in lower case. */
const REPOSITORY_ENTRIES: ReadonlySet<string> = new Set(["head", "objects", "refs", "commondir"]);

export const isRepositoryEntry = (name: string): boolean => REPOSITORY_ENTRIES.has(foldName(name));

/** `names` are the entries of one folder. What the entries contain is ignored, because it can change later. */
export function isRepository(names: Iterable<string>): boolean {
  const found = new Set([...names].map(foldName));
  return found.has("head") && (found.has("commondir") || (found.has("objects") && found.has("refs")));
}

/** Script names of npm, pnpm, yarn and composer. `npm test` and the like run what a person asks for, so they do not count. */
const RUNS_BY_ITSELF =
  /^(?:pre|post)?(?:install|uninstall|prepare|publish|publishOnly|pack|version|shrinkwrap)$|^dependencies$|devPreinstall$|^(?:pre|post)-|^(?:init|command)$/;
/** Members that install git hooks, or that a linter, a formatter or a test runner takes for its settings. */
const HOOKS =
  /^(?:husky|simple-git-hooks|pre-commit|gitHooks|lint-staged|commitlint|eslintConfig|prettier|stylelint|jest|mocha)$/;

/** Returns these scripts as one text, to compare; empty for none. A text that is not JSON counts as a whole. */
export function findInstallScripts(text: string): string {
  const parsed: unknown = orUndefined(() => JSON.parse(text.replace(/^\ufeff/, "")));
  if (parsed === undefined) return text.trim();
  const value = Object(parsed) as Readonly<Record<string, unknown>>;
  const scripts = Object.entries(Object(value.scripts) as object).filter(([name]) => RUNS_BY_ITSELF.test(name));
  const hooks = Object.entries(value)
    .filter(([name]) => HOOKS.test(name))
    .sort();
  const manager = String(value.packageManager ?? "").includes("://") ? [["packageManager", value.packageManager]] : [];
  const found = [...scripts, ...hooks, ...manager];
  return found.length === 0 ? "" : JSON.stringify(found);
}
