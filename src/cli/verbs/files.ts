/** files.ts -- `goald why` and `goald trust`: explains files of agents, and trusts their words. */

import { realpathSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import type { Reading } from "#api/control.ts";
import type { Trusted } from "#api/schemas.ts";
import { describeCall, styleOfDiff } from "#cli/terminal/describe-call.ts";
import type { Style } from "#cli/terminal/print.ts";
import type { Home } from "#config/home.ts";
import { GoaldError, orUndefined } from "#core/errors.ts";
import { tidyPath } from "#core/guarded-files.ts";
import { describeReceived, listSources } from "#core/provenance.ts";
import { describeFileStory } from "#views/file-story.ts";
import { reading, withReading } from "../agents.ts";
import { type CliContext, printValue } from "../context.ts";
import { AGENT, defineVerb, HOST_CODES, usageError } from "../verb.ts";
import { tellDone, viewWhenHeard, withAgent } from "../with-agent.ts";

export const WHY = defineVerb({
  description: "explain why a file exists: goals, step, thoughts and sources",
  examples: ["goald why chef/notes.md", "goald why chef notes.md", "goald why ./workspace/chef/notes.md"],
  arguments: [
    { name: "<file>", about: "agent/path, an agent's id or name, or a path on this disk" },
    { name: "[path]", about: "path of the file, after an agent's id or name" },
  ],
  exitCodes: { notFound: "no such agent or file" },
  run: ([file = "", path], options) =>
    reading(options, async (reading, context) => {
      const found = await findFile(file, path, reading, context.home);
      const story = await reading.fileStory(found.agent, found.path);
      return printValue(context, story, () => describeFileStory(story, describeCall), LOOK);
    }),
});

const styleOfStory = (line: string): Style | undefined => (/^\S/.test(line) ? "bold" : styleOfDiff(line));
const LOOK = { styleOf: styleOfStory, isExact: (line: string) => !/^(?:\S| {2}Version | {4}step )/.test(line) };

export const TRUST = defineVerb({
  description:
    "trust words from outside that you have looked at: those of files or of a cloned folder, or all that an agent has read until now. Its approvals then ask as if it had not read them. The trust is in the agent's log and cannot be taken back; what the agent reads later is not trusted",
  examples: ["goald trust chef notes.md", "goald trust chef cloned-folder", "goald trust chef all"],
  arguments: [
    AGENT,
    { name: "<what...>", about: "files or folders of the agent; all: whatever it has read (./all for a file)" },
  ],
  exitCodes: { ...HOST_CODES, notFound: "no such agent or file" },
  run: async ([name = "", ...what], options) => {
    const isAll = what.includes("all");
    if (isAll && what.length > 1) throw usageError("Expected files or `all`, got both.", "A file of that name: ./all");
    return withAgent(name, options, async ({ row, context, reach }) => {
      const paths = isAll ? [] : await findPaths(row.id, what, context);
      if (paths.includes("")) throw usageError("Expected files, got its folder.", `All: goald trust ${row.id} all`);
      const client = await reach();
      const trusted = await client.trust(row.id, isAll ? { what: "all" } : { what: "files", paths });
      const agent = await viewWhenHeard(client, trusted.agent);
      const { received, trusted: entries } = trusted;
      return tellDone({ agent, note: describeTrusted(trusted) }, context, { trusted: entries, received });
    });
  },
});

function describeTrusted({ trusted, received }: Trusted): string {
  const lines = trusted.map(({ path, outside }) => {
    if (path !== null)
      return `Trusted: ${path} (${outside.length > 0 ? `words from ${listSources(outside, 16)}` : "no words from outside were known in it"}).`;
    return received.length > 0
      ? `Trusted: all that it has read from outside until now: ${describeReceived(received, 16)}.`
      : "Trusted: all that it has read until now. It had read nothing from outside.";
  });
  return lines.join("\n");
}

export const findPaths = (agent: string, files: readonly string[], context: CliContext): Promise<readonly string[]> =>
  withReading(context, async (reading) => {
    const found = files.map((file) => findFile(agent, file, reading, context.home));
    return (await Promise.all(found)).map(({ path }) => path);
  });

type Agents = Pick<Reading, "agents" | "agent">;

/**
 * Finds an agent's file from `chef notes.md`, `chef/notes.md`, or a path on the disk. `path`: relative to the agent's
 * folder, as in the history. Throws GOALD_NOT_FOUND for an unknown agent, and GOALD_USAGE for a path outside all
 * agents' folders.
 */
export async function findFile(
  file: string,
  path: string | undefined,
  reading: Agents,
  { workspaceFolder }: Pick<Home, "workspaceFolder">,
) {
  if (path !== undefined) {
    const { id, workspace } = await reading.agent(file);
    return { agent: id, path: insideOf(workspace, path, workspaceFolder) ?? tidyPath(path) };
  }
  const onDisk = await findOnDisk(file, workspaceFolder, reading);
  if (onDisk) return onDisk;
  const slash = file.indexOf("/");
  if (slash <= 0 || slash === file.length - 1) throw await noFile(file, reading);
  return { agent: (await reading.agent(file.slice(0, slash))).id, path: tidyPath(file.slice(slash + 1)) };
}

async function noFile(file: string, reading: Agents): Promise<GoaldError> {
  const found = await reading.agent(file.replace(/\/$/, "")).catch(() => undefined);
  return new GoaldError("GOALD_USAGE", `Expected an agent and a file of it, got ${JSON.stringify(file)}.`, {
    hint: found
      ? `Name the file after the agent. Its files: goald show ${found.id} --files`
      : "Such as: goald why chef/notes.md, goald why chef notes.md, or a path into a workspace",
  });
}

/** Finds an absolute or relative path in an agent's folder. The innermost folder has precedence. */
async function findOnDisk(file: string, workspaceFolder: string, reading: Agents) {
  const views = [...(await reading.agents())].sort((a, b) => b.workspace.length - a.workspace.length);
  for (const { id, workspace } of views) {
    const path = insideOf(workspace, file, workspaceFolder);
    if (path) return { agent: id, path };
  }
  return undefined;
}

/** Resolves links in the path of the home's workspace folder. */
function insideOf(workspace: string, file: string, workspaceFolder: string): string | undefined {
  const own = relative(workspaceFolder, workspace);
  const real = orUndefined(() => realpathSync(workspaceFolder)) ?? workspaceFolder;
  for (const folder of [workspace, resolve(real, own)]) {
    const path = relative(folder, resolve(file));
    if (path !== "" && !path.startsWith("..") && resolve(folder, path) === resolve(file))
      return path.replaceAll(sep, "/");
  }
  return undefined;
}
