import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { Services } from "#core/services.ts";
import { done, makeLoop, reply } from "../helpers/loop.ts";

const serving: Partial<Services> = {
  downloads: { get: async (url) => ({ url, contentType: "", bytes: new Uint8Array(40), holdsSecret: false }) },
  repositories: {
    clone: async (url, folder) => {
      writeFileSync(join(folder, "a"), "");
      return { url, commit: "c", branch: null, files: 1, bytes: 40, remarks: [] };
    },
  },
};
const get = (file: string) => reply("download_file", { url: `https://example.com/${file}`, file });
const goals = ["Get https://example.com/a, https://example.com/b, https://example.com/c and https://example.com/r.git"];

describe("the quota of downloads", () => {
  it("counts over the agent's life, and refuses before anything more is saved", async () => {
    const clone = reply("clone_repository", { repository_url: "https://example.com/r.git", clone_path: "r" });
    const loop = await makeLoop({
      script: [get("a"), clone, get("b"), reply("delete_file", { file: "a" }), get("c"), done()],
      services: { downloads: { ready: true }, repositories: { ready: true } },
      serving,
      goals,
      downloadLimitBytes: 100,
    });
    const state = await loop.run();
    const results = (await loop.events()).flatMap((event) => (event.type === "command-finished" ? [event] : []));
    const codes = results.map(({ observation: { code, status } }) => code ?? status);
    expect(codes).toEqual(["ok", "ok", "quota-exceeded", "ok", "quota-exceeded", "ok"]);
    expect(results[2]?.observation.text).toContain("half of quota.megabytes");
    expect(state.downloadedBytes).toBe(120);
    expect([loop.files.has("b"), loop.files.has("c")]).toEqual([false, false]);
  });

  it("is absent without a limit (control)", async () => {
    const services = { downloads: { ready: true } } as const;
    const loop = await makeLoop({ script: [get("a"), get("b"), get("c"), done()], services, serving, goals });
    expect((await loop.run()).downloadedBytes).toBe(120);
    expect(loop.files.has("c")).toBe(true);
  });
});
