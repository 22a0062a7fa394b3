import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { renderDocs } from "../scripts/docs.ts";
import { PAGES } from "../scripts/record-docs.ts";

const GENERATED = ["docs/commands.md", "docs/settings.md", "docs/verbs.md", ".env.example", "SECURITY.md"];

describe("generated files", () => {
  let docs: Readonly<Record<string, string>>;
  beforeAll(async () => {
    docs = await renderDocs();
  });

  it.each(GENERATED)("%s is up to date (write it: npm run docs)", (path) => {
    expect(docs[path]).toBe(readFileSync(path, "utf8"));
  });

  it("are all tested", () => {
    expect(Object.keys(docs)).toEqual(GENERATED);
  });

  it.each(["README.md", "CONTRIBUTING.md", "SECURITY.md", ...globSync("docs/*.md")])(
    "%s links only to files",
    (path) => {
      const text = readFileSync(path, "utf8");
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target = ""]) => target);
      expect(links.filter((target) => !existsSync(join(dirname(path), target)))).toEqual([]);
    },
  );
});

describe("transcripts", () => {
  it("are only in pages that are recorded from real runs (test/docs.long.ts compares them)", () => {
    const pages = ["README.md", ...globSync("docs/*.md")];
    const withTranscript = pages.filter((path) => readFileSync(path, "utf8").includes("```console"));
    expect(withTranscript.sort()).toEqual(PAGES.map(({ path }) => path).sort());
  });
});

describe("the README", () => {
  const readme = readFileSync("README.md", "utf8");

  it("names the main loop", () => {
    expect(readme).toContain("src/loop/run.ts");
  });

  it("has at most 170 lines", () => {
    expect(readme.split("\n").length).toBeLessThanOrEqual(171);
  });

  it.each(GENERATED.filter((path) => path.endsWith(".md")))("links to %s", (path) => {
    expect(readme).toContain(`](${path})`);
  });
});

describe("the design page", () => {
  it("names only files and folders that exist", () => {
    const text = readFileSync("docs/design.md", "utf8");
    const paths = [...text.matchAll(/`((?:src|commands|test|bench|config|prompts|docs)\/[\w./-]*)`/g)].map(
      ([, path = ""]) => path,
    );
    expect(paths.length).toBeGreaterThan(40);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  const rooms = readdirSync("src", { withFileTypes: true }).filter((entry) => entry.isDirectory());

  it.each(rooms.map(({ name }) => name))("names the room src/%s", (room) => {
    expect(readFileSync("docs/design.md", "utf8")).toContain(`src/${room}/`);
  });
});
