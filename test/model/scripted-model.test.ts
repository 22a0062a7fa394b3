import { describe, expect, it } from "@jest/globals";
import type { ModelAnswer } from "#core/ports/model.ts";
import { type Behaviour, languageModelContract } from "../contracts/language-model.ts";
import { HANG, type ScriptedReply, scriptedModel } from "../helpers/scripted-model.ts";

const failed = (code: string, retry: Extract<ModelAnswer, { kind: "failed" }>["retry"]): ModelAnswer => ({
  kind: "failed",
  code,
  message: "scripted",
  retry,
});
function replyOf(behaviour: Behaviour): ScriptedReply {
  if (behaviour === "hangs") return HANG;
  if ("says" in behaviour) return behaviour.says;
  return behaviour.refusesWith === 401 ? failed("unauthorized", null) : failed("rate-limited", { afterMs: null });
}

languageModelContract("the scripted model", async (script) => {
  const model = scriptedModel(script.map(replyOf));
  return { model, seen: () => model.requests.map(({ messages }) => messages), close: async () => undefined };
});

describe("the scripted model", () => {
  const signal = new AbortController().signal;
  const ask = (content: string) => ({ model: "m", messages: [{ role: "user" as const, content }] });

  it("can read the request before it answers", async () => {
    const model = scriptedModel(({ messages }, index) => `${index}: ${messages[0]?.content}`);
    expect(await model.complete(ask("one"), signal)).toMatchObject({ text: "0: one" });
    expect(await model.complete(ask("two"), signal)).toMatchObject({ text: "1: two" });
  });

  it("fails on a request beyond its script", async () => {
    expect(await scriptedModel([]).complete(ask("one"), signal)).toMatchObject({ code: "script-over", retry: null });
  });
});
