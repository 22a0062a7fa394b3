import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { endedWith, errorOf, type Goald, jsonOf, makeGoald } from "../helpers/goald.ts";
import { append, numberedModel, write } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";
import { makeWorkedHome, type WorkedHome } from "../helpers/worked-home.ts";

const HOOK = fileURLToPath(new URL("../helpers/kill-at-commit.child.ts", import.meta.url));

let home: WorkedHome;
let goald: Goald;
beforeAll(async () => {
  const calls = [
    write("notes/a.md", "one\ntwo\n"),
    { name: "read_file", args: { file: "notes/a.md" } },
    append("b\n", "b.txt"),
    append("2\n", "notes/a.md"),
  ];
  home = await makeWorkedHome("Foo Bar", calls);
  goald = home.goald;
});
afterAll(async () => home[Symbol.asyncDispose]());

describe("goald restore", () => {
  const text = (path: string) => goald.read(join("workspace/foo-bar", path));

  it.each(["1:before", "1:after", "2:before", "2:after"])(
    "loses nothing when it is killed at a commit (%s): the same call finishes it, and it can be undone",
    async (at) => {
      endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "5"]));
      await appendFile(join(goald.home, "workspace/foo-bar/b.txt"), `${at}\n`);
      const edited = await text("b.txt");
      const killed = await goald.run(["restore", "foo-bar", "--step", "1"], {
        imports: [HOOK],
        env: { KILL_AT_COMMIT: at },
      });
      expect(killed.signal).toBe("SIGKILL");
      // The files change after the last commit.
      expect([await text("b.txt"), await text("notes/a.md")]).toEqual([edited, "one\ntwo\n2\n"]);
      endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "1"]));
      expect([await text("b.txt"), await text("notes/a.md")]).toEqual([undefined, "one\ntwo\n"]);
      endedWith(0, await goald.ask(["restore", "foo-bar", "--undo"]));
      expect([await text("b.txt"), await text("notes/a.md")]).toEqual([edited, "one\ntwo\n2\n"]);
      expect(endedWith(0, await goald.ask(["verify"])).stdout).toMatch(/: sound\.\n$/);
    },
  );

  it("refuses to take back what somebody changed since, and does it with --force", async () => {
    endedWith(0, await goald.ask(["restore", "foo-bar", "--step", "1"]));
    await appendFile(join(goald.home, "workspace/foo-bar/notes/a.md"), "mine\n");
    const planned = jsonOf(await goald.ask(["restore", "foo-bar", "--undo", "--dry-run", "--json"]));
    expect(problemsOfView("restore", planned)).toBe("");
    expect(planned).toMatchObject({ step: null, changedSince: ["notes/a.md"] });
    expect(endedWith(7, await goald.ask(["restore", "foo-bar", "--undo"])).stderr).toContain("notes/a.md");
    endedWith(0, await goald.ask(["restore", "foo-bar", "--undo", "--force"]));
    expect(await text("notes/a.md")).toBe("one\ntwo\n2\n");
  });

  it("refuses an agent at work, and changes nothing of it", async () => {
    const { promise: hold, resolve: release } = Promise.withResolvers<void>();
    const think = numberedModel([write("a.txt", "1"), write("a.txt", "2")]);
    await using busy = await startOpenAIServer({
      reply: async (request, index) => {
        if (index === 2) await hold;
        return think(request);
      },
      embeddings: null,
    });
    await using other = await makeGoald({ OPENAI_BASE_URL: busy.baseUrl, GOALD_EMBEDDER: "offline" });
    const running = other.start(["run", "--name", "T", "--role", "r", "-g", "g", "--continuous", "--json"]);
    await running.see('"callId":"m3"');
    const refused = errorOf(endedWith(7, await other.ask(["restore", "t", "--step", "1", "--json"])));
    expect(refused).toMatchObject({ code: "GOALD_CONFLICT", hint: expect.stringContaining("goald pause t") });
    endedWith(0, await other.ask(["restore", "t", "--step", "1", "--dry-run"]));
    release();
    endedWith(0, await running.ended);
    expect(await other.read("workspace/t/a.txt")).toBe("2");
  });
});
