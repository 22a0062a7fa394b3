import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { makeRepository } from "../helpers/git-repository.ts";
import { startGitServer } from "../helpers/git-server.ts";
import { endedWith, errorOf, type Goald, jsonOf } from "../helpers/goald.ts";
import { append, write } from "../helpers/numbered-model.ts";

const COMMIT_HOOK = fileURLToPath(new URL("../helpers/kill-at-commit.child.ts", import.meta.url));
const RENAME_HOOK = fileURLToPath(new URL("../helpers/kill-at-rename.child.ts", import.meta.url));
const RUN = ["run", "--name", "Foo", "--role", "r", "-g", "Work", "--continuous"];

const FILES = ["notes/a.md", "b.txt", "c.txt"];
const textsOf = (goald: Goald): Promise<readonly (string | undefined)[]> =>
  Promise.all(FILES.map((path) => goald.read(join("workspace/foo", path))));

async function countEdits(goald: Goald): Promise<number> {
  const { versions } = jsonOf<{ versions: { operation: string }[] }>(
    await goald.ask(["show", "foo", "--files", "--json"]),
  );
  return versions.filter(({ operation }) => operation === "found").length;
}

describe("goald restore whose daemon is killed with kill -9", () => {
  it.each([
    ["commit", "KILL_AT_COMMIT", COMMIT_HOOK],
    ["write of a file", "KILL_AT_RENAME", RENAME_HOOK],
  ])("at each %s is completed by the same call, and keeps a person's edit once", async (_at, name, hook) => {
    await using home = await makeDaemonHome([
      write("notes/a.md", "one\n"),
      write("c.txt", "c\n"),
      append("b\n", "b.txt"),
      append("2\n", "notes/a.md"),
      write("c.txt", "cc\n"),
    ]);
    const { goald } = home;
    endedWith(0, await goald.ask(RUN));
    let [rounds, kills] = [0, 0];
    for (let at = 1, isKilled = true; isKilled; at++) {
      isKilled = false;
      for (const when of ["before", "after"]) {
        await appendFile(join(goald.home, "workspace/foo/b.txt"), `${at} ${when}\n`);
        const daemon = goald.start(["up", "--foreground"], { imports: [hook], env: { [name]: `${at}:${when}` } });
        await daemon.see("The daemon is ready").catch(() => undefined);
        const first = await goald.ask(["restore", "foo", "--step", "2"]);
        if (first.code === 0) daemon.kill("SIGTERM");
        isKilled ||= (await daemon.ended).signal === "SIGKILL";
        endedWith(0, await goald.ask(["restore", "foo", "--step", "2"]));
        expect(await textsOf(goald)).toEqual(["one\n", undefined, "c\n"]);
        expect(await countEdits(goald)).toBe(++rounds);
        endedWith(0, await goald.ask(["restore", "foo", "--step", "6"]));
        expect(await textsOf(goald)).toEqual(["one\n2\n", "b\n1 before\n", "cc\n"]);
        endedWith(0, await goald.ask(["down"]));
      }
      kills += isKilled ? 1 : 0;
    }
    expect(kills).toBeGreaterThan(0);
    expect(endedWith(0, await goald.ask(["verify"])).stdout).toMatch(/: sound\.\n$/);
  });
});

describe("goald restore of an agent at work", () => {
  it("is refused and changes nothing, and its plan is shown", async () => {
    await using home = await makeDaemonHome([write("a.txt", "1"), write("a.txt", "2")]);
    const { goald } = home;
    home.holdFrom(3);
    const running = goald.start([...RUN, "--json"]);
    await home.asked(3);
    const refused = errorOf(endedWith(7, await goald.ask(["restore", "foo", "--step", "1", "--json"])));
    expect(refused).toMatchObject({ code: "GOALD_CONFLICT", hint: expect.stringContaining("goald pause foo") });
    endedWith(0, await goald.ask(["restore", "foo", "--step", "1", "--dry-run"]));
    home.release();
    endedWith(0, await running.ended);
    expect(await goald.read("workspace/foo/a.txt")).toBe("2");
  });
});

describe("goald restore with a clone of a git server", () => {
  it("names it, leaves it as it is, and restores the other files", async () => {
    const root = await mkdtemp(join(tmpdir(), "goald-restore-clone-"));
    makeRepository(root, "plain.git", [{ path: "README.md", text: "# Plain\n" }]);
    await using git = await startGitServer({ root });
    const args = { repository_url: `${git.origin}/plain.git`, clone_path: "repositories/plain" };
    const calls = [write("notes.md", "one"), { name: "clone_repository", args }, write("notes.md", "two")];
    await using home = await makeDaemonHome(calls, { env: { GOALD_WEB_ALLOW: git.origin } });
    const { goald } = home;
    endedWith(0, await goald.run(RUN));
    const { stdout } = endedWith(0, await goald.ask(["restore", "foo", "--step", "1"]));
    expect(stdout).toContain("not touched  repositories/plain/  ");
    expect(await goald.read("workspace/foo/notes.md")).toBe("one");
    expect(await goald.read("workspace/foo/repositories/plain/README.md")).toBe("# Plain\n");
    endedWith(0, await goald.ask(["restore", "foo", "--step", "4"]));
    expect(await goald.read("workspace/foo/notes.md")).toBe("two");
    await rm(join(goald.home, "workspace/foo/repositories"), { recursive: true });
    const { stdout: later } = endedWith(0, await goald.ask(["restore", "foo", "--step", "2"]));
    expect(later).toContain("not restored  repositories/plain/  ");
    await rm(root, { recursive: true });
  });
});
