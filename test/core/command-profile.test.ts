import { describe, expect, it } from "@jest/globals";
import { checkProfile, offersCommand } from "#core/command-profile.ts";

const WRITE = { name: "write_to_file", group: "files" } as const;
const GOOGLE = { name: "google", group: "web" } as const;
const MINE = { name: "bake", group: "own" } as const;
const DONE = { name: "task_complete", group: "loop", closesTurn: true } as const;
const ALL = [WRITE, GOOGLE, MINE, DONE];
const offered = (profile: string | null) =>
  ALL.filter((command) => offersCommand(profile, command)).map(({ name }) => name);

describe("a profile of commands", () => {
  it.each<[profile: string | null, names: readonly string[]]>([
    [null, ["write_to_file", "google", "bake", "task_complete"]],
    ["files", ["write_to_file", "task_complete"]],
    ["google", ["google", "task_complete"]],
    ["files,google", ["write_to_file", "google", "task_complete"]],
    ["own", ["bake", "task_complete"]],
    ["gone", ["task_complete"]],
  ])("%j offers %j: groups, names, and always the end", (profile, names) => {
    expect(offered(profile)).toEqual(names);
  });

  it("has one form, whatever the order and blanks", () => {
    expect(checkProfile(" web, files,,web ", ALL)).toBe("files,web");
    expect(checkProfile("bake", ALL)).toBe("bake");
    expect(checkProfile("files,all", ALL)).toBeNull();
    expect(checkProfile(null, ALL)).toBeNull();
  });

  it("refuses unknown names with the list of known ones", () => {
    expect(() => checkProfile("files,shell,web", ALL)).toThrow(
      expect.objectContaining({
        code: "GOALD_USAGE",
        message: "There is no command and no group shell.",
        hint: "Groups: files, web, agents, code, media, people, plan, memory, loop, own, or all. Commands: write_to_file, google, bake, task_complete.",
      }),
    );
    expect(() => checkProfile(" , ", ALL)).toThrow("No commands are named.");
  });
});
