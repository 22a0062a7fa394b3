/** doctor-daemon.ts -- checks the daemon, its lock, its socket and its service for `goald doctor`. */
import { lstatSync, readFileSync, rmSync } from "node:fs";
import { hasDaemonDied, readHostInfo } from "#api/daemon-files.ts";
import { checkVersion, type Meeting, meetHost, takesNoCalls } from "#api/find-daemon.ts";
import { outputFileOf } from "#api/spawn-daemon.ts";
import { lockHome } from "#app/own-store.ts";
import type { Home } from "#config/home.ts";
import { isSocketOf } from "#config/open-home.ts";
import { SETTINGS } from "#config/settings.ts";
import { toError } from "#core/errors.ts";
import { readVersion } from "../../shipped.ts";
import { formatCall } from "./context.ts";
import { type Finding, fine, problem, warning } from "./doctor-home.ts";

const PATIENCE_MS = 5_000;
const MAX_LINE_CHARS = 300;

export async function checkDaemon(home: Home): Promise<readonly Finding[]> {
  try {
    const met = await meetHost(home, PATIENCE_MS);
    switch (met.kind) {
      case "host":
        return [...checkHost(met), ...checkEnvironment(met.status.pid, home)];
      case "mute":
        return [checkMute(met)];
      case "nobody":
        return [checkAbsent(home), ...checkRemains(home)];
    }
  } catch (thrown) {
    const { message } = toError(thrown);
    return [
      problem("daemon", `it answers with an error: ${message}`, `Start it again: ${formatCall(home, "restart")}`),
    ];
  }
}

function checkHost({ status }: Extract<Meeting, { kind: "host" }>): readonly Finding[] {
  const findings: Finding[] = [];
  const { pid, version, stopping } = status;
  const what = `runs (pid ${pid}, goald ${version})`;
  try {
    checkVersion(status, { version: readVersion(), tell: (text) => findings.push(warning("daemon", text, "")) });
    findings.unshift(fine("daemon", stopping ? `${what}, and is going down` : what));
  } catch (thrown) {
    findings.unshift(problem("daemon", toError(thrown).message, "Put this one in its place: goald restart"));
  }
  for (const text of status.problems)
    findings.push(warning("daemon", text, "Its log says more: the folder .goald/log"));
  return findings;
}

/** Finds variables of this shell that the daemon does not have with the same value. Shows names, never values. */
function checkEnvironment(pid: number, home: Home): readonly Finding[] {
  const there = environmentOf(pid);
  if (!there) return [];
  const names = new Set(SETTINGS.flatMap(({ environment }) => environment));
  const differing = [...names].filter((name) => process.env[name] && process.env[name] !== there.get(name));
  if (differing.length === 0) return [];
  return [
    warning(
      "environment",
      `the daemon was started without these variables of this shell, or with others: ${differing.join(", ")}`,
      `What is in ${home.envFile} holds everywhere; or start the daemon from here: ${formatCall(home, "restart")}`,
    ),
  ];
}

/** Returns the start environment of a process; undefined when the system does not provide it. */
function environmentOf(pid: number): ReadonlyMap<string, string> | undefined {
  try {
    const lines = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    return new Map(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
  } catch {
    return undefined;
  }
}

function checkMute(met: Extract<Meeting, { kind: "mute" }>): Finding {
  const { message, hint } = takesNoCalls(met);
  return met.info?.socket !== undefined ? problem("daemon", message, hint) : warning("daemon", message, hint);
}

function checkAbsent(home: Home): Finding {
  if (!hasDaemonDied(home)) return fine("daemon", "not running; what needs it starts it");
  const last = lastWords(home);
  return problem(
    "daemon",
    `not running, though nobody ended it: it died${last ? `. Its last words: ${last}` : ""}`,
    `Its agents go on where they stand: ${formatCall(home, "up")}`,
  );
}

/** Returns the last line of the daemon's output, which may contain an error of goald or Node. */
function lastWords(home: Home): string {
  try {
    const lines = readFileSync(outputFileOf(home), "utf8").trim().split("\n");
    return (lines.at(-1) ?? "").slice(0, MAX_LINE_CHARS);
  } catch {
    return "";
  }
}

/** Finds sockets that a killed host left. The next host removes them. */
function checkRemains(home: Home): readonly Finding[] {
  const told = readHostInfo(home.lock)?.socket;
  const places = [...new Set([home.socket, ...(typeof told === "string" && isSocketOf(home, told) ? [told] : [])])];
  const left = places.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isSocket());
  return left.map((path) =>
    warning(
      "socket",
      `${path} was left by a host that was killed`,
      "The next start removes it, and so does: goald doctor --fix",
      async () => removeUnderLock(home, path),
    ),
  );
}

/** Takes the lock, which proves that no host listens at the socket. */
function removeUnderLock(home: Home, socket: string): void {
  using _lock = lockHome(home);
  rmSync(socket, { force: true });
}
