import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import { createSandbox } from "#sandbox/sandbox.ts";
import { examplesIn, runExample } from "../helpers/code-examples.ts";

let cacheFolder = "";
let sandbox: Sandbox;
beforeAll(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), "goald-examples-"));
  sandbox = createSandbox({ findCage, cacheFolder });
});
afterAll(async () => {
  await sandbox.close();
  await rm(cacheFolder, { recursive: true, force: true });
});

describe("the Python of docs/code.md", () => {
  it("runs and does what the page says", async () => {
    const [count = "", read = "", city = "", check = "", ...others] = examplesIn("python");
    expect(others).toEqual([]);
    expect(await runExample(count, sandbox, null)).toMatchObject({
      status: "ok",
      text: "[('the', 3), ('and', 2), ('cat', 1)]",
    });
    const { status, text } = await runExample(read, sandbox, null);
    expect([status, text]).toEqual(["ok", expect.stringContaining("Shenzhen file-missing")]);
    const found = { name: "Shenzhen", population: 17_560_000 };
    expect(await runExample(city, sandbox, found)).toMatchObject({ status: "ok", text: "True" });
    const helper = 'days_between("2026-11-20", "2026-12-01")';
    expect(await runExample(helper, sandbox, null)).toMatchObject({ status: "ok", text: "11" });
    expect(await runExample(check, sandbox, null)).toMatchObject({ status: "ok", text: "42 cities" });
    // The control: a result of another type reaches the code as an error.
    expect(await runExample(city, sandbox, "Shenzhen")).toMatchObject({ status: "failed" });
  });
});
