import { describe, expect, it } from "@jest/globals";
import { activeFrame } from "#core/state.ts";
import type { Answer } from "../helpers/answering-person.ts";
import { done, type Loop, makeLoop, reply } from "../helpers/loop.ts";

const write = (name: string) => reply("write_to_file", { file: name, text: name });
const always = { approve: "always" } as const;

/** A person who gives these answers in this order. */
function person(...answers: readonly Answer[]) {
  const asked: string[] = [];
  const ask = async (call: { readonly name: string }): Promise<Answer> => {
    asked.push(call.name);
    return answers[asked.length - 1] ?? { kind: "leave" };
  };
  return { asked, ask };
}
const yes = (count = 1): Answer => ({ kind: "approved", count });

describe("approval by a person", () => {
  it("is requested before every command, and a yes runs the command", async () => {
    const loop = await makeLoop({ script: [write("a"), write("b"), done()], settings: always });
    const { ask, asked } = person(yes(), yes(), yes());
    await loop.run({ ask });
    expect(asked).toEqual(["write_to_file", "write_to_file", "task_complete"]);
    expect([...loop.files.keys()]).toEqual(["a", "b"]);
  });

  it("covers N commands after y -N, the present one included", async () => {
    const loop = await makeLoop({ script: [write("a"), write("b"), write("c"), write("d"), done()], settings: always });
    const { ask, asked } = person(yes(3), yes(2));
    const state = await loop.run({ ask });
    expect(asked).toHaveLength(2);
    expect(activeFrame(state).phase.kind).toBe("resting");
    expect((await loop.events()).filter((event) => event.type === "command-approved").map((event) => event.by)).toEqual(
      ["person", "earlier-approval", "earlier-approval", "person", "earlier-approval"],
    );
  });

  it("given ahead with y -N ends when the person says something else", async () => {
    const script = [write("a"), write("b"), write("c"), done()];
    const askedIn = async (says: boolean): Promise<readonly string[]> => {
      const loop: Loop = await makeLoop({
        settings: always,
        script: async (_request, index) => {
          const words = { type: "say", from: "ada", text: "Call the next one d." } as const;
          if (says && index === 1) await loop.store.deliver(loop.row.id, "say", words, "2026-11-20T08:00:00.000Z");
          return script[index] ?? done();
        },
      });
      const { ask, asked } = person(yes(9), yes(9));
      await loop.run({ ask });
      return asked;
    };
    expect(await askedIn(false)).toEqual(["write_to_file"]);
    expect(await askedIn(true)).toEqual(["write_to_file", "write_to_file"]);
  });

  it("is replaced by the person's words: the command does not run, and the model reads the words", async () => {
    const loop = await makeLoop({ script: [write("a"), done()], settings: always });
    await loop.run({ ask: person({ kind: "feedback", text: "call it b, please" }, yes()).ask });
    expect(loop.files.size).toBe(0);
    expect(loop.model.requests[1]?.messages.some((message) => message.content.includes("call it b, please"))).toBe(
      true,
    );
    expect((await loop.store.memories(loop.row.id, 0, 10))[0]?.text).toContain("call it b, please");
  });

  it("stays open when the person leaves: a resume asks about the same command, which has not run", async () => {
    const loop = await makeLoop({ script: [write("a"), done()], settings: always });
    const state = await loop.run({ ask: person({ kind: "leave" }).ask });
    expect(state.paused).toMatchObject({ code: "person" });
    expect(loop.files.size).toBe(0);
    await loop.store.deliver(loop.row.id, "resume", { type: "resume" }, "2026-11-20T08:00:00.000Z");
    const second = person(yes(), yes());
    await loop.run({ ask: second.ask });
    expect(second.asked).toEqual(["write_to_file", "task_complete"]);
    expect(loop.model.requests).toHaveLength(2);
    expect(loop.text("a")).toBe("a");
  });

  it("is durably requested while nobody is there, and the agent waits", async () => {
    const loop = await makeLoop({ script: [write("a"), done()], settings: always });
    const state = await loop.run();
    expect(activeFrame(state).phase).toMatchObject({ kind: "awaiting-approval", callId: "c1" });
    await loop.store.deliver(
      loop.row.id,
      "1",
      { type: "approval", callId: "c1", verdict: "approved", count: 2 },
      "2026-11-20T08:00:00.000Z",
    );
    expect(activeFrame(await loop.run()).phase.kind).toBe("resting");
    expect(loop.text("a")).toBe("a");
  });

  it("is not requested in a continuous run", async () => {
    const loop = await makeLoop({ script: [write("a"), done()] });
    const { ask, asked } = person();
    await loop.run({ ask });
    expect(asked).toEqual([]);
  });
});

describe("Ctrl-C", () => {
  it("lets the present step finish and pauses before the next", async () => {
    const controller = new AbortController();
    const loop = await makeLoop({
      script: (_request, index) => {
        if (index === 1) controller.abort();
        return index < 5 ? write(`f${index}`) : done();
      },
    });
    const state = await loop.run({ interrupt: controller.signal });
    expect(state.paused).toMatchObject({ code: "person" });
    expect([...loop.files.keys()]).toEqual(["f0", "f1"]);
    expect(loop.model.requests).toHaveLength(2);
  });

  it("ends a wait for the next attempt at once", async () => {
    const controller = new AbortController();
    const loop = await makeLoop({
      script: () => {
        controller.abort();
        return { kind: "failed", code: "rate-limited", message: "Later.", retry: { afterMs: 3_600_000 } };
      },
    });
    const state = await loop.run({ interrupt: controller.signal });
    expect(state.paused).toMatchObject({ code: "person" });
    expect(loop.clock.now().toISOString() < "2026-11-20T09:00:00.000Z").toBe(true);
  });
});

describe("a person's words", () => {
  it("are shown to the model in the next step, once", async () => {
    const loop = await makeLoop({ script: [reply("do_nothing"), done()] });
    await loop.store.deliver(
      loop.row.id,
      "say-1",
      { type: "say", from: "ada", text: "mind the gap" },
      "2026-11-20T08:00:00.000Z",
    );
    expect(
      await loop.store.deliver(
        loop.row.id,
        "say-1",
        { type: "say", from: "ada", text: "mind the gap" },
        "2026-11-20T08:00:00.000Z",
      ),
    ).toBe(false);
    await loop.run();
    expect(loop.model.requests[0]?.messages.filter((message) => message.content.includes("mind the gap"))).toHaveLength(
      1,
    );
    expect((await loop.events()).filter((event) => event.type === "message-received")).toHaveLength(1);
  });
});
