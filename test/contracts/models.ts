/** models.ts -- the contract of every LanguageModel. */
import { describe, expect, it } from "@jest/globals";
import type { Embedder } from "#core/ports/memory.ts";
import type { LanguageModel, PromptMessage } from "#core/ports/model.ts";
import { useOpened } from "../helpers/folder.ts";

/** The model's behaviour at each request, in order. */
export type Behaviour = { readonly says: string } | { readonly refusesWith: 401 | 429 } | "hangs";

export interface ModelUnderTest {
  readonly model: LanguageModel;
  /** The messages of each request, as the model received them. */
  seen(): readonly (readonly PromptMessage[])[];
  close(): Promise<void>;
}

const messages: readonly PromptMessage[] = [
  { role: "system", content: "You are Foo.\nGOALS:\n1. Say “zażółć” 🎾" },
  { role: "assistant", content: '{"command": {"name": "do_nothing", "args": {}}}' },
  { role: "user", content: "Determine which next command to use." },
];
const request = { model: "test-model", messages };
const live = () => new AbortController().signal;

export function languageModelContract(
  name: string,
  make: (script: readonly Behaviour[]) => Promise<ModelUnderTest>,
): void {
  describe(`${name} as a LanguageModel`, () => {
    const keep = useOpened();
    const start = async (script: readonly Behaviour[]) => keep(await make(script));

    it("sends the messages unchanged and returns text, finish reason and usage", async () => {
      const { model, seen } = await start([{ says: "Zażółć gęślą jaźń 🎾" }]);
      expect(await model.complete(request, live())).toEqual({
        kind: "replied",
        text: "Zażółć gęślą jaźń 🎾",
        finishReason: "stop",
        usage: {
          inputTokens: expect.any(Number),
          outputTokens: expect.any(Number),
          cachedTokens: 0,
          estimated: false,
        },
      });
      expect(seen()).toEqual([messages]);
    });

    it("returns a temporary and a lasting failure, and answers the next request", async () => {
      const { model } = await start([{ refusesWith: 429 }, { refusesWith: 401 }, { says: "back" }]);
      const limited = { kind: "failed", code: "rate-limited", retry: { afterMs: null } };
      expect(await model.complete(request, live())).toMatchObject(limited);
      const lasting = { kind: "failed", code: "unauthorized", message: expect.stringMatching(/\w/), retry: null };
      expect(await model.complete(request, live())).toEqual(lasting);
      expect(await model.complete(request, live())).toMatchObject({ kind: "replied", text: "back" });
    });

    it("rejects with the signal's reason, without a request if it is aborted before one", async () => {
      const { model, seen } = await start(["hangs"]);
      const reason = new Error("going down");
      await expect(model.complete(request, AbortSignal.abort(reason))).rejects.toBe(reason);
      expect(seen()).toEqual([]);
      const controller = new AbortController();
      const asked = model.complete(request, controller.signal);
      while (seen().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      controller.abort(reason);
      await expect(asked).rejects.toBe(reason);
    });
  });
}

// The contract of every Embedder, local or remote.

export function embedderContract(name: string, make: () => Embedder): void {
  const live = () => new AbortController().signal;
  const cosine = (a: Float32Array | undefined, b: Float32Array | undefined) =>
    [...(a ?? [])].reduce((sum, component, at) => sum + component * (b?.[at] ?? 0), 0);

  describe(`${name} as an Embedder`, () => {
    it("returns one unit vector of its dimensions, which its id names, for each text, in order", async () => {
      const embedder = make();
      const texts = ["The strings are red.", "Das Netz ist hoch.", "The strings are red."];
      const vectors = await embedder.embed(texts, live());
      expect(vectors).toHaveLength(3);
      for (const vector of vectors) {
        expect(vector).toHaveLength(embedder.dimensions);
        expect(Math.hypot(...vector)).toBeCloseTo(1, 4);
      }
      expect(cosine(vectors[0], vectors[2])).toBeCloseTo(1, 4);
      expect(cosine(vectors[0], vectors[1])).toBeLessThan(0.9);
      expect(await embedder.embed([], live())).toEqual([]);
      expect(embedder.id).toContain(String(embedder.dimensions));
    });

    it.each([
      ["empty", ""],
      ["white space", " \n\t"],
      ["empty", "!!! --- ???"],
      ["emoji", "🎾🎾"],
      ["punctuation only", "a\ud800b"],
      ["NUL", "a\0b"],
      ["40,000 characters without a space", "x".repeat(40_000)],
    ])("returns a unit vector for a hostile text: %s", async (_title, text) => {
      const [vector] = await make().embed([text], live());
      expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 4);
    });
  });
}
