/** open-bench-host.ts -- opens the real host on a new home, for a model server that answers at once. */
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openHost } from "#app/host.ts";
import { findHome } from "#config/home.ts";
import { loadSettings } from "#config/load-settings.ts";
import { openLog } from "#util/log.ts";
import { createRedactor, createValueRedactor } from "#util/redact.ts";

const KEY = "sk-bench-0123456789abcdefghij";

export interface BenchServer {
  readonly port: number;
  close(): void;
}

/** `answer` gets the body of a chat request and returns the command of the reply. */
export async function startBenchServer(answer: (body: string) => object): Promise<BenchServer> {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => {
      body += piece;
    });
    request.on("end", () => {
      const thoughts = { text: "", reasoning: "", plan: "", criticism: "", speak: "" };
      const content = JSON.stringify({ thoughts, command: answer(body) });
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const choices = [{ index: 0, finish_reason: "stop", delta: { content } }];
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`data: ${JSON.stringify({ choices, usage })}\n\ndata: [DONE]\n\n`);
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The home is `folder`/home, which may exist. A failure of any agent throws. */
export async function openBenchHost(
  folder: string,
  { port }: Pick<BenchServer, "port">,
  onCommitted: Parameters<typeof openHost>[0]["onCommitted"] = () => undefined,
) {
  const path = join(folder, "home");
  mkdirSync(path, { recursive: true });
  const home = await findHome({
    flag: path,
    env: {},
    cwd: folder,
    checkout: undefined,
    userHome: folder,
    configHome: undefined,
    isTerminal: false,
    askTrust: async () => true,
    uid: process.getuid?.(),
  });
  const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, GOALD_MEMORY_EMBEDDER: "offline" };
  const { settings } = await loadSettings({ home, env });
  const log = await openLog({ folder: home.logFolder, redact: createRedactor([KEY]), level: settings.log.level });
  const redact = createValueRedactor([KEY]);
  const fail = (problem: string): never => {
    throw new Error(problem);
  };
  return openHost({
    home,
    settings,
    log,
    redact,
    scrub: redact,
    onProblem: fail,
    onFailed: (_agent, error) => fail(error.message),
    onCommitted,
  });
}
