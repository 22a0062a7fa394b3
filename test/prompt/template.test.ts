import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { isGoaldError } from "#core/errors.ts";
import { fillTemplate, loadWords } from "#prompt/template.ts";
import { shippedWords } from "./fixtures.ts";

const SHIPPED = join(import.meta.dirname, "../../prompts");
let folder = "";
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-words-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Makes a prompts folder with these files. */
async function home(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const path = join(folder, `home-${count++}`);
  await mkdir(path);
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
  return path;
}

async function errorOf(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isGoaldError(error, "GOALD_TEMPLATE")) throw new Error("Expected GOALD_TEMPLATE.");
  return error;
}

describe("fillTemplate", () => {
  const template = (text: string) => ({ file: "x.md", text });

  it("replaces every placeholder in one pass", () => {
    expect(fillTemplate(template("{{a}}-{{ b }}-{{a}}"), { a: "1", b: "2" })).toBe("1-2-1");
  });

  it.each(["{{b}}", "{{7*7}}", "{{goals}}", "$&", "$1", "$`", "{{", "}}", "{{a}}"])(
    "leaves %s in a value alone",
    (value) => {
      expect(fillTemplate(template("<{{a}}>"), { a: value, b: "no" })).toBe(`<${value}>`);
    },
  );

  it("removes the line of an empty value that is alone on it", () => {
    expect(fillTemplate(template("one\n\n{{a}}\n\ntwo {{a}}three"), { a: "" })).toBe("one\n\ntwo three");
    expect(fillTemplate(template("one\n\n{{a}}\n\ntwo"), { a: "x" })).toBe("one\n\nx\n\ntwo");
  });

  it.each(["{{c}}", "{{7*7}}", "{{constructor}}", "{{}}"])(
    "refuses %s and names the file and the known placeholders",
    (text) => {
      expect(() => fillTemplate(template(text), { a: "1" })).toThrow(
        expect.objectContaining({ code: "GOALD_TEMPLATE", message: expect.stringContaining(`x.md has ${text}`) }),
      );
      expect(() => fillTemplate(template(text), {})).toThrow(/no placeholder/);
    },
  );

  it("leaves single braces and JSON alone", () => {
    const json = '{\n  "a": {\n    "b": {}\n  }\n}';
    expect(fillTemplate(template(json), {})).toBe(json);
  });
});

describe("loadWords", () => {
  it("reads the shipped words, without their comments", async () => {
    const words = await loadWords([SHIPPED]);
    expect(words).toEqual(shippedWords);
    expect(words.system.text.startsWith("{{role}}")).toBe(true);
    for (const { text } of Object.values(words)) {
      expect(text).not.toContain("<!--");
      expect(text).toBe(text.trim());
      expect(text.length).toBeGreaterThan(0);
    }
  });

  it("lets a home override single files by name", async () => {
    const own = await home({
      "role.md": "<!-- ours -->\n<!-- twice -->\r\nI am {{name}}:\r\n{{role}}\r\n",
      ".hidden.md": "x",
      "role.md~": "x",
    });
    const words = await loadWords([SHIPPED, own]);
    const shipped = await loadWords([SHIPPED]);
    expect(words.role.text).toBe("I am {{name}}:\n{{role}}");
    expect(words.system).toEqual(shipped.system);
  });

  it("accepts a home without a prompts folder", async () => {
    await expect(loadWords([SHIPPED, join(folder, "nowhere")])).resolves.toBeDefined();
  });

  it("removes control characters from the words", async () => {
    const own = await home({ "empty-text.md": "\ufeffa\u001b[31mb\u202e" });
    expect((await loadWords([SHIPPED, own]))["empty-text"].text).toBe("ab");
  });

  it.each([
    ["an unknown file", { "rolle.md": "x" }, /rolle\.md.*role\.md/],
    ["a file of another kind", { "role.txt": "x" }, /role\.txt.*Known files: system\.md/],
    [
      "an unknown placeholder",
      { "role.md": "{{name}} {{role}} {{age}}" },
      /role\.md has \{\{age\}\}.*\{\{name\}\}, \{\{role\}\}/,
    ],
    [
      "code in a placeholder",
      { "constraints.md": "{{7*7}}" },
      /constraints\.md has \{\{7\*7\}\}.*not a known placeholder/,
    ],
    ["a missing placeholder", { "system.md": "{{role}}" }, /system\.md lacks \{\{goals\}\}/],
    ["a result without its data", { "result.md": "{{command}} {{status}}" }, /result\.md lacks \{\{data\}\}/],
    ["a comment without an end", { "role.md": "<!-- {{name}} {{role}}" }, /comment.*role\.md/],
    ["a response format without the word JSON", { "response-format.md": "answer!" }, /JSON/],
    ["a file that is far too large", { "constraints.md": "x".repeat(100_001) }, /100001 bytes/],
  ])("refuses %s", async (_what, files, expected) => {
    expect((await errorOf(loadWords([SHIPPED, await home(files as Record<string, string>)]))).message).toMatch(
      expected,
    );
  });

  it("names the missing shipped files", async () => {
    const own = await home({ "role.md": "{{name}} {{role}}" });
    expect((await errorOf(loadWords([own]))).message).toMatch(/system\.md, outside-role\.md/);
    expect((await errorOf(loadWords([]))).message).toMatch(/system\.md/);
  });

  it("names the file or folder that it cannot read", async () => {
    const own = await home({});
    await mkdir(join(own, "role.md"));
    expect((await errorOf(loadWords([SHIPPED, own]))).message).toMatch(/role\.md cannot be read/);
    const file = join(await home({ plain: "" }), "plain");
    await chmod(file, 0o600);
    expect((await errorOf(loadWords([SHIPPED, file]))).message).toMatch(/plain cannot be read/);
  });
});
