import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { makeRepository, useCloneDesk } from "../helpers/git-server.ts";

const { given, addressOf, clone } = useCloneDesk();

describe("clone_repository", () => {
  it.each([
    [".GIT/config"],
    ["git~1/config"],
    ["git~2/config"],
    [".git /config"],
    [".git./config"],
    [".git::$INDEX_ALLOCATION/config"],
    [".g\u200cit/config"],
    ["sub/.git"],
    ["fixtures/x.git/HEAD", "fixtures/x.git/config", "fixtures/x.git/objects/x", "fixtures/x.git/refs/x"],
    ["p/head", "p/OBJECTS/x", "p/Refs/x"],
    ["p/HEAD", "p/commondir"],
    ["HEAD", "objects/x", "refs/x"],
  ])("refuses a repository in which git would find another one: %s", async (...paths) => {
    makeRepository(
      given.root,
      "inner.git",
      paths.map((path) => ({ path, text: "[core]\n\tfsmonitor = touch /tmp/ran\n" })),
    );
    await expect(clone("new", addressOf("inner.git"))).rejects.toMatchObject({
      code: expect.stringMatching(/^GOALD_(GIT|PATH_REFUSED)$/),
    });
    expect(await readdir(given.desk.folder)).toEqual([]);
    expect(await readdir(join(given.desk.home, "clones"))).toEqual([]);
    await rm(join(given.root, "inner.git"), { recursive: true });
  });
});
