import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { readEnvFile, saveToEnvFile } from "#config/env-file.ts";
import { isGoaldError } from "#core/errors.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-env-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const file = () => join(folder, ".env");
const save = (value: string) => saveToEnvFile(file(), "OPENAI_API_KEY", value);
const text = () => readFile(file(), "utf8");

describe("saveToEnvFile", () => {
  it.each<[title: string, before: string | undefined, after: string]>([
    ["makes the file", undefined, "OPENAI_API_KEY=sk-new\n"],
    ["adds a line", "A=1\n", "A=1\nOPENAI_API_KEY=sk-new\n"],
    ["completes the last line first", "A=1", "A=1\nOPENAI_API_KEY=sk-new\n"],
    [
      "replaces a placeholder in its place",
      "# mine\nOPENAI_API_KEY=your-key\nA=1 # why\n",
      "# mine\nOPENAI_API_KEY=sk-new\nA=1 # why\n",
    ],
    ["replaces an exported variable", "export OPENAI_API_KEY='old'\n", "OPENAI_API_KEY=sk-new\n"],
    ["leaves comments alone", "# OPENAI_API_KEY=x\n", "# OPENAI_API_KEY=x\nOPENAI_API_KEY=sk-new\n"],
    [
      "adds a third line to two, and the last one wins",
      "OPENAI_API_KEY=a\nOPENAI_API_KEY=b\n",
      "OPENAI_API_KEY=a\nOPENAI_API_KEY=b\nOPENAI_API_KEY=sk-new\n",
    ],
    [
      "does not touch a value of several lines",
      "A='x\nOPENAI_API_KEY=y\nz'\n",
      "A='x\nOPENAI_API_KEY=y\nz'\nOPENAI_API_KEY=sk-new\n",
    ],
    [
      "replaces a value of several lines by adding a line",
      "OPENAI_API_KEY='a\nb'\n",
      "OPENAI_API_KEY='a\nb'\nOPENAI_API_KEY=sk-new\n",
    ],
  ])("%s", async (_title, before, after) => {
    if (before !== undefined) await writeFile(file(), before, { mode: 0o644 });
    await save("sk-new");
    expect(await text()).toBe(after);
    expect((await lstat(file())).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual([".env"]);
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
    expect(await readdir(folder)).toEqual([".env"]);
  });

  it("refuses a value that no line can hold, and keeps the file", async () => {
    await writeFile(file(), "A=1\n");
    const error = await save("a\rb").catch((thrown: unknown) => thrown);
    expect(isGoaldError(error, "GOALD_CONFIG")).toBe(true);
    expect(await text()).toBe("A=1\n");
  });

  it("follows a link and keeps it", async () => {
    await writeFile(join(folder, "real"), "A=1\n");
    await symlink("real", file());
    await save("sk-new");
    expect((await lstat(file())).isSymbolicLink()).toBe(true);
    expect(await readFile(join(folder, "real"), "utf8")).toContain("sk-new");
  });

  it("reports why the file cannot be written, without the key", async () => {
    await mkdir(file());
    const error = await save("sk-new").catch((thrown: unknown) => thrown);
    if (!isGoaldError(error, "GOALD_CONFIG")) throw new Error("expected GOALD_CONFIG");
    expect(error.message).toContain("it is a folder");
    expect(error.message).not.toContain("sk-new");
    const gone = await saveToEnvFile(join(folder, "gone", ".env"), "A", "b").catch((thrown: unknown) => thrown);
    expect(isGoaldError(gone, "GOALD_CONFIG")).toBe(true);
  });
});

describe("readEnvFile", () => {
  it("reports whether other users can read the file", async () => {
    await save("sk-new");
    expect((await readEnvFile(file())).isOpen).toBe(false);
    await chmod(file(), 0o640);
    expect((await readEnvFile(file())).isOpen).toBe(true);
  });

  it("reads a missing file as an empty one", async () => {
    expect(await readEnvFile(file())).toEqual({ variables: {}, isOpen: false });
  });
});
