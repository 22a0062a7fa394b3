import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { makeRepository } from "../helpers/git-repository.ts";
import { type GitServer, startGitServer } from "../helpers/git-server.ts";
import { endedWith, type Goald, jsonOf, makeGoald } from "../helpers/goald.ts";
import { numberedModel, replyWith, write } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { readTree } from "../helpers/restored-agent.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

const COMMIT_HOOK = fileURLToPath(new URL("../helpers/kill-at-commit.child.ts", import.meta.url));
const RENAME_HOOK = fileURLToPath(new URL("../helpers/kill-at-rename.child.ts", import.meta.url));

let root: string;
let git: GitServer;
let server: OpenAIServer;
let goald: Goald;
let isAsked = false;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "goald-restore-clone-"));
  makeRepository(root, "plain.git", [
    { path: "README.md", text: "# Plain\n" },
    { path: "src/main.py", text: "print(1)\n" },
  ]);
  git = await startGitServer({ root });
  const args = { repository_url: `${git.origin}/plain.git`, clone_path: "repositories/plain" };
  const work = numberedModel([
    write("notes.md", "one"),
    { name: "clone_repository", args },
    write("repositories/plain/README.md", "# Mine\n"),
    write("notes.md", "two"),
  ]);
  const stop = replyWith({ name: "task_complete", args: { reason: "Seen." } });
  server = await startOpenAIServer({ reply: (request) => (isAsked ? stop : work(request)), embeddings: null });
  goald = await makeGoald({
    OPENAI_BASE_URL: server.baseUrl,
    GOALD_EMBEDDER: "offline",
    GOALD_GIT_ALLOW: git.origin,
  });
  endedWith(0, await goald.run(["run", "--name", "Foo", "--role", "r", "-g", "Work", "--continuous"]));
});
afterAll(async () => {
  await goald[Symbol.asyncDispose]();
  await server.close();
  await git[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

/** Files of the agent without those of git and goald, and without unfinished writes, which the next process removes. */
const look = () =>
  Object.fromEntries(
    Object.entries(readTree(join(goald.home, "workspace/foo"))).filter(
      ([path]) => !/\.git\/|^_goald|\.goald-\w+\.tmp$/.test(path),
    ),
  );
const restore = async (...args: readonly string[]) => endedWith(0, await goald.ask(["restore", "foo", ...args])).stdout;

const DONE = {
  "notes.md": "two",
  "repositories/plain/README.md": "# Mine\n",
  "repositories/plain/src/main.py": "print(1)\n",
};
const CLONED = { ...DONE, "notes.md": "one", "repositories/plain/README.md": "# Plain\n" };

describe("goald restore with a clone of a git server", () => {
  it("takes the clone away, says so, and brings it back", async () => {
    const planned = jsonOf(await goald.ask(["restore", "foo", "--step", "1", "--dry-run", "--json"]));
    expect(problemsOfView("restore", planned)).toBe("");
    expect(planned).toMatchObject({ folders: [{ path: "repositories/plain", action: "take-away" }] });
    expect(look()).toEqual(DONE);
    const said = await restore("--step", "1");
    expect(said).toContain("taken away  repositories/plain/\n");
    expect(said).toContain("To take it back: goald restore foo --undo\n");
    expect(look()).toEqual({ "notes.md": "one" });
    expect((await goald.ask(["doctor"])).stdout).toMatch(
      /set aside +1 folder \(.* of foo, taken away by goald restore/,
    );
    expect(await restore("--step", "2")).toContain("put back  repositories/plain/\n");
    expect(look()).toEqual(CLONED);
    await restore("--undo");
    expect(look()).toEqual({ "notes.md": "one" });
    await restore("--step", "5");
    expect(look()).toEqual(DONE);
    expect(endedWith(0, await goald.ask(["verify"])).stdout).toMatch(/: sound\.\n$/);
  });

  it.each([
    ["KILL_AT_COMMIT", COMMIT_HOOK],
    ["KILL_AT_RENAME", RENAME_HOOK],
  ])(
    "loses nothing when it is killed at any point (%s): the same call does the rest, and an undo takes it back",
    async (name, hook) => {
      let kills = 0;
      for (let at = 1, isKilled = true; isKilled; at++) {
        isKilled = false;
        for (const when of ["before", "after"]) {
          const options = { imports: [hook], env: { [name]: `${at}:${when}` } };
          const first = await goald.run(["restore", "foo", "--step", "1"], options);
          if (first.signal === "SIGKILL") await restore("--step", "1");
          expect(look()).toEqual({ "notes.md": "one" });
          const second = await goald.run(["restore", "foo", "--undo"], options);
          if (second.signal === "SIGKILL") await restore("--undo");
          expect(look()).toEqual(DONE);
          isKilled ||= [first, second].some(({ signal }) => signal === "SIGKILL");
        }
        kills += isKilled ? 1 : 0;
      }
      expect(kills).toBeGreaterThan(name === "KILL_AT_COMMIT" ? 1 : 2);
      expect(endedWith(0, await goald.ask(["verify"])).stdout).toMatch(/: sound\.\n$/);
    },
  );

  it("tells the agent in its next prompt, also in its next turn", async () => {
    await restore("--step", "1");
    isAsked = true;
    const before = server.requests.length;
    endedWith(0, await goald.ask(["say", "foo", "What is left?"]));
    endedWith(0, await goald.run(["resume", "foo"]));
    const prompts = server.requests.slice(before).map((request) => JSON.stringify(request));
    expect(prompts.some((prompt) => prompt.includes("Folders taken away: repositories/plain."))).toBe(true);
  });

  it("says what cannot be restored, restores the rest, and its folders go with the agent", async () => {
    await restore("--undo", "--force");
    await rm(join(goald.home, "workspace/foo/repositories/plain"), { recursive: true });
    const { code, stdout } = await goald.ask(["restore", "foo", "--step", "2"]);
    expect([code, stdout]).toEqual([1, expect.stringContaining("cannot be restored  repositories/plain/  ")]);
    expect(look()["notes.md"]).toBe("one");
    const aside = join(goald.home, ".goald/aside");
    expect(await readdir(aside)).toEqual(["foo"]);
    endedWith(0, await goald.ask(["rm", "-f", "foo"]));
    expect(await readdir(aside)).toEqual([]);
  });
});
