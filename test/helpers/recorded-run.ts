/** recorded-run.ts -- a home with a model server, in which one run of the agent "T" was recorded into `t.ndjson`. */
import { type Ended, type Goald, makeGoald } from "./goald.ts";
import { type OpenAIServer, type OpenAIServerOptions, startOpenAIServer } from "./openai-server.ts";

export interface RecordedRun {
  readonly goald: Goald;
  readonly server: OpenAIServer;
  readonly ended: Ended;
  close(): Promise<void>;
}

export interface RecordedRunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Content of the home's .env. */
  readonly dotenv?: string;
  readonly json?: boolean;
}

export async function recordRun(
  reply: NonNullable<OpenAIServerOptions["reply"]>,
  { env = {}, dotenv, json = false }: RecordedRunOptions = {},
): Promise<RecordedRun> {
  const server = await startOpenAIServer({ embeddings: null, reply });
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline", ...env });
  if (dotenv !== undefined) await goald.write(".env", dotenv);
  const agent = ["--name", "T", "--role", "r", "--goal", "g", "--continuous", "--record", "t.ndjson"];
  const ended = await goald.ask(["run", ...agent, ...(json ? ["--json"] : [])]);
  const close = async (): Promise<void> => void (await Promise.all([goald[Symbol.asyncDispose](), server.close()]));
  return { goald, server, ended, close };
}
