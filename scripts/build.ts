/**
 * build.ts -- compiles goald into `dist` for publishing.
 *
 * Node strips no types below node_modules, so the package ships JavaScript. `dist` has the same folders as the
 * checkout (src, commands, prompts, config), and its own package.json maps `#folder/*.ts` to the compiled
 * files. A checkout may be a person's home, so its settings file is left out. config/openapi.json is a document, which
 * package.json names with what else the pages for people link to. The page's scripts run in browsers: they lose their
 * types alone, and keep the names that they import, by which src/api/door.ts serves them.
 */
import { execFileSync } from "node:child_process";
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { basename } from "node:path";

rmSync("dist", { recursive: true, force: true });
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--project", "tsconfig.build.json"], {
  stdio: "inherit",
});
const isShipped = (path: string): boolean =>
  !/^(?:\..*|.*~|.*\.ts|(?:goald|openapi|tsconfig)\.json)$/.test(basename(path));
for (const folder of ["prompts", "config"]) cpSync(folder, `dist/${folder}`, { recursive: true, filter: isShipped });
for (const folder of ["src/sandbox/python", "src/memory/words", ...globSync("src/page")])
  cpSync(folder, `dist/${folder}`, { recursive: true, filter: isShipped });
for (const script of globSync("src/page/*.ts", { exclude: ["**/*.d.ts"] }))
  writeFileSync(`dist/${script.replace(/ts$/, "js")}`, stripTypeScriptTypes(readFileSync(script, "utf8")));

const { name, version } = JSON.parse(readFileSync("package.json", "utf8")) as { name: string; version: string };
const compiled = { name, version, type: "module", imports: { "#*.ts": "./src/*.js" } };
writeFileSync("dist/package.json", `${JSON.stringify(compiled, null, 2)}\n`);
