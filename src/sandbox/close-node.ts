/**
 * close-node.ts -- closes node to Pyodide before it is loaded: its modules, its environment, and what changes the process.
 *
 * Code in a cell may reach objects of JavaScript through a hole in Pyodide. Then it finds no way on: see also
 * freeze-intrinsics.ts. The cage is the boundary.
 */
import { registerHooks } from "node:module";
import { extname } from "node:path";
import { closeNetwork } from "#cage/close-network.ts";

const CLOSED_MODULES = new Set(
  ["child_process", "fs", "fs/promises", "module", "net", "tls", "vm"].map((name) => `node:${name}`).concat("ws"),
);
const CLOSED_PROCESS = [
  ...[
    "abort",
    "chdir",
    "exit",
    "reallyExit",
    "execve",
    "loadEnvFile",
    "umask",
    "setuid",
    "setgid",
    "seteuid",
    "setegid",
  ],
  ...["setgroups", "initgroups"],
];
const CLOSED_URL = new URL(`./closed-node${extname(import.meta.url)}`, import.meta.url).href;

/** Waits for the modules that replace those of node. */
export async function closeNode(): Promise<void> {
  await import("./closed-node.ts");
  closeNetwork();
  // The newest hook is asked first.
  registerHooks({
    resolve: (name, context, resolveNext) =>
      CLOSED_MODULES.has(name) ? { url: CLOSED_URL, shortCircuit: true } : resolveNext(name, context),
  });
  for (const name of CLOSED_PROCESS) Reflect.defineProperty(process, name, { value: refuse, configurable: false });
  // Emscripten reads constants of the file system by it.
  const binding = (name: string): object => (name === "constants" ? { fs: {} } : refuse());
  Reflect.defineProperty(process, "binding", { value: binding, writable: false });
  process.argv.splice(0);
  for (const name of ["log", "error", "warn", "info", "debug", "trace", "dir", "table"] as const)
    console[name] = () => undefined;
}

function refuse(): never {
  throw Object.assign(new Error("Not permitted in a cage."), { code: "EPERM" });
}
