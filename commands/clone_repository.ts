/**
 * clone_repository -- clones a git repository into a new folder of the workspace.
 *
 * git works in a private folder outside the workspace. The complete folder is checked and moved into place in one step.
 * After a crash it is therefore whole or missing, and its git configuration names its origin.
 */
import { defineCommand, type Probe, succeed, type Workspace } from "#core/command.ts";
import { type AskedFile, findAskedRow } from "#core/guarded-files.ts";
import { countNoun, joinNames } from "#core/text.ts";

/** Files named per kind. */
const MAX_NAMED = 5;

export default defineCommand({
  name: "clone_repository",
  label: "Clone repository",
  group: "web",
  summary: "copies the newest commit of an https git repository; links and submodules stay out.",
  args: {
    type: "object",
    properties: {
      repository_url: {
        type: "string",
        description: "such as https://github.com/owner/name.git",
        minLength: 1,
        maxLength: 2_000,
      },
      clone_path: {
        type: "string",
        description: "relative path of a new folder",
        minLength: 1,
      },
    },
    required: ["repository_url", "clone_path"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  sends: ["repository_url"],
  writes: { clone_path: null },
  effect: "reconcilable",
  needs: ["repositories"],
  timeoutMs: 300_000,

  async prepare({ clone_path }, { workspace }) {
    return { wasThere: await folderExists(workspace, clone_path) };
  },

  async run({ repository_url, clone_path }, { workspace, signal, use }) {
    const repositories = use("repositories");
    const path = workspace.plainPath(clone_path);
    const cloned = await workspace.place(path, (folder) => repositories.clone(repository_url, folder, signal));
    const { url, commit, branch, files, bytes, remarks } = cloned;
    const from = `${url} (commit ${commit}${branch === null ? "" : `, branch ${branch}`})`;
    const others = await describeOthersRun(workspace, path);
    const head = `Cloned ${from} into ${path}: ${countNoun(files, "file")}, ${countNoun(bytes, "byte")}.`;
    const text = [head, ...remarks, ...others].join(" ");
    // Strangers wrote these files, so the result counts as text from the web.
    return succeed(text, { source: "web", artifacts: [path], value: path });
  },

  async probe({ repository_url, clone_path }, { workspace }, prepared): Promise<Probe> {
    if (!(await folderExists(workspace, clone_path))) return "not-done";
    if ((prepared as { readonly wasThere: boolean }).wasThere) return "unknown";
    const config = await workspace.read(`${clone_path}/.git/config`);
    const lines = new TextDecoder().decode(config).split("\n");
    const names = [repository_url, URL.parse(repository_url)?.href];
    if (!lines.some((line) => names.includes(/^\s*url = "?(.*?)"?$/.exec(line)?.[1]))) return "unknown";
    // The crash came before the file history recorded the folder.
    await workspace.notePlaced(clone_path);
    return "done";
  },
});

/** Lists the files that other programs run or obey, and when. */
async function describeOthersRun(workspace: Workspace, folder: string): Promise<readonly string[]> {
  const asked: AskedFile[] = [];
  for await (const file of workspace.list(folder, (inner) => inner !== `${folder}/.git`)) {
    const inner = file.path.slice(folder.length + 1);
    const row = findAskedRow(inner);
    if (row) asked.push({ path: inner, says: row.says });
  }
  const kinds = Map.groupBy(asked, ({ says }) => says);
  return Array.from(kinds, ([says, files]) => {
    const paths = files.map(({ path }) => path);
    return `Of ${joinNames(paths, MAX_NAMED)}: ${says}.`;
  });
}

/** True also for an empty folder. */
async function folderExists(workspace: Workspace, path: string): Promise<boolean> {
  try {
    for await (const _file of workspace.list(path)) return true;
    return true;
  } catch (error) {
    if (Error.isError(error) && "code" in error && error.code === "GOALD_FILE_MISSING") return false;
    throw error;
  }
}
