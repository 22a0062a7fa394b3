import { afterEach, describe, expect, it } from "@jest/globals";
import { endedWith, jsonOf, makeGoald } from "../helpers/goald.ts";
import { ledger, numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { PINECONE_KEY, type PineconeServer, startPineconeServer } from "../helpers/pinecone-server.ts";

const RUN = ["run", "--name", "Foo", "--role", "r", "--goal", "g", "--continuous"];
let pinecone: PineconeServer | undefined;
afterEach(() => pinecone?.close());

async function run(settings: Readonly<Record<string, string>>) {
  await using server = await startOpenAIServer({ reply: numberedModel(ledger(6)) });
  await using goald = await makeGoald({
    OPENAI_BASE_URL: server.baseUrl,
    MEMORY_BACKEND: "pinecone",
    PINECONE_API_KEY: PINECONE_KEY,
    ...settings,
  });
  const ended = await goald.ask(RUN);
  expect(ended).toMatchObject({ code: 0, signal: null });
  expect(ended.stdout + ended.stderr).not.toContain(PINECONE_KEY);
  endedWith(0, await goald.ask(["down"]));
  return `${ended.stdout}${ended.stderr}${await goald.read(".goald/log/goald.log")}`;
}

describe("goald run with its memory in Pinecone", () => {
  it("has sent all memories of the agent to the configured index when the daemon ends", async () => {
    pinecone = await startPineconeServer({ dimension: 64 });
    await run({ PINECONE_INDEX: "mem", PINECONE_CONTROLLER_HOST: pinecone.url });
    expect(pinecone.records("foo").size).toBeGreaterThanOrEqual(5);
    expect(pinecone.violations).toEqual([]);
  });

  it("loses what a person forgets at once, by the daemon", async () => {
    pinecone = await startPineconeServer({ dimension: 64 });
    const { url } = pinecone;
    await using server = await startOpenAIServer({ reply: numberedModel(ledger(4)) });
    const remote = {
      MEMORY_BACKEND: "pinecone",
      PINECONE_API_KEY: PINECONE_KEY,
      PINECONE_INDEX: "mem",
      PINECONE_CONTROLLER_HOST: url,
    };
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, ...remote });
    endedWith(0, await goald.ask(RUN));
    endedWith(0, await goald.ask(["down"]));
    const { memories } = jsonOf<{ memories: { id: string; text: string }[] }>(
      await goald.ask(["memory", "foo", "list", "--json"]),
    );
    const steps = ["Task 1 of 4", "Task 2 of 4"];
    const idOf = (step: string) => memories.find(({ text }) => text.startsWith(`Thought: ${step}`))?.id ?? "";
    const found = () => steps.filter((step) => pinecone?.records("foo").has(idOf(step)));
    expect(found()).toEqual(steps);

    endedWith(0, await goald.ask(["memory", "foo", "forget", idOf("Task 1 of 4")]));
    expect(found()).toEqual(["Task 2 of 4"]);
    endedWith(0, await goald.ask(["memory", "foo", "forget", idOf("Task 2 of 4")]));
    expect(found()).toEqual([]);
    expect(pinecone.records("foo").size).toBeGreaterThan(0);
    expect(pinecone.violations).toEqual([]);
  });

  it("reports how to fix an index that does not fit, and continues", async () => {
    pinecone = await startPineconeServer({ dimension: 1_536 });
    const shown = await run({ PINECONE_INDEX: "mem", PINECONE_CONTROLLER_HOST: pinecone.url });
    expect(shown).toContain("EMBEDDING_MODEL to a model of 1536 dimensions");
    expect(pinecone.namespaces()).toEqual([]);
  });
});
