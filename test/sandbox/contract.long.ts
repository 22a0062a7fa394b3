import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "@jest/globals";
import { probeCage } from "#cage/find-cage.ts";
import { createSandbox } from "#sandbox/sandbox.ts";
import { describeSandbox } from "../contracts/sandbox.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { PYTHON } from "../helpers/cell-words.ts";

const cacheFolder = mkdtempSync(join(tmpdir(), "goald-sandbox-"));
afterAll(() => rmSync(cacheFolder, { recursive: true }));
const levels = findLevelsHere();

for (const level of levels)
  describeSandbox(`Pyodide in a cage that is ${level}`, PYTHON, () =>
    createSandbox({ findCage: () => probeCage({ atMost: level }), cacheFolder, maxProcesses: 2 }),
  );
