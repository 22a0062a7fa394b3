/** install-scripts.ts -- finds what programs run of a package file by themselves, for another command. */

/** Script names of npm, pnpm, yarn and composer. `npm test` and the like run what a person asks for, so they do not count. */
const RUNS_BY_ITSELF =
  /^(?:pre|post)?(?:install|uninstall|prepare|publish|publishOnly|pack|version|shrinkwrap)$|^dependencies$|devPreinstall$|^(?:pre|post)-|^(?:init|command)$/;
/** Members that install git hooks, or that a linter, a formatter or a test runner takes for its settings. */
const HOOKS = ["husky", "simple-git-hooks", "pre-commit", "gitHooks", "eslintConfig", "prettier", "stylelint", "jest"];

/** Returns these scripts as one text, to compare; empty for none. A text that is not JSON counts as a whole. */
export function findInstallScripts(text: string): string {
  const value = parseObject(text.replace(/^\ufeff/, ""));
  if (value === undefined) return text.trim();
  const scripts = Object.entries(Object(value.scripts) as object).filter(([name]) => RUNS_BY_ITSELF.test(name));
  const hooks = HOOKS.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]);
  const manager = String(value.packageManager ?? "").includes("://") ? [["packageManager", value.packageManager]] : [];
  const found = [...scripts, ...hooks, ...manager];
  return found.length === 0 ? "" : JSON.stringify(found);
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return undefined;
  }
}
