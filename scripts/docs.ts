/**
 * readme.ts -- writes the generated tables into README.md: commands from the registry, settings from their schema.
 *
 * A table stands between `<!-- name -->` and `<!-- /name -->`. test/readme.test.ts goes red when one is out of date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { describeForReadme } from "#commands/describe.ts";
import { ALL_READY, loadRegistry } from "#commands/registry.ts";
import { envTemplate } from "#config/env-template.ts";
import { describeSettings } from "#config/settings.ts";

export async function generateTables(): Promise<Readonly<Record<string, string>>> {
  const registry = await loadRegistry(["commands"], ALL_READY);
  const settings = describeSettings().map(
    (row) =>
      `| \`${row.name}\` | ${row.environment.map((name) => `\`${name}\``).join(", ")} | ${row.default} | ${row.meaning} |`,
  );
  return {
    commands: describeForReadme(registry.all).trim(),
    settings: ["| setting | environment or `.env` | default | meaning |", "|---|---|---|---|", ...settings].join("\n"),
  };
}

export function withTables(readme: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce(
    (text, [name, table]) =>
      text.replace(
        new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`),
        (_all, open, close) => `${open}${table}\n${close}`,
      ),
    readme,
  );
}

if (import.meta.main)
  void generateTables().then((tables) => {
    writeFileSync("README.md", withTables(readFileSync("README.md", "utf8"), tables));
    writeFileSync(".env.example", envTemplate());
  });
