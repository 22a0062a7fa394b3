#!/usr/bin/env node
/**
 * goald.js -- the guard in front of the command line, in plain JavaScript that old Nodes read too.
 *
 * goald runs TypeScript natively and needs Node 24.15. In a checkout the right Node is a dev
 * dependency, and an older one hands over to it: arguments, standard streams, terminal, signals and
 * exit code pass through, and the two die together. Elsewhere an older Node gets one clear sentence.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import * as module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import * as v8 from "node:v8";

const REQUIRED = [24, 15];
/** In the environment of a goald that was started by an older Node. */
const GUARDED = "GOALD_GUARDED";
/** How long handles that nobody closed (a timer of a person's own command) may hold up the exit. */
const LINGER_MS = 500;
/** By then everything that a start needs is loaded. */
const FLUSH_AFTER_MS = 10_000;

// A checkout runs its sources; the published package ships them compiled, since Node strips no types below node_modules.
const source = new URL("./cli.ts", import.meta.url);
const isCheckout = existsSync(source);

if (isNewEnough(process.versions.node)) await run();
else handOver();

async function run() {
  if (process.env[GUARDED]) dieWithGuard();
  keepQuietAboutExperiments();
  // Young objects stay in the 2 MB that they begin with, instead of 32: a daemon of days is to be small (peak 200 to 240 MB instead of 320 at 1,500 steps).
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  // So little is collected by one thread: to wake the others takes more than they save (0.15 to 0.2 ms of CPU a step). young-space.ts changes both for many agents.
  v8.setFlagsFromString("--no-parallel-scavenge");
  module.enableCompileCache(compileCacheFolder());
  // Node writes it at the exit only, which a daemon that is killed does not have.
  setTimeout(() => module.flushCompileCache?.(), FLUSH_AFTER_MS).unref();
  const main = await loadMain();
  if (main === undefined) return;
  process.exitCode = await main(process.argv.slice(2));
  // All is durable and closed by now. What was printed goes out, however slowly it is read; then nothing is waited for.
  for (const stream of [process.stdout, process.stderr]) await new Promise((resolve) => stream.write("", resolve));
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/**
 * Node's own choice lies in the shared temporary folder, under a name that anybody may take first, and what is read from
 * there runs. A checkout keeps it beside its packages; an installed goald lies in a folder that may be somebody else's.
 */
function compileCacheFolder() {
  if (isCheckout) return fileURLToPath(new URL("../node_modules/.cache/goald", import.meta.url));
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "goald", "compiled");
}

async function loadMain() {
  try {
    return (await import(isCheckout ? source.href : new URL("../dist/src/cli.js", import.meta.url).href)).main;
  } catch (error) {
    if (!isCheckout || error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    refuse(`goald's packages are not installed: run "npm ci" in its folder first. ${error.message}`);
  }
}

function handOver() {
  const node = ownNode();
  if (node === undefined) {
    const way = isCheckout ? 'Run "npm ci" in its folder, which brings one' : "Install a newer Node and try again";
    refuse(`goald needs Node ${REQUIRED.join(".")} or newer; this is Node ${process.versions.node}. ${way}.`);
    return;
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    env: { ...process.env, [GUARDED]: "1" },
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  // A terminal's Ctrl-C reaches both, and twice would mean "at once"; a signal from elsewhere reaches this process only.
  const onTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  process.on("SIGINT", () => onTerminal || child.kill("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => refuse(`goald could not start ${node}: ${error.message}. Run "npm ci" again.`));
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
    process.exitCode = code ?? 1;
  });
}

/** The dev dependency `node`, when it is there and new enough itself. */
function ownNode() {
  if (!isCheckout) return undefined;
  const folder = new URL("../node_modules/node/", import.meta.url);
  try {
    const { version } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
    const program = fileURLToPath(new URL("bin/node", folder));
    return isNewEnough(version) && existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

/** Which of Node's parts may still change is our business, not that of the person who reads standard error. */
function keepQuietAboutExperiments() {
  const [print] = process.listeners("warning");
  if (print === undefined) return;
  process.removeAllListeners("warning");
  process.on("warning", (warning) => warning.name === "ExperimentalWarning" || print(warning));
}

/** kill -9 of the process that a person knows must not leave another one behind that holds the home. */
function dieWithGuard() {
  delete process.env[GUARDED];
  process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
  process.channel?.unref();
}

function isNewEnough(version) {
  const [major, minor] = version.split(".").map(Number);
  return major > REQUIRED[0] || (major === REQUIRED[0] && minor >= REQUIRED[1]);
}

function refuse(sentence) {
  console.error(sentence);
  process.exitCode = 1;
}
