import { describe, expect, it } from "@jest/globals";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { append, ledgerText, numberedModel } from "../helpers/numbered-model.ts";

type Json = Record<string, unknown>;
const RUN = ["run", "--role", "r", "--goal", "g", "--continuous"];
const think = numberedModel([append("line 1\n")]);

/** A minimal model server that ignores unknown fields and does not stream. `refuses` returns status and message. */
async function foreign(refuses: (body: Json) => readonly [number, string] | undefined) {
  let requests = 0;
  const { origin, close } = await listenOnLoopback(async (incoming, outgoing) => {
    const body = JSON.parse(Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString()) as Json;
    requests++;
    const [status, words] = refuses(body) ?? [200, ""];
    const message = { role: "assistant", content: think(body as never) };
    outgoing.writeHead(status, { "content-type": "application/json" });
    outgoing.end(status === 200 ? JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }) : words);
  });
  const goald = await makeGoald({ OPENAI_BASE_URL: `${origin}/v1`, GOALD_MEMORY_EMBEDDER: "offline" });
  return {
    goald,
    /** Returns the requests since the last call. */
    count: () => {
      const counted = requests;
      requests = 0;
      return counted;
    },
    [Symbol.asyncDispose]: async () => {
      await goald[Symbol.asyncDispose]();
      await close();
    },
  };
}

const unknown = (name: string) => [400, JSON.stringify({ error: { message: `Unknown parameter: ${name}` } })] as const;

describe("a model server with few features", () => {
  it.concurrent.each<[title: string, refuses: Parameters<typeof foreign>[0], extra: number, mode: string]>([
    ["that ignores unknown fields costs no extra request", () => undefined, 0, "json_schema"],
    [
      "that rejects response_format costs one extra request",
      (body) => (body.response_format ? unknown("response_format") : undefined),
      1,
      "plain",
    ],
    [
      "that rejects streams costs one extra request",
      (body) => (body.stream ? unknown("stream") : undefined),
      1,
      "json_schema",
    ],
    [
      "that rejects both without a message costs one extra request",
      (body) => (body.stream || body.response_format ? [400, ""] : undefined),
      1,
      "plain",
    ],
  ])("%s, only once", async (_title, refuses, extra, mode) => {
    await using world = await foreign(refuses);
    const { goald, count } = world;
    endedWith(0, await goald.ask([...RUN, "--name", "One"]));
    expect(count()).toBe(2 + extra);
    endedWith(0, await goald.ask([...RUN, "--name", "Two"]));
    expect(count()).toBe(2);
    for (const name of ["one", "two"]) expect(await goald.read(`workspace/${name}/ledger.txt`)).toBe(ledgerText(1));
    const { log, problems } = await lookInto(goald, "two");
    expect(problems).toEqual([]);
    expect(log.findLast((event) => event.type === "model-asked")).toMatchObject({ mode });
  });
});
