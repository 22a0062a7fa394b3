/**
 * readme.ts -- writes .env.example and the generated tables of README.md: commands from the registry, settings from
 * the settings table.
 *
 * A table is between `<!-- name -->` and `<!-- /name -->`. test/readme.test.ts fails when one is out of date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { describeForReadme } from "#commands/describe.ts";
import { ALL_READY, loadRegistry } from "#commands/registry.ts";
import { describeSettings, renderEnvTemplate } from "#config/describe-settings.ts";

export async function generateTables(): Promise<Readonly<Record<string, string>>> {
  const registry = await loadRegistry(["commands"], ALL_READY);
  const settings = describeSettings().map(
    (row) =>
      `| \`${row.name}\` | ${row.environment.map((name) => `\`${name}\``).join(", ")} | ${row.meaning} | ${row.default} |`,
  );
  return {
    commands: describeForReadme(registry.all).trim(),
    settings: ["| setting | environment or `.env` | meaning | default |", "|---|---|---|---|", ...settings].join("\n"),
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
    writeFileSync(".env.example", renderEnvTemplate());
  });
