/** openapi.ts -- writes config/openapi.json from the table of routes. A test fails when the file is out of date. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { buildOpenApi } from "#api/routes.ts";

const FILE = "config/openapi.json";

writeFileSync(FILE, `${JSON.stringify(buildOpenApi(), null, 2)}\n`);
execFileSync("node_modules/.bin/biome", ["format", "--write", FILE]);
