import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { connectHost } from "#api/client.ts";
import { openDaemon } from "#app/daemon.ts";
import { findHome, type HomeSearch } from "#config/home.ts";
import { loadSettings } from "#config/load.ts";
import { openLog } from "#util/log.ts";

it("an answer of a daemon goes through no more nets with every reload", async () => {
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
    const daemon = await openDaemon({ ...(await load()), home, log, load });
    try {
      for (let reloads = 0; reloads < 5; reloads++) await daemon.reload();
      asked.length = 0;
      await connectHost(daemon.socket).status();
      expect([...new Set(asked)].sort()).toEqual([0, 5]);
    } finally {
      await daemon.close(0);
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
