import { LLMock } from "@copilotkit/aimock";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import type { LanguageModel } from "#core/ports/model.ts";
import { activeFrame } from "#core/state.ts";
import { createHttp } from "#http/http.ts";
import { createOpenAIEmbedder } from "#model/openai-embedder.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { makeLoop } from "../helpers/loop.ts";
import { ledger, ledgerText, numberedModel } from "../helpers/numbered-model.ts";

/** The loop and the client against a server that nobody here wrote (@copilotkit/aimock). */
const think = numberedModel(ledger(3));
let mock: LLMock;
beforeEach(async () => {
  mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" });
  mock.on({ endpoint: "chat", predicate: () => true }, (request) => ({ content: think(request as never) }));
  await mock.start();
});
afterEach(() => mock.stop());

const client = () => ({ baseUrl: `${mock.url}/v1`, apiKey: "mock", http: createHttp(), timeoutMs: 20_000 });

async function runWith(model: LanguageModel) {
  const loop = await makeLoop({ script: [], model, maxModelFailures: 8 });
  return { loop, state: await loop.run() };
}
const codesOf = (events: readonly RecordedEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === "model-failed" ? [event.code] : []));

describe("a foreign model server", () => {
  it("works with streams, from the first goal to the last", async () => {
    const { loop, state } = await runWith(createOpenAIModel({ ...client() }));
    expect(activeFrame(state).phase.kind).toBe("resting");
    expect(loop.text("ledger.txt")).toBe(ledgerText(3));
    expect(state.usage).toMatchObject({ modelCalls: 4, estimated: false });
    expect(codesOf(await loop.events())).toEqual([]);
    expect(mock.getRequests().map(({ body }) => (body as { stream?: boolean } | null)?.stream)).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  it("works without streams if it rejects them", async () => {
    mock.nextRequestError(400, { message: "stream is not supported", type: "invalid_request_error" });
    const { loop } = await runWith(createOpenAIModel(client()));
    expect(loop.text("ledger.txt")).toBe(ledgerText(3));
    expect(codesOf(await loop.events())).toEqual(["unsupported"]);
    expect((mock.getLastRequest()?.body as { stream?: boolean } | null)?.stream).toBeUndefined();
  });

  it("returns vectors", async () => {
    const embedder = createOpenAIEmbedder({ ...client(), model: "text-embedding-3-small" });
    const texts = ["rackets and strings", "a court of clay"];
    const [one, two] = await embedder.embed(texts, new AbortController().signal);
    expect(one?.length).toBeGreaterThan(100);
    expect(two?.length).toBe(one?.length);
  });

  it.each<[string, Parameters<LLMock["setChaos"]>[0], string]>([
    ["drops", { dropRate: 1 }, "server-error"],
    ["garbles", { malformedRate: 1 }, "broken-reply"],
    ["hangs up on", { disconnectRate: 1 }, "connection-lost"],
    ["turns down", { rateLimitRate: 1 }, "rate-limited"],
  ])("that %s everything for a while does no harm", async (_title, chaos, code) => {
    const real = createOpenAIModel(client());
    let calls = 0;
    const { loop, state } = await runWith({
      ...real,
      complete: (request, signal) => {
        if (calls++ % 3 === 0) mock.setChaos(chaos);
        else mock.clearChaos();
        return real.complete(request, signal);
      },
    });
    expect(activeFrame(state).phase.kind).toBe("resting");
    expect(loop.text("ledger.txt")).toBe(ledgerText(3));
    expect(new Set(codesOf(await loop.events()))).toEqual(new Set([code]));
  });
});
