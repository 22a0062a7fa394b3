import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "@jest/globals";
import { isLive } from "#core/memory.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { rounds } from "../helpers/rounds.ts";

const KILLS = rounds(40);
const CHILD = fileURLToPath(new URL("curating.child.ts", import.meta.url));

it(
  `keeps every acknowledged change of memory over ${KILLS} kills, and verifies after each`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "goald-curating-"));
    const path = join(folder, "goald.db");
    let last = -1;
    try {
      for (let round = 0; round < KILLS; round++) {
        const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") };
        const child = spawn(process.execPath, [CHILD, path, String(last + 1)], {
          env,
          stdio: ["ignore", "pipe", "inherit"],
        });
        let said = "";
        child.stdout.on("data", (piece) => {
          said += String(piece);
        });
        while (!said.includes("\n") && child.exitCode === null) await sleep(5);
        await sleep((round * 7) % 50);
        child.kill("SIGKILL");
        await once(child, "close");
        last = Number(said.trim().split("\n").at(-1));
        const store = await openSqliteStore(path);
        expect((await store.verify()).problems).toEqual([]);
        const texts = (await store.memories("shared", 0, 100_000))
          .filter(isLive)
          .map(({ text, pinned }) => [text, pinned]);
        const live = new Map(texts as [string, boolean][]);
        for (let call = 0; call <= last; call++) {
          expect([live.has(`one ${call}`), live.has(`right ${call}`)]).toEqual([false, call % 2 === 0]);
          expect(live.get(`two ${call}`)).toBe(true);
        }
        await store.close();
      }
      expect(last).toBeGreaterThan(KILLS);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  30_000 + KILLS * 3_000,
);
