/** The conversation of seed 004 in Python, with the real sandbox. */
import { tmpdir } from "node:os";
import { afterAll } from "@jest/globals";
import { createSandbox } from "#app/sandbox.ts";
import { findCage } from "#cage/find-cage.ts";
import { describeRevenue } from "./revenue.ts";

const sandbox = createSandbox({ findCage, cacheFolder: tmpdir() });
afterAll(() => sandbox.close());

describeRevenue(sandbox);
