#!/usr/bin/env node
/**
 * goald.js -- the guard in front of the command line, in plain JavaScript that any Node reads.
 *
 * goald runs TypeScript natively and needs Node 24.15. In a checkout the right Node is a
 * dev dependency and is used by itself; elsewhere an older Node gets one clear sentence.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";

const REQUIRED = [24, 15];

const [major, minor] = process.versions.node.split(".").map(Number);
if (major > REQUIRED[0] || (major === REQUIRED[0] && minor >= REQUIRED[1])) {
  module.enableCompileCache?.();
  // A checkout runs its sources; the published package ships them compiled, since Node strips no types below node_modules.
  const source = new URL("./cli.ts", import.meta.url);
  const { main } = await import(existsSync(source) ? source.href : new URL("../dist/src/cli.js", import.meta.url).href);
  process.exitCode = await main(process.argv.slice(2));
} else {
  runWithOwnNode();
}

function runWithOwnNode() {
  const own = fileURLToPath(new URL("../node_modules/node/bin/node", import.meta.url));
  if (!existsSync(own)) {
    console.error(
      `goald needs Node ${REQUIRED.join(".")} or newer; this is Node ${process.versions.node}. Install a newer Node and try again.`,
    );
    process.exitCode = 1;
    return;
  }
  const child = spawn(own, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  // Ctrl-C reaches the whole process group: the child decides what it means.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
    process.exitCode = code ?? 1;
  });
}
