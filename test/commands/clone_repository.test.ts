import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import clone_repository from "../../commands/clone_repository.ts";
import { makeRepository, useCloneDesk } from "../helpers/git-server.ts";
import { call, REFUSED_PATHS } from "./context.ts";

const { root, given, contextWith, addressOf, clone } = useCloneDesk();
const commit = makeRepository(root, "plain.git", [
  { path: "README.md", text: "# Plain\n" },
  { path: "etc", text: "/etc", kind: "link" },
]);

describe("clone_repository", () => {
  it("clones into a new folder, and reports what it copied and what it left out", async () => {
    const url = addressOf("plain.git");
    expect(await clone("./repos/plain/")).toEqual({
      status: "ok",
      source: "web",
      artifacts: ["repos/plain"],
      value: "repos/plain",
      text: `Cloned ${url} (commit ${commit}, branch main) into repos/plain: 2 files, 12 bytes. 1 link became a plain file with the path it led to.`,
    });
    expect(await readFile(join(given.desk.folder, "repos/plain/README.md"), "utf8")).toBe("# Plain\n");
    expect(given.desk.changes).toEqual([
      { path: "repos/plain", operation: "place", bytes: 0, sha256: null, content: null },
    ]);
  });

  it.each(REFUSED_PATHS)("refuses the path %j outside the workspace", async (path) => {
    const connections = given.server.connections;
    await expect(clone(path)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(given.server.connections).toBe(connections);
  });

  it("refuses an existing folder, and leaves nothing after a failure", async () => {
    await given.desk.workspace.write("taken/mine.txt", "mine");
    await expect(clone("taken")).rejects.toMatchObject({ message: '"taken" exists already.' });
    await expect(clone("./")).rejects.toMatchObject({ message: "The path names the workspace itself." });
    const refusal = { message: '"mine.txt" is a file, not a folder.' };
    await expect(clone("taken/mine.txt/x")).rejects.toMatchObject(refusal);
    await expect(clone("new", addressOf("none.git"))).rejects.toMatchObject({ code: "GOALD_GIT" });
    expect(await readdir(given.desk.folder)).toEqual(["taken"]);
    expect(await readdir(join(given.desk.home, "clones"))).toEqual([]);
  });

  it.each([
    ...["--upload-pack=touch ran", "-u./payload", "ext::sh -c touch% ran", "file:///etc", "/etc", "../plain.git"],
    ...["ssh://-oProxyCommand=touch/x", "git@github.com:owner/name.git", "git://127.0.0.1/plain.git"],
    ...["https::http://127.0.0.1/plain.git", "http://github.com/owner/name.git"],
    ...["https://user:password@github.com/owner/name", "https://github.com@127.0.0.1/x"],
    ...["https://127.0.0.1\\@github.com/x", "https://github.com/x --upload-pack=touch"],
    ...["https://github.com/x%0d%0aHost:evil", "https://github.com/x\nHost: evil", "https://github.com:22/owner/name"],
    ...["https://github.com/", "https://github.com/x?y", "https://github.com/x#y", "https://", "https://[::1"],
    ...["javascript:alert(1)", "x".repeat(2_001)],
  ])("rejects an address that is not plain, before git or a name lookup: %s", async (address) => {
    const asked: string[] = [];
    const resolve = async (host: string) => {
      asked.push(host);
      throw new Error("not here");
    };
    const context = contextWith(null, { isPublic: () => true, resolve });
    const cloning = call(clone_repository, { repository_url: address, clone_path: "new" }, context);
    await expect(cloning).rejects.toMatchObject({ code: "GOALD_GIT" });
    expect(await readdir(given.desk.folder)).toEqual([]);
    expect(asked).toEqual([]);
  });

  it("after a crash is done if the folder came from that address, not done without one, unknown if it is from elsewhere or before", async () => {
    const args = () => ({ repository_url: addressOf("plain.git"), clone_path: "plain" });
    const probe = (prepared: unknown) => clone_repository.probe?.(args(), contextWith(given.server.origin), prepared);
    const prepare = () => clone_repository.prepare?.(args(), contextWith(given.server.origin));
    const prepared = await prepare();
    expect(await probe(prepared)).toBe("not-done");
    await clone("plain");
    expect(await probe(prepared)).toBe("done");
    expect(await probe(await prepare())).toBe("unknown");
    const elsewhere = '[remote "origin"]\n\turl = https://example.org/other\n';
    await writeFile(join(given.desk.folder, "plain/.git/config"), elsewhere);
    expect(await probe(prepared)).toBe("unknown");
  });
});
