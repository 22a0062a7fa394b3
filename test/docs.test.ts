import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { generateTables, withTables } from "../scripts/readme.ts";

const readme = readFileSync("README.md", "utf8");

describe("the README", () => {
  it("has today's tables of commands and settings (write them: npm run readme)", async () => {
    expect(withTables(readme, await generateTables())).toBe(readme);
  });

  it("would not pass with a table out of date", async () => {
    const tables = await generateTables();
    expect(withTables(readme, { ...tables, commands: "| nothing |" })).not.toBe(readme);
  });

  it("names the main loop, and every folder of src", () => {
    expect(readme).toContain("src/loop/run.ts");
    for (const room of [
      "core",
      "daemon",
      "prompt",
      "reply",
      "commands",
      "memory",
      "model",
      "http",
      "store",
      "workspace",
      "config",
      "terminal",
      "verbs",
    ])
      expect(readme).toContain(`src/${room}/`);
  });
});
