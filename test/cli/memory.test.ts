import { existsSync } from "node:fs";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { memoryFolder } from "#app/memory-folders.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import { SNAPSHOT_FILE } from "#memory/recall/snapshots.ts";
import { makeWorkedHome } from "../helpers/daemon-home.ts";
import { useShared } from "../helpers/folder.ts";
import { endedWith, errorOf, jsonOf, memoriesIn } from "../helpers/goald.ts";
import { write } from "../helpers/models.ts";

const calls = [write("hours.md", "The shop opens at eight."), write("plan.md", "Buy flour")];
const goald = useShared(async () => (await makeWorkedHome("Foo", calls)).goald);

const memory = (...args: readonly string[]) => goald.ask(["memory", "foo", ...args]);
/** The live rows of a memory, newest first. */
const rowsOf = async (namespace: string, kind?: string): Promise<readonly MemoryRow[]> =>
  (await memoriesIn(goald, namespace)).filter((row) => kind === undefined || row.kind === kind).reverse();
const idsOf = async (kind?: string): Promise<readonly string[]> => (await rowsOf("foo", kind)).map(({ id }) => id);
const idsWith = async (words: RegExp) =>
  (await rowsOf("foo")).filter(({ text }) => words.test(text)).map(({ id }) => id);
const firstFound = async (query: string): Promise<readonly string[]> =>
  jsonOf<{ recalls: { id: string }[] }>(await memory("search", query, "--json")).recalls.map(({ id }) => id);

/** Imports these rows from a file. */
async function importRows(name: string, rows: readonly object[], ...flags: readonly string[]) {
  await goald.write("rows.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  return goald.ask(["memory", name, "import", ...flags, join(goald.home, "rows.jsonl"), "--json"]);
}

describe("goald memory", () => {
  it("corrects a memory: recall finds the new text and never the old, and both rows are linked", async () => {
    const wrong = (await idsOf()).at(-1) as string;
    expect(await firstFound("when does the shop open")).toContain(wrong);
    const { changed } = jsonOf<{ changed: { id: string }[] }>(
      await memory("correct", wrong, "The shop opens at nine, not at eight.", "--json"),
    );
    const right = changed[0]?.id;
    expect(right).toBe("foo/+1");
    const found = await firstFound("when does the shop open");
    expect(found).toContain(right);
    expect(found).not.toContain(wrong);
    const link = { kind: "fact", trust: "person", importance: 1, supersedes: wrong, step: null };
    expect((await rowsOf("foo"))[0]).toMatchObject(link);
    const again = errorOf(endedWith(7, await memory("correct", wrong, "At ten", "--json")));
    expect(again).toMatchObject({ code: "GOALD_CONFLICT", hint: expect.stringContaining("foo/+1") });
  });

  it("corrects the value of a fact with a subject and an attribute, which stay in the text", async () => {
    const given = { text: "depot: opening hour: 7", trust: "agent", kind: "fact", factKey: "cd".repeat(32) };
    endedWith(0, await importRows("foo", [given], "--trust"));
    const newest = async () => (await rowsOf("foo"))[0];
    endedWith(0, await memory("correct", (await newest())?.id ?? "", "8"));
    expect(await newest()).toMatchObject({ text: "depot: opening hour: 8", trust: "person" });
    endedWith(0, await memory("correct", (await newest())?.id ?? "", "It opens at nine"));
    expect((await newest())?.text).toBe("It opens at nine");
  });

  it("forgets for good: no text is left, not even in the store's file or a snapshot of its words", async () => {
    const store = join(goald.home, ".goald", "goald.db");
    const isOnDisk = async () =>
      (await Promise.all([store, `${store}-wal`].map((path) => readFile(path)))).some((bytes) =>
        bytes.includes("door is 7319"),
      );
    const folder = memoryFolder(join(goald.home, ".goald", "memory"), "foo");
    await mkdir(folder, { recursive: true });
    for (const name of [SNAPSHOT_FILE, `${SNAPSHOT_FILE}.7.1.tmp`]) await writeFile(join(folder, name), "7319");
    endedWith(0, await memory("add", `The code of the ${"very ".repeat(1_500)} door is 7319`, "--pin"));
    expect(await isOnDisk()).toBe(true);
    const [id = ""] = await idsOf();
    expect(endedWith(0, await memory("list")).stdout).toMatch(
      new RegExp(`${id.replace("+", "\\+")}.*note +person +pinned`),
    );
    expect(existsSync(folder)).toBe(true);
    endedWith(0, await memory("forget", id));
    expect(await isOnDisk()).toBe(false);
    expect(existsSync(folder)).toBe(false);
    expect(await firstFound("the code of the door")).not.toContain(id);
    expect(await idsOf()).not.toContain(id);
    expect(await goald.print("verify")).toContain("sound");
  });

  it("corrects every row that says the same, names them, and keeps the pin of any", async () => {
    const wrong = { text: "The lift stops at floor 3", trust: "agent", kind: "fact" };
    const added = async () => {
      endedWith(0, await importRows("foo", [wrong, { ...wrong, text: "the lift stops at floor 3." }], "--trust"));
      return idsWith(/lift stops/);
    };
    const [second = "", first = ""] = await added();
    const said = endedWith(0, await memory("correct", first, "The lift stops at floor 4")).stdout;
    expect(said).toContain(`It also replaced 1 row that said the same: ${second}`);
    expect((await firstFound("where does the lift stop")).filter((id) => [first, second].includes(id))).toEqual([]);
    expect(await added()).toHaveLength(1);
    expect(await goald.print("verify")).toContain("sound");
    endedWith(0, await memory("add", "Max likes tea"));
    const unpinned = (await rowsOf("foo"))[0]?.id ?? "";
    endedWith(0, await memory("add", "Max likes tea", "--pin"));
    endedWith(0, await memory("correct", unpinned, "Max likes cake"));
    expect((await rowsOf("foo"))[0]).toMatchObject({ text: "Max likes cake", pinned: true });
  });

  it("forgets a row alone with --only, and names the steps whose log still has it", async () => {
    const fact = { trust: "agent", kind: "fact", source: null };
    const given = ["The vault is in room 9", "the vault is in room 9"].map((text) => ({ ...fact, text }));
    endedWith(0, await importRows("foo", given, "--trust"));
    const vault = () => idsWith(/vault is/);
    const [second = "", first = ""] = await vault();
    const only = jsonOf(await memory("forget", "--only", first, "--json"));
    expect(only).toEqual({ changed: [{ id: first, isNew: true }], steps: [] });
    expect(await vault()).toEqual([second]);
    const step = (await rowsOf("foo")).find(({ step, text }) => step === 2 && text.includes("plan.md"))?.id ?? "";
    const said = endedWith(0, await memory("forget", step, second)).stdout;
    expect(said).toMatch(
      /The log of foo .* still have it: step 2\. .*goald rm foo; to keep what came before, first goald fork foo --step 1/,
    );
    expect(await vault()).toEqual([]);
  });

  it("forgets the copies of each row with it, each in its own memory, also when its file comes again", async () => {
    const texts = ["The safe opens with 4711", "the safe opens  with 4711.", "The safe opens with 4712"];
    const rows = texts.map((text, at) => ({ text, trust: "agent", kind: "fact", key: `k${at}` }));
    const take = async (name: string) => endedWith(0, await importRows(name, rows, "--trust"));
    const safes = async (name: string) => (await rowsOf(name)).filter(({ text }) => /safe opens/i.test(text));
    for (const name of ["foo", "shared"]) await take(name);
    const [other, copy, row] = (await safes("foo")).map(({ id }) => id);
    const forgotten = jsonOf(await memory("forget", row ?? "", "--json"));
    expect(forgotten).toEqual({ changed: [{ id: row, isNew: true, copies: [copy] }], steps: [] });
    expect([await safes("foo"), await safes("shared")]).toMatchObject([[{ id: other }], [{}, {}, {}]]);
    const theirs = (await safes("shared")).at(-1)?.id ?? "";
    endedWith(0, await memory("forget", other ?? "", theirs));
    await take("shared");
    expect([await safes("foo"), await safes("shared")]).toMatchObject([[], [{ text: texts[2] }]]);
  });

  it("reads text from standard input, redacts keys of the home, and removes control characters", async () => {
    await goald.write(".env", "OPENAI_API_KEY=sk-very-secret-key-of-mine-1234567890\n", 0o600);
    const input = "Use sk-very-secret-key-of-mine-1234567890\u001b[2J here\n";
    const { changed } = jsonOf<{ changed: { id: string }[] }>(await goald.run("memory foo add --json", { input }));
    const text = (await rowsOf("foo")).find(({ id }) => id === changed[0]?.id)?.text;
    expect(text).toMatch(/^Use \S+ here$/);
    expect(text).not.toContain("very-secret");
    endedWith(0, await memory("forget", changed[0]?.id ?? ""));
  });

  it("refuses an unknown row, and a memory that is too long", async () => {
    errorOf(endedWith(3, await memory("forget", "999", "--json")));
    errorOf(endedWith(2, await memory("add", "x".repeat(10_001), "--json")));
  });
});

describe("memory as a file", () => {
  const shared = (...args: readonly string[]) => goald.ask(["memory", "shared", ...args]);
  const sharedRows = () => rowsOf("shared");
  /** The exported lines with these words. */
  const exported = async (words: string): Promise<readonly MemoryRow[]> =>
    endedWith(0, await shared("export"))
      .stdout.split("\n")
      .flatMap((line) => (line.includes(words) ? [JSON.parse(line)] : []));

  it("is exported and imported without duplicates or forgotten rows", async () => {
    const out = join(goald.cwd, "foo.jsonl");
    endedWith(0, await memory("add", "To be forgotten later"));
    const [id = ""] = await idsOf();
    endedWith(0, await memory("export", out));
    const whole = await readFile(out, "utf8");
    endedWith(1, await goald.run(["memory", "foo", "export", out], { shell: 'ulimit -f 1; exec "$@"' }));
    expect(await readFile(out, "utf8")).toBe(whole);
    expect(endedWith(0, await memory("export", "-")).stdout).toBe(whole);
    endedWith(0, await memory("forget", id));
    const before = await idsOf();
    expect(jsonOf(await memory("import", out, "--json"))).toMatchObject({ added: 0, known: before.length + 1 });
    expect(await idsOf()).toEqual(before);
    const elsewhere = { id, at: "2020-01-01T00:00:00.000Z", text: "Of the same number in another home" };
    expect(jsonOf(await importRows("foo", [elsewhere]))).toMatchObject({ added: 1 });
    expect(jsonOf(await shared("import", out, "--json"))).toMatchObject({ added: before.length + 1 });
    expect(jsonOf(await shared("import", out, "--json"))).toMatchObject({ added: 0, known: before.length + 1 });
  });

  it("keeps whose words from outside a memory holds, from home to home", async () => {
    const outside = [{ from: "web", name: "evil.example" }];
    const tainted = { text: "by an agent that had read a page", trust: "agent", outside };
    endedWith(0, await importRows("shared", [tainted]));
    const row = (await sharedRows()).find(({ text }) => text.startsWith("by an agent"));
    expect(row).toMatchObject({ trust: "file", outside });
    expect(await exported("by an agent")).toMatchObject([{ outside }]);
    const wrong = { text: "a", outside: [{ from: "person", name: "ada" }] };
    errorOf(endedWith(2, await importRows("shared", [wrong])));
  });

  it("keeps which facts are past, and refuses a key that no export has written", async () => {
    const factKey = "ab".repeat(32);
    const fact = { kind: "fact", trust: "agent", factKey };
    const facts = ["1", "2", "3"].map((value) => ({ ...fact, text: `mill: door: ${value}` }));
    endedWith(0, await importRows("shared", facts));
    const imported = (await sharedRows()).filter(({ text }) => text.startsWith("mill"));
    const idOf = (value: string) => imported.find(({ text }) => text.endsWith(value))?.id;
    const ends = imported.map(({ text, trust, closed }) => [text, trust, closed?.by]).sort();
    expect(ends).toEqual([
      ["mill: door: 1", "file", idOf("2")],
      ["mill: door: 2", "file", idOf("3")],
      ["mill: door: 3", "file", undefined],
    ]);
    const again = [...facts.map((fact) => ({ ...fact, closed: {} })), { ...facts[0], at: "2026-01-04T00:00:00.000Z" }];
    for (const added of [1, 0]) expect(jsonOf(await importRows("shared", again))).toMatchObject({ added });
    const given = await exported("mill: door");
    expect(given.map(({ text }) => text)).toEqual(again.map(({ text }) => text));
    expect(given).toMatchObject([...Array(3).fill({ factKey, closed: {} }), { factKey }]);
    expect(given.at(-1)).not.toHaveProperty("closed");
    // Without the fact that holds now, an import would take the past ones for true.
    endedWith(0, await shared("correct", given.at(-1)?.id ?? "", "4"));
    expect((await exported("mill: door")).map(({ text }) => text)).toEqual(["mill: door: 4"]);
    errorOf(endedWith(2, await importRows("shared", [{ text: "a", factKey: "mill" }])));
  });

  it("is trusted at most like a file unless the person raises it", async () => {
    const given = [
      { text: "from a person", trust: "person", pinned: true, key: "k" },
      { text: "from the web", trust: "web" },
      { text: "from nobody" },
    ];
    endedWith(0, await importRows("shared", given));
    const trustOf = async (text: string) => (await sharedRows()).find((row) => row.text === text);
    expect(await trustOf("from a person")).toMatchObject({ trust: "file", pinned: false });
    expect(await trustOf("from the web")).toMatchObject({ trust: "web" });
    expect(await trustOf("from nobody")).toMatchObject({ trust: "file", kind: "fact" });
    const own = { text: "my own words", trust: "person", pinned: true };
    endedWith(0, await importRows("shared", [own], "--trust"));
    expect(await trustOf("my own words")).toMatchObject({ trust: "person", pinned: true });
  });

  it.each([
    ["an unknown trust", { text: "x", trust: "god" }],
    ["no visible character", { text: "\u0001" }],
  ])("is rejected as a whole when one line has %s", async (_title, line) => {
    const before = (await sharedRows()).length;
    const input = `{"text": "fine"}\n${JSON.stringify(line)}\n`;
    const bad = await goald.run("memory shared import - --json", { input });
    expect(errorOf(endedWith(2, bad)).message).toContain("line 2");
    expect((await sharedRows()).length).toBe(before);
  });
});

describe("goald ingest", () => {
  const paragraph = (about: string): string =>
    `${about} ${"is said here in as many words as it takes to fill a paragraph of a handbook. ".repeat(9)}`;
  const ingest = async (...args: readonly string[]) => await goald.json(["ingest", "foo", ...args]);
  let docs: string;
  const put = (name: string, text: string | Uint8Array) => writeFile(join(docs, name), text);
  beforeAll(async () => {
    docs = join(goald.cwd, "docs");
    await mkdir(join(docs, "inner"), { recursive: true });
    await put("a.md", ["# Opening", "Ovens", "Yeast", "Salt"].map(paragraph).join("\n\n"));
    await put("inner/b.txt", paragraph("Deliveries"));
    await put("c.bin", Uint8Array.of(1, 0, 2));
    await put("latin.txt", Uint8Array.of(0x63, 0xe9));
    await put("paper.pdf", "%PDF-1.4\n1 0 obj << /Type /Catalog >> endobj\n");
    await put("big.txt", "x ".repeat(3 * 1024 * 1024));
    await symlink("/etc/passwd", join(docs, "link.txt"));
    await writeFile(Buffer.concat([Buffer.from(join(docs, "caf")), Buffer.of(0xe9)]), "Coffee");
  });

  it("takes in each text once, in pieces with their source, and lists what it skipped", async () => {
    const first = await ingest("docs");
    expect(first).toMatchObject({ namespace: "foo", sources: 2, changed: 0, removed: 0, unchanged: 0 });
    const skipped = (first.skipped as { path: string }[]).map(({ path }) => path.slice(docs.length + 1)).sort();
    expect(skipped).toEqual(["big.txt", "c.bin", "caf\ufffd", "latin.txt", "link.txt", "paper.pdf"]);
    expect(first.skipped).toContainEqual({ path: join(docs, "caf\ufffd"), reason: "its name is not UTF-8: rename it" });
    expect(first.skipped).toContainEqual({ path: join(docs, "latin.txt"), reason: "not UTF-8 text" });
    expect(first.skipped).toContainEqual({ path: join(docs, "paper.pdf"), reason: "a PDF: give its web address" });
    const memories = await rowsOf("foo", "file_chunk");
    expect(memories.length).toBe(first.added);
    for (const { text, trust, source, step } of memories) {
      expect([trust, step]).toEqual(["file", null]);
      expect(text.length).toBeLessThanOrEqual(1_000);
      expect(source).toMatch(/docs\/(a\.md|inner\/b\.txt)$/);
      expect(text).toMatch(/^(a\.md|b\.txt)/);
    }
    expect(await ingest("docs")).toMatchObject({ added: 0, changed: 0, removed: 0, unchanged: first.added });
  });

  it("replaces changed pieces and forgets removed ones on a second run", async () => {
    await put("a.md", ["# Opening", "Ovens", "Yeast and more yeast"].map(paragraph).join("\n\n"));
    const second = await ingest("docs");
    expect(second).toMatchObject({ sources: 2, added: 0 });
    expect(second.changed).toBeGreaterThan(0);
    expect(second.removed).toBeGreaterThan(0);
    expect(JSON.stringify(await rowsOf("foo", "file_chunk"))).not.toContain("Salt");
    await rm(join(docs, "inner"), { recursive: true });
    expect(await ingest("docs")).toMatchObject({ sources: 1, added: 0, changed: 0, removed: 1 });
    expect(JSON.stringify(await rowsOf("foo", "file_chunk"))).not.toContain("Deliveries");
    const missing = errorOf(endedWith(3, await goald.ask("ingest foo inner --json")));
    expect(missing.code).toBe("GOALD_FILE_MISSING");
  });

  it("does not bring back a piece that a person forgot or corrected", async () => {
    const [first = "", second = ""] = await idsOf("file_chunk");
    endedWith(0, await memory("forget", first));
    endedWith(0, await memory("correct", second, "Ovens are off on Sundays"));
    const before = await idsOf();
    expect(await ingest("docs")).toMatchObject({ added: 0, changed: 0, removed: 0 });
    expect(await idsOf()).toEqual(before);
  });

  it("forgets a named file that was deleted, and takes it in again when it returns", async () => {
    await put("one.md", "Only once");
    expect(await ingest("docs/one.md")).toMatchObject({ sources: 1, added: 1 });
    await rm(join(docs, "one.md"));
    expect(await ingest("docs/one.md")).toMatchObject({ removed: 1 });
    await put("one.md", "Only once");
    expect(await ingest("docs/one.md")).toMatchObject({ added: 1 });
    expect(await goald.print("verify")).toContain("sound");
  });

  it("reads a source once, by whatever name, and nothing when one of the paths is empty or never was", async () => {
    await put("twice.md", "Named twice");
    await symlink(docs, join(goald.cwd, "link"));
    for (const [code, path] of [
      [3, "never.md"],
      [2, ""],
    ] as const)
      errorOf(endedWith(code, await goald.ask(["ingest", "foo", "docs/twice.md", path, "--json"])));
    expect(await ingest("docs/twice.md", "link/twice.md", "docs")).toMatchObject({ added: 1 });
    await rm(join(docs, "twice.md"));
    expect(await ingest("link/twice.md")).toMatchObject({ removed: 1 });
    await mkdir(join(docs, "part"));
    await put("part/one.md", "In a folder");
    expect(await ingest("docs/part")).toMatchObject({ added: 1 });
    await rm(join(docs, "part"), { recursive: true });
    await put("part", "Now a file");
    expect(await ingest("docs/part")).toMatchObject({ added: 1, removed: 1 });
  });
});
