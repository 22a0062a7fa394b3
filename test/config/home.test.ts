import { chmod, lstat, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { readEnvFile, saveToEnvFile } from "#config/env-file.ts";
import { findHome, type HomeSearch } from "#config/home.ts";
import { openHome } from "#config/open-home.ts";
import { hasOtherMembers } from "#config/owners.ts";
import { refusalOf, useFolder } from "../helpers/folder.ts";

const uid = process.getuid?.();
const at = useFolder();
async function makeHome(...parts: string[]): Promise<string> {
  await mkdir(at(...parts, ".goald"), { recursive: true });
  return at(...parts);
}
const noQuestion = () => Promise.reject(new Error("no question is expected here"));

/** A search that starts in `<folder>/work` of a person without a home. */
async function search(changes: Partial<HomeSearch> = {}): Promise<HomeSearch> {
  await mkdir(at("work"), { recursive: true });
  return {
    env: {},
    cwd: at("work"),
    checkout: undefined,
    userHome: at("person"),
    configHome: undefined,
    isTerminal: false,
    askTrust: noQuestion,
    uid,
    ...changes,
  };
}
/** A terminal whose person trusts every home. */
const TRUSTING = { isTerminal: true, askTrust: () => Promise.resolve(true) };
const trustRecord = () => at("person", ".config", "goald", "trusted.json");
describe("findHome", () => {
  it("takes --home before GOALD_HOME before the own checkout before a found one before ~/goald", async () => {
    const found = await makeHome("work");
    const all = await search({
      flag: at("flag"),
      env: { GOALD_HOME: at("variable") },
      checkout: at("checkout"),
      ...TRUSTING,
    });
    const { flag: _flag, ...withoutFlag } = all;
    const steps: [HomeSearch, string, string][] = [
      [all, at("flag"), "--home"],
      [withoutFlag, at("variable"), "GOALD_HOME"],
      [{ ...withoutFlag, env: {} }, at("checkout"), "checkout"],
      [{ ...withoutFlag, env: {}, checkout: undefined }, found, "found"],
    ];
    for (const [given, root, chosenBy] of steps) expect(await findHome(given)).toMatchObject({ root, chosenBy });
    await rm(join(found, ".goald"), { recursive: true });
    expect(await findHome(await search())).toMatchObject({ root: at("person", "goald"), chosenBy: "default" });
  });

  it("returns absolute paths below the root", async () => {
    const home = await findHome(await search({ flag: "here" }));
    const { root, chosenBy: _why, ...paths } = home;
    expect(root).toBe(at("work", "here"));
    for (const path of Object.values(paths)) expect(path.startsWith(`${root}/`)).toBe(true);
    expect(home).toMatchObject({
      privateFolder: join(root, ".goald"),
      database: join(root, ".goald", "goald.db"),
      lock: join(root, ".goald", "lock.db"),
      logFolder: join(root, ".goald", "log"),
      workspaceFolder: join(root, "workspace"),
      envFile: join(root, ".env"),
    });
  });

  it.each<[title: string, changes: Partial<HomeSearch>, root: string]>([
    ["a relative --home starts at the current folder", { flag: "../other" }, "other"],
    ["a tilde that no shell expanded is the user's folder", { env: { GOALD_HOME: "~/mine" } }, "person/mine"],
    ["blanks around GOALD_HOME are ignored", { env: { GOALD_HOME: "  /x/y " } }, "/x/y"],
    ["a GOALD_HOME of blanks counts as unset", { env: { GOALD_HOME: "  " } }, "person/goald"],
    ["an installed goald is not a checkout", { checkout: "/usr/lib/node_modules/goald" }, "person/goald"],
    ["a removed current folder leads to the default", { cwd: "/gone/away" }, "person/goald"],
  ])("%s", async (_title, changes, root) => {
    expect((await findHome(await search(changes))).root).toBe(root.startsWith("/") ? root : at(root));
  });

  it.each(["", "  ", "a\nb", "a\0b"])("refuses --home %j", async (flag) => {
    expect((await refusalOf(findHome(await search({ flag })))).code).toBe("GOALD_USAGE");
  });
});

describe("a home found above the current folder", () => {
  it("is refused without a terminal until the person trusts it, with a remedy", async () => {
    const found = await makeHome("work");
    const error = await refusalOf(findHome(await search({ cwd: found })));
    expect(error.code).toBe("GOALD_HOME_UNTRUSTED");
    expect(error.message).toContain(found);
    expect(error.hint).toContain(`--home ${JSON.stringify(found)}`);
  });

  it("is asked about once on a terminal, and stays trusted", async () => {
    const found = await makeHome("work");
    await mkdir(at("work", "deep", "down"), { recursive: true });
    const asked: string[] = [];
    const askTrust = (path: string) => Promise.resolve(asked.push(path) > 0);
    const given = await search({ cwd: at("work", "deep", "down"), isTerminal: true, askTrust });
    expect((await findHome(given)).root).toBe(found);
    expect((await findHome({ ...given, isTerminal: false, askTrust: noQuestion })).root).toBe(found);
    expect(asked).toEqual([found]);
    expect((await lstat(trustRecord())).mode & 0o777).toBe(0o600);
    expect((await lstat(dirname(trustRecord()))).mode & 0o777).toBe(0o700);
  });

  it("is recorded in XDG_CONFIG_HOME, if that is absolute, after the earlier ones", async () => {
    const [first, second] = [await makeHome("first"), await makeHome("second")];
    const trusting = { ...TRUSTING, configHome: at("xdg") };
    for (const cwd of [first, second]) await findHome(await search({ ...trusting, cwd }));
    const record: unknown = JSON.parse(await readFile(at("xdg", "goald", "trusted.json"), "utf8"));
    expect(record).toEqual({ trusted: [first, second] });
    expect(await readdir(at("xdg", "goald"))).toEqual(["trusted.json"]);
    await findHome(await search({ ...TRUSTING, cwd: first, configHome: "relative" }));
    expect((await lstat(trustRecord())).isFile()).toBe(true);
  });

  it("is recorded beside another one that is trusted at the same time", async () => {
    const [first, second] = [await makeHome("first"), await makeHome("second")];
    await Promise.all([first, second].map(async (cwd) => findHome(await search({ ...TRUSTING, cwd }))));
    for (const cwd of [first, second]) expect((await findHome(await search({ cwd }))).root).toBe(cwd);
  });

  it("is trusted by its real path: a link to it is trusted, and a link to another folder is not", async () => {
    const [first, second] = [await makeHome("first"), await makeHome("second")];
    await findHome(await search({ ...TRUSTING, cwd: first }));
    await symlink(first, at("link"));
    expect((await findHome(await search({ cwd: at("link") }))).root).toBe(first);
    await rm(at("link"));
    await symlink(second, at("link"));
    expect((await refusalOf(findHome(await search({ cwd: at("link") })))).code).toBe("GOALD_HOME_UNTRUSTED");
  });

  it.each<[title: string, spoil: (record: string) => Promise<void>]>([
    ["that others may write", (record) => chmod(record, 0o666)],
    ["that is not JSON", (record) => writeFile(record, "{")],
    ["of another shape", (record) => writeFile(record, '{"trusted":"/"}')],
    ["that was removed", (record) => rm(record)],
  ])("is not trusted by a record %s", async (_title, spoil) => {
    const found = await makeHome("work");
    await findHome(await search(TRUSTING));
    expect((await findHome(await search())).root).toBe(found);
    await spoil(trustRecord());
    expect((await refusalOf(findHome(await search()))).code).toBe("GOALD_HOME_UNTRUSTED");
  });

  it.each(["/proc/nobody", "file"])("is refused when the person's trust cannot be recorded (%s)", async (place) => {
    await makeHome("work");
    await writeFile(at("file"), "a file in the way");
    const configHome = place === "file" ? at(place) : place;
    const error = await refusalOf(findHome(await search({ ...TRUSTING, configHome })));
    expect(error.code).toBe("GOALD_HOME_UNTRUSTED");
    expect(error.message).toContain("could not be recorded");
  });

  it("is not read before it is trusted", async () => {
    const found = await makeHome("work");
    await mkdir(join(found, "commands"));
    const baits = [join(found, ".env"), join(found, "commands", "evil.ts"), join(found, ".goald", "goald.db")];
    const long = new Date("2001-01-01T00:00:00Z");
    for (const bait of baits) {
      await writeFile(bait, "OPENAI_API_KEY=stolen");
      await utimes(bait, long, new Date());
    }
    await refusalOf(findHome(await search({ cwd: found })));
    for (const bait of baits) expect((await lstat(bait)).atime).toEqual(long);
    // Control: with these times, a single read is visible.
    await readFile(baits[0] ?? "");
    expect((await lstat(baits[0] ?? "")).atime).not.toEqual(long);
  });

  it.each<[title: string, make: () => Promise<string>]>([
    ["in an agent's folder", () => makeHome("home", "workspace", "foo")],
    ["below an agent's folder", () => makeHome("home", "workspace", "foo", "agents", "bar", "deep")],
    ["in the workspace folder itself", () => makeHome("home", "workspace")],
  ])("is not a home %s", async (_title, make) => {
    const cwd = await make();
    expect((await findHome(await search({ cwd }))).chosenBy).toBe("default");
    // The home above the workspace is still one.
    const above = await makeHome("home");
    expect((await refusalOf(findHome(await search({ cwd })))).message).toContain(`${above} holds`);
  });

  it.each<[title: string, spoil: (folder: string) => Promise<void>]>([
    [".goald is a file", (path) => writeFile(path, "")],
    [".goald is a link to a folder", (path) => symlink(at(), path)],
  ])("is not a home when %s", async (_title, spoil) => {
    await mkdir(at("work"));
    await spoil(at("work", ".goald"));
    expect((await findHome(await search())).chosenBy).toBe("default");
  });

  it("is skipped when it belongs to another user", async () => {
    if (uid === undefined) return;
    await makeHome("work", "theirs");
    const given = await search({ cwd: at("work", "theirs"), uid: uid + 1 });
    expect((await findHome(given)).chosenBy).toBe("default");
    expect((await refusalOf(findHome({ ...given, uid }))).code).toBe("GOALD_HOME_UNTRUSTED");
  });
});

describe("openHome", () => {
  const open = async (root: string) => openHome(await findHome(await search({ flag: root })), uid);

  it("makes the folders, and closes the private ones to others each time", async () => {
    for (const _time of [1, 2]) {
      await open(at("new", "home"));
      for (const path of [".goald", ".goald/log"])
        expect((await lstat(at("new", "home", path))).mode & 0o777).toBe(0o700);
      await chmod(at("new", "home", ".goald"), 0o755);
    }
    expect((await readdir(at("new", "home"))).sort()).toEqual([".goald", "commands", "config", "prompts", "workspace"]);
  });

  it("lets no other user write to the folders, whatever the umask", async () => {
    const earlier = process.umask(0);
    try {
      await open(at("new", "home"));
    } finally {
      process.umask(earlier);
    }
    for (const path of ["../home", "commands", "config", "prompts", "workspace"])
      expect((await lstat(at("new", "home", path))).mode & 0o777).toBe(0o755);
  });

  it.each<[title: string, home: string, reason: RegExp]>([
    ["a file is the home", "file", /a file is in its place/],
    ["a file is above it", "file/home", /a file is in the way/],
    ["a file is in place of .goald", "made", /\.goald .* a file is in its place/],
    [".goald is a link", "linked", /it is a link/],
    ["no folder can be made there", "/proc/goald-home", /cannot be used/],
    ["its name is too long", "x".repeat(300), /its name is too long/],
  ])("refuses a home when %s, and gives the reason", async (_title, home, reason) => {
    for (const folder of ["made", "linked"]) await mkdir(at(folder));
    for (const file of ["file", "made/.goald"]) await writeFile(at(file), "");
    await symlink(at(), at("linked", ".goald"));
    const error = await refusalOf(open(home.startsWith("/") ? home : at(home)));
    expect(error.code).toBe("GOALD_HOME_UNWRITABLE");
    expect(error.message).toMatch(reason);
    expect(error.hint).toContain("GOALD_HOME");
  });

  it("refuses a .goald that belongs to another user", async () => {
    if (uid === undefined) return;
    await makeHome("home");
    const home = await findHome(await search({ flag: at("home") }));
    const error = await refusalOf(openHome(home, uid + 1));
    expect(error.message).toContain(`belongs to the user with id ${uid}`);
  });
});

const file = () => at(".env");
const save = (value: string) => saveToEnvFile(file(), "OPENAI_API_KEY", value);
const text = () => readFile(file(), "utf8");

describe("saveToEnvFile", () => {
  const KEY = "OPENAI_API_KEY=sk-new\n";
  const TWO = "OPENAI_API_KEY=a\nOPENAI_API_KEY=b\n";
  const LINES = "OPENAI_API_KEY='a\nb'\n";
  const WITHIN = "A='x\nOPENAI_API_KEY=y\nz'\n";
  it.each<[title: string, before: string | undefined, after: string]>([
    ["makes the file", undefined, KEY],
    ["adds a line", "A=1\n", `A=1\n${KEY}`],
    ["completes the last line first", "A=1", `A=1\n${KEY}`],
    ["replaces a placeholder in its place", "# me\nOPENAI_API_KEY=your-key\nA=1 # why\n", `# me\n${KEY}A=1 # why\n`],
    ["replaces an exported variable", "export OPENAI_API_KEY='old'\n", KEY],
    ["leaves comments alone", "# OPENAI_API_KEY=x\n", `# OPENAI_API_KEY=x\n${KEY}`],
    ["adds a third line to two, and the last one wins", TWO, `${TWO}${KEY}`],
    ["does not touch a value of several lines", WITHIN, `${WITHIN}${KEY}`],
    ["replaces a value of several lines by adding a line", LINES, `${LINES}${KEY}`],
  ])("%s", async (_title, before, after) => {
    if (before !== undefined) await writeFile(file(), before, { mode: 0o644 });
    await save("sk-new");
    expect(await text()).toBe(after);
    expect((await lstat(file())).mode & 0o777).toBe(0o600);
    expect(await readdir(at())).toEqual([".env"]);
  });

  it.each(["a#b", "a b", "it's", '"x"', "a`b'c", "$HOME", "a\\nb", "=", "k$&$1"])(
    "saves %j so that it reads back unchanged",
    async (value) => {
      await save(value);
      expect((await readEnvFile(file())).variables).toEqual({ OPENAI_API_KEY: value });
    },
  );

  it("keeps every key when several are saved at the same time", async () => {
    const names = ["A", "B", "C", "D"];
    await Promise.all(names.map((name) => saveToEnvFile(file(), name, `of-${name}`)));
    expect((await readEnvFile(file())).variables).toEqual({ A: "of-A", B: "of-B", C: "of-C", D: "of-D" });
    expect(await readdir(at())).toEqual([".env"]);
  });

  it("refuses a value that no line can hold, and keeps the file", async () => {
    await writeFile(file(), "A=1\n");
    expect((await refusalOf(save("a\rb"))).code).toBe("GOALD_CONFIG");
    expect(await text()).toBe("A=1\n");
  });

  it("follows a link and keeps it", async () => {
    await writeFile(at("real"), "A=1\n");
    await symlink("real", file());
    await save("sk-new");
    expect((await lstat(file())).isSymbolicLink()).toBe(true);
    expect(await readFile(at("real"), "utf8")).toContain("sk-new");
  });

  it("reports why the file cannot be written, without the key", async () => {
    await mkdir(file());
    const error = await refusalOf(save("sk-new"));
    expect(error).toMatchObject({ code: "GOALD_CONFIG", message: expect.stringContaining("it is a folder") });
    expect(error.message).not.toContain("sk-new");
    expect((await refusalOf(saveToEnvFile(at("gone", ".env"), "A", "b"))).code).toBe("GOALD_CONFIG");
  });
});

it("readEnvFile reports whether other users can read the file, and reads a missing file as an empty one", async () => {
  expect(await readEnvFile(file())).toEqual({ variables: {}, isOpen: false, withoutSign: [] });
  await save("sk-new");
  expect((await readEnvFile(file())).isOpen).toBe(false);
  await chmod(file(), 0o640);
  expect((await readEnvFile(file())).isOpen).toBe(true);
});

it.each([
  ["nobody else", "ann:x:7:7\nbob:x:8:8", "ann:x:7:\nteam:x:9:ann,bob", false],
  ["its own user by name", "ann:x:7:7", "ann:x:7:ann", false],
  ["a second member", "ann:x:7:7\nbob:x:8:8", "ann:x:7:ann,bob", true],
  ["another user's first group", "ann:x:7:7\nbob:x:8:7", "ann:x:7:", true],
])("a user's group with %s (%j, %j) is shared: %j", (_who, passwd, group, isShared) => {
  const [users, groups] = [passwd, group].map((text) => text.split("\n").map((line) => line.split(":")));
  expect(hasOtherMembers(7, users ?? [], groups ?? [])).toBe(isShared);
});
