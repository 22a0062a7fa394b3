import { describe, expect, it } from "@jest/globals";
import { findAskedRow, findInstallScripts, isOfVersionControl, listAsked } from "#core/guarded-files.ts";

/** By the program that runs or obeys them. */
const ROWS = {
  "package manager runs these scripts": "package.json a/package.json PACKAGE.JSON package.json5 composer.json",
  "package manager or a build":
    ".npmrc .yarnrc .yarnrc.yml .yarn/plugins/a.cjs .pnpmfile.cjs .cargo/config.toml build.rs binding.gyp",
  "load it as installed code":
    "node_modules/a/index.js .venv/bin/activate lib/python3/site-packages/a.pth sitecustomize.py",
  "enters the folder": ".envrc a/b/.envrc ./.envrc x/../.envrc .Envrc .env\u200brc mise.toml .mise.local.toml",
  "a shell, a login":
    ".bashrc .profile .zshrc .zshenv .bash_aliases .config/fish/config.fish .ssh/authorized_keys .xinitrc",
  "a common tool": ".gitconfig .gdbinit .pdbrc .Rprofile .psqlrc .curlrc .netrc .tmux.conf",
  "an editor":
    ".vscode/tasks.json x/.vscode/settings.json .idea/workspace.xml .devcontainer/devcontainer.json .vimrc .exrc .dir-locals.el a.code-workspace",
  "a linter or a formatter":
    ".eslintrc .eslintrc.json a/.eslintrc.cjs eslint.config.mjs .prettierrc prettier.config.js .stylelintrc.yml .pylintrc pylintrc .flake8 mypy.ini .rubocop.yml .php-cs-fixer.dist.php .formatter.exs",
  "a test runner": "conftest.py a/conftest.py jest.config.ts vitest.config.mts .mocharc.cjs",
  "git runs it": ".husky/pre-commit .pre-commit-config.yaml .githooks/pre-push lefthook.yml",
  "a build server": ".github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile .travis.yml",
  "another agent":
    "AGENTS.md a/CLAUDE.md .claude/settings.json .cursor/rules/a.mdc .mcp.json .cursorrules .github/copilot-instructions.md .github/agents/a.md QWEN.md a/WARP.md .agents/skills/a .junie/guidelines.md",
  "a file manager": "autorun.inf desktop.ini a.desktop b.lnk c/d.url",
};
const HARMLESS =
  "README.md notes/plan.md src/index.js package-lock.json Makefile test.py my_conftest.py .eslintignore vite.config.ts pyproject.toml .gitignore .gitattributes .editorconfig " +
  ".env .nvmrc config HEAD refs/x .github/ISSUE_TEMPLATE.md docker-compose.yml agent.md agents/1/a.md factory/a.md warp.txt my_mypy.ini .rubocop_todo.yml model.pth tsconfig.json a.git/x";

describe("the table of files that others run or obey", () => {
  it.each(Object.entries(ROWS))("says who: %s", (says, paths) => {
    for (const path of paths.split(" "))
      expect([path, findAskedRow(path)?.says]).toEqual([path, expect.stringContaining(says)]);
  });

  it("leaves out what a person's call is about, and values", () => {
    for (const path of HARMLESS.split(" "))
      expect([path, findAskedRow(path), isOfVersionControl(path)]).toEqual([path, undefined, false]);
  });

  it.each([
    ...[".git", ".git/config", "a/.GIT/x", "git~1/x", ".git::$INDEX_ALLOCATION/x", ".git. /x", ".g\u200cit/x"],
    ...[".hg/hgrc", ".jj/x"],
  ])("closes what version control keeps: %j", (path) => expect(isOfVersionControl(path)).toBe(true));
});

describe("a package file", () => {
  const scripts = (own: object, more: object = {}): string => JSON.stringify({ name: "a", scripts: own, ...more });

  const COUNTED = "preinstall install postinstall prepare prepublishOnly postpack dependencies post-autoload-dump";
  it.each(COUNTED.split(" "))("counts with the script %s", (name) =>
    expect(findInstallScripts(scripts({ test: "jest", [name]: "node x" }))).toContain(name),
  );

  it.each([
    ["the own scripts", scripts({ test: "jest", build: "tsc", start: "node .", pretest: "tsc", lint: "biome" })],
    ["no scripts", "{}"],
    ["scripts of a strange type", '{"scripts":"postinstall"}'],
    ["an empty file", " "],
  ])("does not count with %s", (_title, text) => expect(findInstallScripts(text)).toBe(""));

  it.each(["eslintConfig", "prettier", "stylelint", "jest"])("counts with the settings %s of a tool", (name) =>
    expect(findInstallScripts(scripts({ test: "jest" }, { [name]: { plugins: ["./a.js"] } }))).toContain(name),
  );

  it("counts when it installs hooks, is written in another notation, or hides a name", () => {
    const hooks = scripts({}, { "simple-git-hooks": { "pre-commit": "x" } });
    const hidden = ['{"scripts":{"post\\u0069nstall":"x"}}', '\ufeff{"scripts":{"install":"x"}}'];
    for (const text of [hooks, "scripts:\n  postinstall: x", ...hidden]) expect(findInstallScripts(text)).not.toBe("");
  });

  it("is asked about when the call shows such scripts, or is too large to look at", () => {
    const paths = (text: unknown) =>
      listAsked({ file: "package.json", text }, { file: "text" }).map(({ path }) => path);
    expect(paths(scripts({ test: "jest" }))).toEqual([]);
    expect(paths(scripts({ install: "x" }))).toEqual(["package.json"]);
    expect(paths({ blob: "a".repeat(64), bytes: 40_000, head: "{" })).toEqual(["package.json"]);
    expect(listAsked({ file: "package.json", old: "a", new: "b" }, { file: null })).toEqual([]);
    expect(listAsked({ file: "package.json" })).toEqual([]);
  });
});
