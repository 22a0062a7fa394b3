/**
 * local-servers.ts -- finds OpenAI-compatible servers on this machine. Never uses one.
 *
 * Accepts only an OpenAI model list: other programs use the same ports. Sends no key. The person decides whether to use
 * a server.
 */
import { listModels } from "./model-list.ts";
import type { ConfiguredHttp } from "./model-server.ts";

export interface LocalServer {
  readonly name: string;
  readonly baseUrl: string;
  /** Names as the server sends them, not sanitized. */
  readonly models: readonly string[];
}
interface LocalPort {
  readonly name: string;
  readonly port: number;
}

/** Default ports of common servers. */
export const USUAL_PORTS: readonly LocalPort[] = [
  { name: "Ollama", port: 11434 },
  { name: "LM Studio", port: 1234 },
  { name: "llama.cpp", port: 8080 },
  { name: "vLLM", port: 8000 },
];
const PROBE_TIMEOUT_MS = 400;

/** Returns servers in the order of `ports`. Resolves within the time of one probe, never rejects. */
export async function findLocalServers(
  http: ConfiguredHttp,
  ports: readonly LocalPort[] = USUAL_PORTS,
): Promise<readonly LocalServer[]> {
  const found = await Promise.all(
    ports.map(async ({ name, port }) => {
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      const listed = await listModels({ baseUrl, apiKey: "", http }, PROBE_TIMEOUT_MS);
      return listed?.isOpenAIList ? [{ name, baseUrl, models: listed.names }] : [];
    }),
  );
  return found.flat();
}
