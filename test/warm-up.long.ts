import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";

/** Imports each module by itself, as different processes do. */
const EACH = `
for (const file of process.argv.slice(1)) await import(file).catch(() => undefined);
`;

it("warm-up compiles all modules, so that none is left for the first start", () => {
  const cache = mkdtempSync(join(tmpdir(), "goald-warm-"));
  const env = { ...process.env, NODE_COMPILE_CACHE: cache };
  const compiled = (): number =>
    readdirSync(cache, { recursive: true, withFileTypes: true }).filter((each) => each.isFile()).length;
  try {
    execFileSync(process.execPath, ["scripts/warm-up.js"], { env, stdio: "pipe" });
    const before = compiled();
    const files = globSync(["src/**/*.ts", "commands/*.ts"]).map((file) => join(process.cwd(), file));
    execFileSync(process.execPath, ["--input-type=module", "--eval", EACH, ...files, "fastify", "openai"], {
      env,
      stdio: "pipe",
    });
    expect(before).toBeGreaterThan(files.length);
    // The one more is the evaluated program itself.
    expect(compiled() - before).toBeLessThanOrEqual(1);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
});
