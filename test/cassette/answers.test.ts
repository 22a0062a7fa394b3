import { describe, expect, it } from "@jest/globals";
import { type AskPort, playAnswers, recordAnswers, tapePorts } from "#cassette/answers.ts";
import type { AnswerLine } from "#cassette/format.ts";
import type { Place } from "#cassette/tape.ts";
import { GoaldError } from "#core/errors.ts";
import type { AddressStatus } from "#core/goal-check.ts";
import type { Embedder } from "#core/ports/memory.ts";
import type { LanguageModel, ModelAnswer } from "#core/ports/model.ts";

const SECRET = "sk-very-secret";
const redact = (text: string): string => text.replaceAll(SECRET, "[secret]");
const { signal } = new AbortController();
const PLACE: Place = { step: 3, attempt: 1 };
const USAGE = { inputTokens: 5, outputTokens: 2, cachedTokens: 0, estimated: false };
const replied = (text: string): ModelAnswer => ({ kind: "replied", text, finishReason: "stop", usage: USAGE });
const request = (content: string) => ({ model: "m", messages: [{ role: "user", content }] }) as const;
const unopened = (): never => {
  throw new Error("A replay opens nothing.");
};

/** Records what `use` asks, and returns the lines as a file holds them. */
async function record(use: (ask: AskPort) => Promise<unknown>, place: () => Place | null = () => PLACE) {
  const lines: AnswerLine[] = [];
  await use(recordAnswers({ redact, place, write: (line) => void lines.push(line) })).catch(() => undefined);
  return JSON.parse(JSON.stringify(lines)) as readonly AnswerLine[];
}
const play = (lines: readonly AnswerLine[]) =>
  playAnswers(
    lines,
    () => PLACE,
    redact,
    (what) => {
      throw new Error(what);
    },
  );
const keep = <T>(_name: string, compute: () => Promise<T>): Promise<T> => compute();
const tapeModel = (open: () => LanguageModel, ask: AskPort) => tapePorts(ask, keep).model(open);
const tapeEmbedder = (embedder: Embedder, ask: AskPort) => tapePorts(ask, keep).embedder(embedder);
const tapeStatuses = (statuses: AddressStatus, ask: AskPort) => tapePorts(ask, keep).statuses(statuses);
const model = (answer: ModelAnswer): LanguageModel => ({
  complete: async (_request, _signal, onText) => {
    if (answer.kind === "replied") for (const piece of answer.text.match(/.{1,4}/gs) ?? []) onText?.(piece);
    return answer;
  },
});

describe("what the model answers", () => {
  it("is played as it was recorded, failures too, and no model is opened", async () => {
    const failed: ModelAnswer = { kind: "failed", code: "rate-limited", message: "busy", retry: { afterMs: 5 } };
    for (const answer of [replied("hello"), failed]) {
      const lines = await record((ask) => tapeModel(() => model(answer), ask).complete(request("a"), signal));
      const played = play(lines);
      const shown: string[] = [];
      const given = await tapeModel(unopened, played.ask).complete(request("a"), signal, (piece) => shown.push(piece));
      expect(given).toEqual(answer);
      expect(shown).toEqual(answer.kind === "replied" ? ["hello"] : []);
      expect([played.played, played.left()]).toEqual([1, undefined]);
    }
  });

  it("keeps no secret, also when it comes in pieces of four characters", async () => {
    const live: string[] = [];
    const answer = replied(`It is ${SECRET}, I think.`);
    const lines = await record((ask) =>
      tapeModel(() => model(answer), ask).complete(request(`Is it ${SECRET}?`), signal, (piece) => live.push(piece)),
    );
    expect(live.length).toBeGreaterThan(5);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
    expect(JSON.stringify(lines)).toContain("It is [secret], I think.");
  });

  it("is given only for the same request, and the difference is named", async () => {
    const lines = await record((ask) => tapeModel(() => model(replied("a")), ask).complete(request("one"), signal));
    const other = tapeModel(unopened, play(lines).ask).complete(request("two"), signal);
    await expect(other).rejects.toThrow(/request 1 differs: it\.messages\[0\]\.content differs from character 1/);
    const { ask } = play([]);
    await expect(tapeModel(unopened, ask).complete(request("one"), signal)).rejects.toThrow(/not in the recording/);
  });

  it("is not recorded inside a call whose outcome is recorded as a whole", async () => {
    const use = (ask: AskPort) => tapeModel(() => model(replied("a")), ask).complete(request("one"), signal);
    expect(await record(use, () => null)).toEqual([]);
    expect(await record(use)).toHaveLength(1);
  });

  it("is missed when the run does not ask for it", async () => {
    const lines = await record((ask) => tapeModel(() => model(replied("a")), ask).complete(request("one"), signal));
    expect(play(lines).left()).toBe("step 3, to the model");
  });
});

describe("what an embedder answers", () => {
  const embedder = (fails = false): Embedder => ({
    id: "e@0",
    dimensions: 0,
    local: false,
    semantic: true,
    embed: async (texts, _signal, countTokens) => {
      countTokens?.(7);
      if (fails) throw new GoaldError("GOALD_HTTP_REFUSED", `No embeddings for ${SECRET}.`);
      return texts.map((text) => Float32Array.of(text.length, 0.1, -1e-9));
    },
  });

  it("is played to the bit, and tells its dimensions from the first answer on", async () => {
    const lines = await record((ask) => tapeEmbedder(embedder(), ask).embed(["one", "three"], signal));
    const played = tapeEmbedder(embedder(true), play(lines).ask);
    expect([played.id, played.dimensions]).toEqual(["e@0", 0]);
    expect(await played.embed(["one", "three"], signal)).toEqual(await embedder().embed(["one", "three"], signal));
    expect([played.id, played.dimensions]).toEqual(["e@3", 3]);
  });

  it("may be a failure, which is played with its code and its cost", async () => {
    const lines = await record((ask) => tapeEmbedder(embedder(true), ask).embed(["one"], signal));
    const counted: number[] = [];
    const again = tapeEmbedder(embedder(), play(lines).ask).embed(["one"], signal, (tokens) => counted.push(tokens));
    await expect(again).rejects.toMatchObject({ code: "GOALD_HTTP_REFUSED", message: "No embeddings for [secret]." });
    expect(counted).toEqual([7]);
  });
});

describe("the status of an address", () => {
  it("is played without asking the address", async () => {
    const asked: string[] = [];
    const statuses: AddressStatus = {
      get: async (url) => {
        asked.push(url);
        return 204;
      },
    };
    const get = (ask: AskPort) => tapeStatuses(statuses, ask).get("https://a.example/", { follows: true }, signal);
    const lines = await record(get);
    expect(await get(play(lines).ask)).toBe(204);
    expect(asked).toEqual(["https://a.example/"]);
  });
});
