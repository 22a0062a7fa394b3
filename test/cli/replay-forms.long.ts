import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { endedWith, linesOf } from "../helpers/goald.ts";
import { makeSeedHome } from "../helpers/seed-home.ts";
import { FORMS, findWorkshop, JOB_FILES, jobLines, jobSteps, startWorkshop } from "../seeds/jobs.ts";

const NO_NETWORK = [fileURLToPath(new URL("../helpers/no-network.child.ts", import.meta.url))];

describe("a recorded job with a search, pages that a model reads, files, and a check on an address", () => {
  it.each(FORMS)("replays in the form %s without a network to the same state and files", async (form) => {
    await using site = await startWorkshop();
    await using home = await makeSeedHome(jobLines(form, jobSteps(form, site.origin)), {
      env: { GOALD_WEB_ALLOW: site.origin },
      find: findWorkshop(site.origin),
    });
    const check = ["--check", `url ${site.origin}/lamps/alder`];
    await home.run(form, { flags: ["--record", "t.ndjson", ...check] });
    const log = await home.log();
    const checked = log.flatMap((event) => (event.type === "goals-checked" ? event.results : []));
    expect(checked.at(-1)?.isPassed).toBe(true);
    // What a page answers to a question is an answer of a model inside a command that is played whole.
    const asked = site.requests.length;
    await site[Symbol.asyncDispose]();
    await home.server.close();

    const played = join(home.goald.cwd, "played");
    const ended = await home.goald.run(["replay", "t.ndjson", "--json", "--home", played], { imports: NO_NETWORK });
    expect(linesOf(endedWith(0, ended)).at(-1)).toMatchObject({
      same: true,
      problems: [],
      events: { same: log.length - 1, all: log.length - 1 },
    });
    expect(ended.stderr).not.toContain("A socket was opened.");
    expect(site.requests).toHaveLength(asked);
    for (const [name, text] of Object.entries(JOB_FILES))
      expect(await readFile(join(played, "workspace", "t", name), "utf8")).toBe(text);
  });
});
