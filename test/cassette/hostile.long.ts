import { readdir, writeFile } from "node:fs/promises";
import { expect, it } from "@jest/globals";
import { readCassette } from "#cassette/recording-file.ts";
import { isGoaldError } from "#core/errors.ts";
import { makeRecording } from "../helpers/daemon-home.ts";
import { jsonOf } from "../helpers/goald.ts";
import { randomNumbers } from "../helpers/memory-rows.ts";

it("a recording from a stranger ends with a sentence for any damage, and soon", async () => {
  const { goald, lines: recorded, at, replay } = await makeRecording();
  const random = randomNumbers(7);
  const values = [null, -1, 1e9, 1e308, "", "x", [], {}, true, [null], { type: "x" }, "\u0000", "../x"];
  for (let round = 0; round < 400; round++) {
    const lines = structuredClone(recorded) as Record<string, unknown>[];
    const line = lines[Math.floor(random() * lines.length)] as Record<string, unknown>;
    mutate(line, values, random);
    await writeFile(at("mutant.ndjson"), `${lines.map((each) => JSON.stringify(each)).join("\n")}\n`);
    let isRead = false;
    try {
      readCassette(at("mutant.ndjson"));
      isRead = true;
    } catch (thrown) {
      expect({ line, thrown }).toEqual({ line, thrown: expect.anything() });
      expect(isGoaldError(thrown)).toBe(true);
    }
    if (!isRead || round % 8 > 0) continue;
    const ended = await replay("mutant.ndjson");
    expect({ line, ended: ended.stderr.includes("GOALD_INTERNAL") }).toEqual({ line, ended: false });
    expect(await readdir(at("tmp"))).toEqual([]);
  }
  expect(jsonOf(await goald.ask(["ps", "-a", "--json"]))).toMatchObject({ agents: [{ id: "t" }] });
});

/** Replaces, removes or doubles one value somewhere in a line. */
function mutate(holder: Record<string, unknown>, values: readonly unknown[], random: () => number): void {
  const keys = Object.keys(holder);
  const key = keys[Math.floor(random() * keys.length)];
  if (key === undefined) return;
  const value = holder[key];
  if (typeof value === "object" && value !== null && random() < 0.7) {
    mutate(value as Record<string, unknown>, values, random);
    return;
  }
  if (random() < 0.2 && !Array.isArray(holder)) delete holder[key];
  else holder[key] = values[Math.floor(random() * values.length)];
}
