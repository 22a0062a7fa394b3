/** Shared setup of command tests: a real folder for each test, and a call like that of the daemon. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Observation } from "#core/call.ts";
import type { Args, ArgsSchema, Command, CommandContext } from "#core/command.ts";
import type { FileChange } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { Services } from "#core/services.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";

export type Desk = Awaited<ReturnType<typeof makeDesk>>;

export async function makeDesk() {
  const home = await mkdtemp(join(tmpdir(), "goald-command-"));
  const folder = join(home, "workspace", "foo");
  await mkdir(folder, { recursive: true });
  const changes: FileChange[] = [];
  const workspace = openLocalWorkspace(folder, (change) => changes.push(change), { staging: join(home, "clones") });
  const context = contextOf(workspace);
  return { home, folder, workspace, changes, context, [Symbol.asyncDispose]: () => rm(home, { recursive: true }) };
}

/** `services`: available services. */
export const contextOf = (workspace: Workspace, services: Partial<Services> = {}): CommandContext => ({
  workspace,
  signal: new AbortController().signal,
  callId: "c1",
  step: 1,
  agent: { id: "foo", name: "Foo", checks: [], goals: ["write"] },
  stage: () => undefined,
  call: async () => {
    throw new Error("no other command runs here");
  },
  run: async () => {
    throw new Error("no sub-task runs here");
  },
  use: (name) => {
    const service = services[name];
    if (service === undefined) throw new Error(`the test gave no ${name}`);
    return service as never;
  },
});

/** Prepares and runs; rejects with the error of the command. */
export async function call<S extends ArgsSchema>(
  command: Command<S>,
  args: Args<S>,
  context: CommandContext,
): Promise<Observation & { readonly text: string }> {
  const prepared = JSON.parse(JSON.stringify((await command.prepare?.(args, context)) ?? null)) as unknown;
  const observation = await command.run(args, context, prepared);
  if (observation.status === "waiting" || typeof observation.text !== "string")
    throw new Error("expected an observation with its text");
  return { ...observation, text: observation.text };
}

/** Paths that every command must refuse. */
export const REFUSED_PATHS = ["../x", "/etc/passwd", "a/../../x", "C:\\x", "~/x", "a\0b", "CON"];
