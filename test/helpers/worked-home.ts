/** worked-home.ts -- a home in which one agent has completed its calls, with the model server still open. */
import type { CommandCall } from "#core/call.ts";
import { endedWith, type Goald, makeGoald } from "./goald.ts";
import { numberedModel } from "./numbered-model.ts";
import { startOpenAIServer } from "./openai-server.ts";

export interface WorkedHome extends AsyncDisposable {
  readonly goald: Goald;
}

export async function makeWorkedHome(name: string, calls: readonly CommandCall[]): Promise<WorkedHome> {
  const server = await startOpenAIServer({ reply: numberedModel(calls), embeddings: null });
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  endedWith(0, await goald.ask(["run", "--name", name, "--role", "r", "-g", "Work", "--continuous"]));
  return {
    goald,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await goald[Symbol.asyncDispose]();
    },
  };
}
