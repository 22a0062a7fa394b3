/**
 * close-network.ts -- closes node's ways to the network, to files and to other processes. A program in a cage calls it
 * before it loads the libraries that parse a stranger's bytes. In a strict cage it is a second wall. In a degraded one
 * nothing else closes the network: that is good against mistakes, and not a boundary.
 */
import { registerHooks } from "node:module";

/** Modules of node that reach nothing outside. All others are refused from now on. */
const OPEN_MODULES = new Set(
  ["assert", "buffer", "crypto", "events", "path", "perf_hooks", "stream", "string_decoder", "url", "util"].map(
    (name) => `node:${name}`,
  ),
);
const CLOSED_GLOBALS = ["fetch", "WebSocket", "EventSource", "BroadcastChannel"];
const CLOSED_PROCESS = ["binding", "_linkedBinding", "dlopen", "kill", "_kill", "_debugProcess", "getBuiltinModule"];

export function closeNetwork(): void {
  registerHooks({
    resolve(name, context, resolveNext) {
      const resolved = resolveNext(name, context);
      if (resolved.url.startsWith("node:") && !OPEN_MODULES.has(resolved.url)) refuse();
      return resolved;
    },
  });
  for (const name of CLOSED_GLOBALS) Reflect.deleteProperty(globalThis, name);
  for (const name of CLOSED_PROCESS) Reflect.defineProperty(process, name, { value: refuse, configurable: false });
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
}

export function refuse(): never {
  throw Object.assign(new Error("Not permitted in a cage."), { code: "EPERM" });
}
