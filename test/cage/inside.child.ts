/** inside.child.ts -- tries what a process in a cage must not do, and prints what came of each try as JSON. */
import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";

const [port = "0", outside = ""] = process.argv.slice(2);
const outcome = (act: () => unknown): string => {
  try {
    return `done: ${String(act())}`.slice(0, 60);
  } catch (error) {
    return String((error as { code?: unknown }).code ?? error);
  }
};

async function connect(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  try {
    const socket = createConnection({ port: Number(port), host: "127.0.0.1" });
    socket.on("connect", () => resolve("connected"));
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(String(error.code)));
  } catch (error) {
    return String((error as { code?: unknown }).code ?? error);
  }
  return promise;
}

console.log(
  JSON.stringify({
    environment: Object.keys(process.env),
    passwd: outcome(() => readFileSync("/etc/passwd", "utf8")),
    outside: outcome(() => readFileSync(outside, "utf8")),
    processes: outcome(() => statSync("/proc/1")),
    child: outcome(() => {
      const { error } = spawnSync(process.execPath, ["--version"]);
      if (error) throw error;
    }),
    written: outcome(() => writeFileSync("/tmp/file", "words")),
    network: await connect(),
  }),
);
