import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { connectHost } from "#api/client.ts";
import { openHost } from "#app/host.ts";
import { findHome, type HomeSearch } from "#config/home.ts";
import { loadSettings } from "#config/load-settings.ts";
import { openLog } from "#util/log.ts";

it("redacts an answer of a daemon once, however often its settings were reloaded", async () => {
  const root = await mkdtemp(join(tmpdir(), "goald-nets-"));
  const asked: number[] = [];
  let loads = 0;
  try {
    const search: Partial<HomeSearch> = { flag: root, env: {}, cwd: root, userHome: root };
    const home = await findHome(search as HomeSearch);
    const log = await openLog({ folder: join(root, "log"), redact: (text) => text, level: "silent" });
    const load = async () => {
      const number = loads++;
      const { settings } = await loadSettings({ home, env: {}, flags: {} });
      const redact = (text: string) => {
        asked.push(number);
        return text;
      };
      return { settings, redact, scrub: (text: string) => text };
    };
    const { socket } = home;
    await using host = await openHost({ ...(await load()), home, log, load, socket });
    await host.serve();
    for (let reloads = 0; reloads < 5; reloads++) await host.reload();
    asked.length = 0;
    await connectHost(socket).status();
    expect([...new Set(asked)].sort()).toEqual([5]);
    await host.stopServing("The test is over.");
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
