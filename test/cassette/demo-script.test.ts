import { describe, expect, it } from "@jest/globals";
import { openEdges, readDemoScript } from "#cassette/demo-script.ts";

const SCRIPT = readDemoScript("config/demo/script.json");
const { signal } = new AbortController();
const ask = (content: string) => ({ model: "m", messages: [{ role: "user", content }] }) as const;

describe("the demo's script", () => {
  it("has the whole run: replies, pages, files and cells", () => {
    expect(SCRIPT.name).toBe("Foo");
    expect(Object.keys(SCRIPT.files)).toContain("reviews/natural-gut.md");
    expect([SCRIPT.replies.length, Object.keys(SCRIPT.web).length]).toEqual([16, 3]);
    expect(SCRIPT.cells.at(-1)?.type).toBe("cell-end");
  });

  it("answers in pieces, and with the page of an address", async () => {
    const { model, http } = openEdges(SCRIPT);
    const pieces: string[] = [];
    const answer = await model.complete(ask("go"), signal, (piece) => pieces.push(piece));
    expect(answer).toMatchObject({ kind: "replied", text: pieces.join(""), finishReason: "stop" });
    expect(pieces.length).toBeGreaterThan(5);
    const page = await http.public()("https://racket-notes.example/strings-for-topspin");
    expect([page.status, page.url]).toEqual([200, "https://racket-notes.example/strings-for-topspin"]);
    expect((await http.to("https://search.example")("https://search.example/search?q=x")).status).toBe(200);
    expect((await http.public()("https://elsewhere.example/")).status).toBe(404);
  });

  it("fails when a request does not show what its reply builds on, and when it ends", async () => {
    const replies = SCRIPT.replies.filter(({ shown }) => shown !== undefined).slice(0, 1);
    const { model } = openEdges({ ...SCRIPT, replies });
    expect(await model.complete(ask("nothing"), signal)).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("does not show"),
    });
    expect(await model.complete(ask("more"), signal)).toMatchObject({
      message: expect.stringContaining("ends before"),
    });
  });
});
