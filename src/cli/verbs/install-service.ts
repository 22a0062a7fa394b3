/**
 * install-service.ts -- `goald install-service`: writes the service file and prints the commands that start it.
 *
 * It runs none of them, because starting a service changes the person's session.
 */
import { chmod, lstat, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { isHostHeld } from "#api/host-lock.ts";
import { GOALD_PROGRAM } from "#api/spawn-daemon.ts";
import type { Home } from "#config/home.ts";
import { makeFolders } from "#config/make-folders.ts";
import { openHome } from "#config/open-home.ts";
import { replacePrivateFile } from "#config/private-file.ts";
import { EXIT, GoaldError, toError } from "#core/errors.ts";
import { flag } from "../option.ts";
import { findContext, formatCall, type GlobalOptions, type Output } from "../shared/context.ts";
import { launchdService, type Service, systemdService } from "../shared/service-file.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "install-service",
  group: "The daemon",
  summary: "start it at login (systemd, launchd)",
  description: "write a systemd user unit or a launchd agent that starts the daemon with your session",
  examples: ["goald install-service --print", "goald install-service", "goald install-service --uninstall"],
  options: {
    print: flag("--print", "print the file, and write nothing"),
    uninstall: flag("--uninstall", "remove the file"),
    force: flag("--force", "replace a file that differs"),
  },
  exitCodes: { notFound: "no service to remove", conflict: "another file is there" },
  run: (_args, options) => installServiceVerb(options),
});

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

/** Throws GOALD_USAGE on systems other than Linux and macOS. */
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
  throw new GoaldError("GOALD_USAGE", `goald writes services for Linux and macOS only; this is ${platform}.`, {
    hint: `Have your service manager run: ${formatCall(home, "up", "--foreground")}`,
  });
}

/** Returns undefined when the file does not exist. */
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
    throw new GoaldError("GOALD_CONFLICT", `${path} exists and differs from what goald would write.`, {
      hint: "Show the new file: goald install-service --print\nReplace the present one: goald install-service --force",
    });
  // systemd does not start a unit whose folders are missing.
  await openHome(home, process.getuid?.());
  if (before !== text) await write(path, text);
  const isRunning = isHostHeld(home.lock);
  if (output.json) {
    output.data(JSON.stringify({ name, kind, path, changed: before !== text, running: isRunning, enable }));
    return;
  }
  output.say(before === text ? `${path} is up to date.` : `Wrote ${path}`);
  const first = isRunning ? [formatCall(home, "down")] : [];
  output.say(`Start it with:\n${[...first, ...enable].map((line) => `  ${line}\n`).join("")}`.trimEnd());
  if (kind === "systemd") output.say("To keep it running while you are logged out:\n  loginctl enable-linger");
  output.say(`The service does not have your shell's environment. Put keys into ${home.envFile}`);
}

async function uninstall(service: Service, output: Output): Promise<void> {
  const { name, kind, path, disable } = service;
  if ((await readService(service)) === undefined)
    throw new GoaldError("GOALD_NOT_FOUND", `There is no service to remove: ${path} does not exist.`);
  // `systemctl enable` made this link. systemctl cannot remove it once the unit is gone.
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
    output.say(
      `Removed ${path}\nStop it, if it is running:\n${disable.map((line) => `  ${line}\n`).join("")}`.trimEnd(),
    );
}

const basenameOf = (path: string): string => path.slice(dirname(path).length + 1);

async function write(path: string, text: string): Promise<void> {
  try {
    await makeFolders(dirname(path), 0o755);
    await replacePrivateFile(path, text);
    // systemd warns about unreadable units, and this one contains no secret.
    await chmod(path, 0o644);
  } catch (thrown) {
    throw cannot(`${path} cannot be written`, thrown);
  }
}

const cannot = (what: string, cause: unknown): GoaldError =>
  new GoaldError("GOALD_HOME_UNWRITABLE", `${what}: ${toError(cause).message}.`, {
    hint: "Print the file and save it yourself: goald install-service --print",
    cause,
  });
