import { execFileSync } from "node:child_process";
import { mkdir, open, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Ended, endedWith, errorOf, type Goald, linesOf, makeGoald } from "../helpers/goald.ts";
import { append, numberedModel } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

type Line = Record<string, unknown>;

let goald: Goald;
let recorded: readonly Line[];
beforeAll(async () => {
  await using server = await startOpenAIServer({ reply: numberedModel([append("one\n")]), embeddings: null });
  goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  await mkdir(at("tmp"));
  await goald.write("workspace/t/given.txt", "given\n");
  const run = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--json", "--record", "good.ndjson"];
  endedWith(0, await goald.ask(run));
  recorded = (await readFile(at("good.ndjson"), "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
});
afterAll(async () => goald[Symbol.asyncDispose]());

const at = (name: string): string => join(goald.cwd, name);
const replay = (name: string): Promise<Ended> => goald.ask(["replay", name, "--json"], { env: { TMPDIR: at("tmp") } });
/** Writes the recording with one changed line of a type. */
async function change(type: string, edit: (line: never) => object): Promise<string> {
  const lines = structuredClone(recorded) as Line[];
  const index = lines.findIndex((line) => line.type === type);
  lines[index] = { ...lines[index], ...edit(lines[index] as never) };
  await writeFile(at("changed.ndjson"), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  return "changed.ndjson";
}
async function expectRefused(name: string, code: string, reason: RegExp): Promise<void> {
  const ended = await replay(name);
  const error = errorOf({ stderr: ended.stderr.trim().split("\n").at(-1) ?? "" });
  expect(error).toMatchObject({ code, message: expect.stringMatching(reason) });
  expect(await readdir(at("tmp"))).toEqual([]);
}

describe("a recording from a stranger", () => {
  it("is played when nothing was changed in it, and leaves no folder", async () => {
    expect(linesOf(endedWith(0, await replay("good.ndjson"))).at(-1)).toMatchObject({ same: true });
    expect(await readdir(at("tmp"))).toEqual([]);
  });

  it.each<[what: string, type: string, edit: object, reason: RegExp]>([
    ["an endless number of leases", "session", { epoch: 1e9 }, /Line 2 is a line of type session whose epoch must be/],
    ["a lease of no number", "session", { epoch: "9" }, /epoch must be integer/],
    ["a time that no date can hold", "commit", { clock: [1e300] }, /must be/],
    ["times that add up to one", "commit", { clock: Array(9).fill(8e15) }, /has a time out of range/],
    ["an id that is a path", "session", { agent: { id: "../../x", createdAt: "2026-01-01T00:00:00.000Z" } }, /./],
    ["an unknown line", "commit", { type: "__proto__" }, /has no type that goald knows/],
    ["a file without content", "session", { files: [{ path: "x" }] }, /files\/0 must/],
  ])("is refused for %s", async (_what, type, edit, reason) => {
    const ended = await replay(await change(type, () => edit));
    expect(ended.code).toBeGreaterThan(0);
    expect(ended.stderr).toMatch(reason);
    expect(ended.stderr).not.toContain("GOALD_INTERNAL");
    expect(await readdir(at("tmp"))).toEqual([]);
  });

  it.each([".git/hooks/pre-commit", "a/.GIT/config", "../x", "/etc/x", ".hg/hgrc"])("cannot write %s", async (path) => {
    const file = { path, sha256: "0", text: "x" };
    const name = await change("session", (line: { files: object[] }) => ({ files: [...line.files, file] }));
    await expectRefused(name, "GOALD_PATH_REFUSED", /./);
  });

  it("leaves no folder when its replay differs, but does in a home that is named", async () => {
    const name = await change("committed", () => ({ state: "0".repeat(64) }));
    endedWith(1, await replay(name));
    expect(await readdir(at("tmp"))).toEqual([]);
    const named = await goald.ask(["replay", name, "--json", "--home", at("played")]);
    expect(named.code).toBe(1);
    expect(await readdir(at("played"))).toContain("workspace");
  });

  it("is not read when it is a device, a pipe, a folder or larger than 256 MB", async () => {
    execFileSync("mkfifo", [at("pipe")]);
    await using large = await open(at("large"), "w");
    await large.truncate(10e9);
    for (const name of ["/dev/zero", "pipe", "tmp", "large"])
      await expectRefused(name, "GOALD_FILE", /it is not a regular file|more than 268435456|is a directory/i);
    await writeFile(at("deep"), `{"recording":1,"goald":"x"}\n${"[".repeat(1e6)}${"]".repeat(1e6)}\n`);
    await expectRefused("deep", "GOALD_REPLAY", /./);
  });
});
