import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { cellsState } from "#app/sandbox.ts";
import { findLanguages } from "#sandbox/languages.ts";

describe("the languages of the sandbox", () => {
  it("are those whose packages are installed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "goald-languages-"));
    try {
      const from = pathToFileURL(join(folder, "dist", "src", "file.ts")).href;
      const install = async (name: string): Promise<void> => {
        await mkdir(join(folder, "node_modules", name), { recursive: true });
        await writeFile(join(folder, "node_modules", name, "package.json"), "{}");
      };
      expect(findLanguages(from)).toEqual([]);
      await install("quickjs-emscripten-core");
      expect(findLanguages(from)).toEqual([]);
      await install("@jitl/quickjs-wasmfile-release-sync");
      expect(findLanguages(from)).toEqual(["javascript"]);
      await install("pyodide");
      expect(findLanguages(from)).toEqual(["python", "javascript"]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("are both here", () => {
    expect(findLanguages()).toEqual(["python", "javascript"]);
  });

  it("do not matter when a person has switched the sandbox off", () => {
    const sandbox = {
      isolation: "off",
      maxProcesses: 4,
      memoryMegabytes: 512,
      cellSeconds: 60,
      imports: "safe",
    } as const;
    expect(cellsState({ sandbox })).toEqual({ ready: false, toDo: expect.stringContaining("GOALD_SANDBOX") });
    expect(cellsState({ sandbox: { ...sandbox, isolation: "best-effort" } })).toEqual({ ready: true });
  });
});
