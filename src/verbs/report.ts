/** report.ts -- `goald report`: what an agent did, made new from the store; the same text lies in its folder as `_goald/report.md`. */
import { EXIT } from "#core/errors.ts";
import { isHostHeld } from "#store/host-lock.ts";
import { gatherReport } from "#views/gather-report.ts";
import { findAgent } from "#views/load-agent.ts";
import { renderReport } from "#views/report.ts";
import type { GlobalOptions } from "./house.ts";
import { folderOf, reading } from "./reading.ts";

export async function report(name: string, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, house) => {
    const row = await findAgent(reader, name);
    const hosted = isHostHeld(house.home.lock);
    const facts = await gatherReport(row, { store: reader, folder: folderOf(house, row), hosted });
    if (house.talk.json) house.talk.data(house.redact(JSON.stringify(facts)));
    else house.talk.data(house.redact(renderReport(facts).trimEnd()));
    return EXIT.ok;
  });
}
