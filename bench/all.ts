/** all.ts -- runs every script of this folder in turn: `npm run bench`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";

const scripts = globSync("*.ts", { cwd: import.meta.dirname }).filter((name) => name !== "all.ts");
for (const name of scripts.sort()) {
  console.log(`\n# ${name}\n`);
  const child = spawn(process.execPath, [name], { cwd: import.meta.dirname, stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) process.exitCode = 1;
}
