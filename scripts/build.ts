/**
 * build.ts -- compiles goald into `dist` for publishing.
 *
 * Node strips no types below node_modules, so the package ships JavaScript. `dist` mirrors the
 * checkout (src, commands, prompts, config), and its own package.json maps `#room/*.ts` to the compiled files.
 */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--project", "tsconfig.build.json"], {
  stdio: "inherit",
});
for (const folder of ["prompts", "config"]) cpSync(folder, `dist/${folder}`, { recursive: true });

const { name, version, imports } = JSON.parse(readFileSync("package.json", "utf8")) as {
  name: string;
  version: string;
  imports: Record<string, string>;
};
const compiled = Object.fromEntries(
  Object.entries(imports).map(([specifier, path]) => [`${specifier}.ts`, `${path}.js`]),
);
writeFileSync(
  "dist/package.json",
  `${JSON.stringify({ name, version, type: "module", imports: compiled }, null, 2)}\n`,
);
