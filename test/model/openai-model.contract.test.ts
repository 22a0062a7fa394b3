import type { PromptMessage } from "#core/ports/model.ts";
import { createHttp } from "#http/http.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { type Behaviour, languageModelContract } from "../contracts/language-model.ts";
import { type Answer, startOpenAIServer } from "../helpers/openai-server.ts";

function answerOf(behaviour: Behaviour): Answer {
  if (behaviour === "hangs") return { fault: "stall" };
  return "says" in behaviour ? behaviour.says : { status: behaviour.refusesWith, body: { error: { message: "no" } } };
}

languageModelContract("the OpenAI model against a real server", async (script) => {
  const server = await startOpenAIServer({ reply: script.map(answerOf) });
  const settings = { baseUrl: server.baseUrl, apiKey: "sk-test", http: createHttp(), timeoutMs: 20_000 };
  return {
    model: createOpenAIModel(settings),
    seen: () => server.chats.map(({ messages }) => messages as readonly PromptMessage[]),
    close: server.close,
  };
});
