/**
 * install-service.ts -- `goald install-service`: writes the file, says what to type next, runs nothing.
 *
 * Setting a service going changes the person's session, so that is left to them.
 */
import { chmod, lstat, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { isHostHeld } from "#api/host-lock.ts";
import { GOALD_PROGRAM } from "#api/spawn-daemon.ts";
import type { Home } from "#config/home.ts";
import { makeFolders } from "#config/make-folders.ts";
import { openHome } from "#config/open-home.ts";
import { replacePrivateFile } from "#config/replace-private-file.ts";
import { EXIT, GoaldError, toError } from "#core/errors.ts";
import { findContext, formatCall, type GlobalOptions, type Output } from "../shared/context.ts";
import { launchdService, type Service, systemdService } from "../shared/service-file.ts";

export interface ServiceOptions extends GlobalOptions {
  readonly print?: boolean;
  readonly uninstall?: boolean;
  readonly force?: boolean;
}

export async function installServiceVerb(options: ServiceOptions): Promise<number> {
  const { home, output } = await findContext(options);
  try {
    const service = serviceOf(home);
    if (options.print) print(service, output);
    else if (options.uninstall) await uninstall(service, output);
    else await install(service, home, options.force === true, output);
    return EXIT.ok;
  } finally {
    output.close();
  }
}

/** Throws GOALD_USAGE where neither service manager is. */
export function serviceOf(home: Home, platform: NodeJS.Platform = process.platform): Service {
  const { XDG_CONFIG_HOME: configHome } = process.env;
  const parts = {
    home,
    userHome: homedir(),
    configHome: configHome && isAbsolute(configHome) ? configHome : undefined,
    node: process.execPath,
    program: GOALD_PROGRAM,
  };
  if (platform === "linux") return systemdService(parts);
  if (platform === "darwin") return launchdService(parts);
  throw new GoaldError("GOALD_USAGE", `goald can write services for Linux and macOS, not for ${platform}.`, {
    hint: `Let your service manager run: ${formatCall(home, "up", "--foreground")}`,
  });
}

/** undefined when there is none. */
export const readService = async ({ path }: Service): Promise<string | undefined> =>
  readFile(path, "utf8").catch((thrown) => {
    if (Error.isError(thrown) && "code" in thrown && (thrown.code === "ENOENT" || thrown.code === "ENOTDIR"))
      return undefined;
    throw cannot(`${path} cannot be read`, thrown);
  });

function print({ name, kind, path, text, enable }: Service, output: Output): void {
  if (output.json) output.data(JSON.stringify({ name, kind, path, text, enable }));
  else output.data(text.trimEnd());
}

async function install(service: Service, home: Home, isForced: boolean, output: Output): Promise<void> {
  const { name, kind, path, text, enable } = service;
  const before = await readService(service);
  if (before !== undefined && before !== text && !isForced)
    throw new GoaldError("GOALD_CONFLICT", `${path} is there already and differs from what goald would write.`, {
      hint: "See the new one: goald install-service --print\nTo replace what is there: goald install-service --force",
    });
  // A unit that names a folder that is not there would not start.
  await openHome(home, process.getuid?.());
  if (before !== text) await write(path, text);
  const isRunning = isHostHeld(home.lock);
  if (output.json) {
    output.data(JSON.stringify({ name, kind, path, changed: before !== text, running: isRunning, enable }));
    return;
  }
  output.say(before === text ? `${path} is there already, as it should be.` : `Wrote ${path}`);
  const first = isRunning ? [formatCall(home, "down")] : [];
  output.say(`Set it going with:\n${[...first, ...enable].map((line) => `  ${line}\n`).join("")}`.trimEnd());
  if (kind === "systemd") output.say("To let it run while you are not logged in:\n  loginctl enable-linger");
  output.say(`It does not see your shell's environment: keys belong into ${home.envFile}`);
}

async function uninstall(service: Service, output: Output): Promise<void> {
  const { name, kind, path, disable } = service;
  if ((await readService(service)) === undefined)
    throw new GoaldError("GOALD_NOT_FOUND", `There is no service to remove: ${path} does not exist.`);
  // What `systemctl enable` made; without its unit it would be a dead link that systemctl no longer removes.
  const link = join(dirname(path), "default.target.wants", basenameOf(path));
  const found = await lstat(link).catch(() => undefined);
  try {
    if (kind === "systemd" && found?.isSymbolicLink()) await rm(link);
    await rm(path);
  } catch (thrown) {
    throw cannot(`${path} cannot be removed`, thrown);
  }
  if (output.json) output.data(JSON.stringify({ name, kind, path, removed: true, disable }));
  else
    output.say(`Removed ${path}\nIf it runs, end it with:\n${disable.map((line) => `  ${line}\n`).join("")}`.trimEnd());
}

const basenameOf = (path: string): string => path.slice(dirname(path).length + 1);

async function write(path: string, text: string): Promise<void> {
  try {
    await makeFolders(dirname(path), 0o755);
    await replacePrivateFile(path, text);
    // It holds nothing private, and systemd warns of one that others cannot read.
    await chmod(path, 0o644);
  } catch (thrown) {
    throw cannot(`${path} cannot be written`, thrown);
  }
}

const cannot = (what: string, cause: unknown): GoaldError =>
  new GoaldError("GOALD_HOME_UNWRITABLE", `${what}: ${toError(cause).message}.`, {
    hint: "Print it, and put it there yourself: goald install-service --print",
    cause,
  });
