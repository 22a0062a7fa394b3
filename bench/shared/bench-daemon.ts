/** bench-daemon.ts -- the real daemon in a process of its own, with agents that write lines for a model server. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, connectHost } from "#api/client.ts";
import { readHostInfo } from "#api/daemon-files.ts";
import { DAEMON_ENVIRONMENT, DAEMON_OPTIONS } from "#api/spawn-daemon.ts";
import { PRIVATE_FOLDER } from "#config/home.ts";

export const GOALD = join(import.meta.dirname, "../../src/goald.js");

/** `latencyMs`: after which the model answers. `steps`: of an agent until it completes its goal. */
export interface BenchLoad {
  readonly latencyMs: number;
  readonly steps: number;
  readonly concurrency: number;
}

/** Starts the model server and the daemon, with the options of a daemon that goald starts. */
export async function startBenchDaemon({ latencyMs, steps, concurrency }: BenchLoad) {
  const home = mkdtempSync(join(tmpdir(), "goald-bench-"));
  const model = fork(join(import.meta.dirname, "../many-agents/model-server.ts"), [`${latencyMs}`, `${steps}`]);
  const [port] = (await once(model, "message")) as [number];
  const env = {
    ...DAEMON_ENVIRONMENT,
    ...process.env,
    OPENAI_API_KEY: "bench-needs-no-key",
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    GOALD_MEMORY_EMBEDDER: "offline",
    GOALD_DAEMON_CONCURRENCY: `${concurrency}`,
  };
  const daemon = await startDaemon(home, env, DAEMON_OPTIONS);
  const info = readHostInfo(join(home, PRIVATE_FOLDER, "lock.db"));
  return {
    pid: daemon.pid,
    client: connectHost(String(info?.socket)),
    model,
    [Symbol.asyncDispose]: async () => {
      await daemon[Symbol.asyncDispose]();
      model.disconnect();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Resolves when the daemon of this home is ready. */
export async function startDaemon(home: string, env: NodeJS.ProcessEnv, execArgv: readonly string[] = []) {
  const daemon = fork(GOALD, ["daemon", "--home", home], { env, execArgv: [...execArgv] });
  const [hello] = (await once(daemon, "message")) as [{ ready?: { pid: number } }];
  if (!hello.ready) throw new Error(`Expected the daemon to be ready, got ${JSON.stringify(hello)}.`);
  return {
    pid: hello.ready.pid,
    [Symbol.asyncDispose]: async () => {
      daemon.kill("SIGTERM");
      await once(daemon, "exit");
    },
  };
}

export async function createWriters(client: Client, agents: number, stepLimit: number): Promise<void> {
  const settings = { approve: "never", stepLimit } as const;
  for (let number = 1; number <= agents; number++)
    await client.create({ name: `Bench${number}`, role: "a writer of lines", goals: ["Write lines."], settings });
}
