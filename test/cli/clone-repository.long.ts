import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { makeRepository } from "../helpers/git-repository.ts";
import { startGitServer } from "../helpers/git-server.ts";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json"];
const KEY = "github_pat_0123456789abcdefghij";

let root: string;
let commit: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "goald-git-"));
  commit = makeRepository(root, "plain.git", [{ path: "README.md", text: "# Plain\n" }]);
});
afterAll(() => rm(root, { recursive: true }));

describe("a clone by the real program", () => {
  it("leaves no partial folder after kill -9, and is complete after a resume", async () => {
    let isSlow = true;
    await using git = await startGitServer({ root, instead: ({ method }) => isSlow && method === "POST" });
    const args = { repository_url: `${git.origin}/plain.git`, clone_path: "repositories/plain" };
    const reply = numberedModel([{ name: "clone_repository", args }]);
    await using server = await startOpenAIServer({ reply, embeddings: null });
    await using goald = await makeGoald({
      OPENAI_BASE_URL: server.baseUrl,
      GOALD_MEMORY_EMBEDDER: "offline",
      GOALD_WEB_ALLOW: git.origin,
      GITHUB_API_KEY: `${git.origin}=${KEY}`,
    });
    const running = goald.start(RUN);
    await git.asked(2);
    running.kill("SIGKILL");
    expect(await running.ended).toMatchObject({ signal: "SIGKILL" });
    await daemonOf(goald).kill();
    const place = join(goald.home, "workspace/t/repositories");
    expect(await readdir(place)).toEqual([]);
    expect(await readdir(join(goald.home, ".goald/clones"))).toHaveLength(1);
    isSlow = false;
    git.dropConnections();
    endedWith(0, await goald.ask(["resume", "t", "--json"]));
    expect(await readdir(place)).toEqual(["plain"]);
    expect(await readdir(join(goald.home, ".goald/clones"))).toEqual([]);
    expect(await readFile(join(place, "plain/README.md"), "utf8")).toBe("# Plain\n");
    const { log, problems } = await lookInto(goald);
    const [cloned] = log.filter((event) => event.type === "command-finished");
    expect(cloned).toMatchObject({ observation: { status: "ok", text: expect.stringContaining(commit) } });
    expect(problems).toEqual([]);
    // The server received the key, but no stored file contains it.
    expect(git.requests.every(({ authorization }) => authorization?.startsWith("Basic "))).toBe(true);
    const files = await readdir(goald.home, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      const text = await readFile(join(file.parentPath, file.name), "latin1");
      expect([file.name, text.includes(KEY) || text.includes(Buffer.from(`:${KEY}`).toString("base64"))]).toEqual([
        file.name,
        false,
      ]);
    }
  });
});
