/** temporary-home.ts -- makes a home below the system's folder for temporary files, and removes it with all that is in it. */
import { existsSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import { findContext, type GlobalOptions } from "./context.ts";

export interface TemporaryHome extends AsyncDisposable {
  readonly home: Home;
}

/** `visited`: the present home, whose commands, methods, prompts and configuration are used. */
export async function makeTemporaryHome(
  visited: Home,
  options: GlobalOptions,
  { prefix, isKept = false }: { readonly prefix: string; readonly isKept?: boolean },
): Promise<TemporaryHome> {
  const root = await mkdtemp(join(tmpdir(), prefix));
  // An interrupt can end the process at once.
  const remove = (): void => rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  if (!isKept) process.on("exit", remove);
  const { home } = await findContext({ ...options, input: false, home: root });
  return {
    home: { ...home, ...presentFolders(visited) },
    [Symbol.asyncDispose]: async () => {
      if (isKept) return;
      remove();
      process.off("exit", remove);
    },
  };
}

/** A missing folder is left out, because opening a home makes its folders. */
function presentFolders({ commandsFolder, methodsFolder, promptsFolder, configFolder }: Home): Partial<Home> {
  const folders = Object.entries({ commandsFolder, methodsFolder, promptsFolder, configFolder });
  return Object.fromEntries(folders.filter(([, folder]) => existsSync(folder)));
}
