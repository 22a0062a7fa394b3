import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import { createSandbox } from "#sandbox/sandbox.ts";
import { describeSandbox } from "../contracts/sandbox.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { FAKE_CELLS, JAVASCRIPT } from "../helpers/cell-words.ts";
import { createFakeSandbox } from "../helpers/fake-sandbox.ts";

const cacheFolder = mkdtempSync(join(tmpdir(), "goald-sandbox-"));
afterAll(() => rmSync(cacheFolder, { recursive: true }));
const [best] = findLevelsHere();

describeSandbox("the fake sandbox", JAVASCRIPT, () => createFakeSandbox(FAKE_CELLS, { maxProcesses: 2 }));
describeSandbox(`QuickJS in a cage that is ${best}`, JAVASCRIPT, () =>
  createSandbox({ findCage, cacheFolder, maxProcesses: 2 }),
);
