import { tmpdir } from "node:os";
import { afterAll, describe, expect, it } from "@jest/globals";
import { findCage } from "#cage/find-cage.ts";
import { createSandbox } from "#sandbox/sandbox.ts";
import { examplesIn, runExample } from "../helpers/code-examples.ts";

const sandbox = createSandbox({ findCage, cacheFolder: tmpdir() });
afterAll(() => sandbox.close());

describe("the JavaScript of docs/code.md", () => {
  it("runs and does what the page says", async () => {
    const [prices, ...others] = examplesIn("javascript");
    expect(others).toEqual([]);
    const { status, text, file } = await runExample("javascript", prices ?? "", sandbox, null);
    expect([status, text, file("total.txt")]).toEqual(["ok", "7", "7\n"]);
  });
});
