#!/usr/bin/env node
/**
 * goald.js -- the guard in front of the command line, in plain JavaScript that old versions of Node can read.
 *
 * goald runs TypeScript natively and needs Node 24.15. In a checkout that Node is a dev dependency, and an
 * older Node starts it: arguments, standard streams, terminal, signals and exit code are passed on, and both
 * processes end together. Elsewhere an older Node prints one sentence and exits.
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
/** Environment variable of a goald that was started by an older Node. */
const GUARDED = "GOALD_GUARDED";
/** How long open handles (such as a timer of a person's own command) may delay the exit. */
const LINGER_MS = 500;
/** A signal that was pending opens the debugger once more. */
const CLOSE_AGAIN_MS = 100;
/** By this time everything that a start needs is loaded. */
const FLUSH_AFTER_MS = 10_000;

// A checkout runs its sources. The published package has compiled files, because Node strips no types below node_modules.
const source = new URL("./cli.ts", import.meta.url);
const isCheckout = existsSync(source);

// Without a listener this signal opens a debugger that any program of this machine can use.
process.on("SIGUSR1", () => undefined);
closeDebugger();
for (let times = 1; times <= 5; times++) setTimeout(closeDebugger, times * CLOSE_AGAIN_MS).unref();
if (isNewEnough(process.versions.node)) await run();
else handOver();

async function run() {
  if (process.env[GUARDED]) dieWithGuard();
  keepQuietAboutExperiments();
  // Keep the young generation at 2 MB instead of 32: a daemon then peaks at 200 to 240 MB instead of 320 at 1,500 steps.
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  // A single thread collects it: waking others costs 0.15 to 0.2 ms of CPU a step. supervisor.ts changes all three flags for many agents.
  v8.setFlagsFromString("--no-parallel-scavenge");
  // Collect when the heap has doubled. By default a machine with much memory lets it grow fourfold, mostly with garbage.
  v8.setFlagsFromString("--heap-growing-percent=100");
  module.enableCompileCache(compileCacheFolder());
  // Node writes the cache at its exit alone, which a killed daemon does not reach.
  setTimeout(() => module.flushCompileCache?.(), FLUSH_AFTER_MS).unref();
  const main = await loadMain();
  if (main === undefined) return;
  process.exitCode = await main(process.argv.slice(2));
  // Everything is durable and closed here. Wait until slow readers have all output, then exit.
  for (const stream of [process.stdout, process.stderr]) await new Promise((resolve) => stream.write("", resolve));
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/**
 * Closes a debugger that a signal opened while Node started, before the listener. One that a person asked for stays. The
 * function is Node's own for this signal, and loads no module.
 */
function closeDebugger() {
  if (!/--inspect/.test(`${process.execArgv} ${process.env.NODE_OPTIONS}`)) process._debugEnd?.();
}

/**
 * Returns a private folder. Node's default is in the shared temporary folder, where anybody can create it first, and
 * cached code is executed. An installed goald uses the person's own cache, since its folder may belong to somebody else.
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
  const child = spawn(node, ["--disable-sigusr1", fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    env: { ...process.env, [GUARDED]: "1" },
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  // A terminal sends Ctrl-C to both processes, and two of them would mean "at once". Other signals reach this process alone.
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

/** Returns the dev dependency `node` when it is installed and new enough. */
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

/** Hides Node's warnings about experimental features, which a person cannot act on. */
function keepQuietAboutExperiments() {
  const [print] = process.listeners("warning");
  if (print === undefined) return;
  process.removeAllListeners("warning");
  process.on("warning", (warning) => warning.name === "ExperimentalWarning" || print(warning));
}

/** Kills this process when the older Node that started it is killed, so that no process is left holding the home. */
function dieWithGuard() {
  delete process.env[GUARDED];
  process.send = undefined; // A daemon would tell the guard that it is ready, and then disconnect.
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
