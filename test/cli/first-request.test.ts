import { describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith } from "../helpers/goald.ts";
import { ledger } from "../helpers/models.ts";

/** Prints the addresses of all modules that were loaded at the first request, or at the end of a process without one. */
const HOOK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  import { subscribe } from "node:diagnostics_channel";
  const loaded = [];
  let isPrinted = false;
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
  const print = () => {
    if (!isPrinted) process.stderr.write("LOADED " + JSON.stringify(loaded) + "\\n");
    isPrinted = true;
  };
  subscribe("undici:request:create", print);
  process.on("exit", print);
`)}`;
const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous"];

describe("a run", () => {
  /** Modules of the daemon at its first request, and of the call that followed it. */
  async function loadedBy({ goald }: DaemonHome): Promise<readonly (readonly string[])[]> {
    const daemon = goald.start(["up", "--foreground"], { imports: [HOOK] });
    await daemon.see("is ready");
    const call = endedWith(0, await goald.run(RUN, { imports: [HOOK] }));
    daemon.kill("SIGTERM");
    return [await daemon.ended, call].map(({ stderr }) => JSON.parse(/^LOADED (.*)$/m.exec(stderr)?.[1] ?? "[]"));
  }

  it("asks the model before the daemon loads what replies, commands, memories and the page need, and loads no host itself", async () => {
    await using home = await makeDaemonHome(ledger(1));
    const [daemon = [], call = []] = await loadedBy(home);
    const isLater = /src\/(?:api\/door|app\/memory|loop\/run-command|services\/page\/[^/]+)\.ts/;
    expect(daemon.filter((url) => isLater.test(url))).toEqual([]);
    // The hook sees goald's own modules.
    expect(daemon.filter((url) => url.includes("/src/loop/run.ts"))).toHaveLength(1);
    const packages = call.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
    const ofAjv = ["ajv", "fast-deep-equal", "fast-uri", "json-schema-traverse"];
    // The thoughts that it shows are read as the daemon reads them.
    expect([...new Set(packages)].sort()).toEqual([...ofAjv, "commander", "eventsource-parser", "jsonrepair"].sort());
    expect(call.filter((url) => /src\/(?:app\/host|loop\/run|api\/server)\.ts/.test(url))).toEqual([]);
  });
});

describe("a verb that only looks", () => {
  it.each([
    ["--help", 12],
    ["ps", 110],
  ])("loads few files: goald %s at most %i", async (verb, most) => {
    await using home = await makeDaemonHome([]);
    const { stderr } = endedWith(0, await home.goald.run([verb], { imports: [HOOK] }));
    const loaded: readonly string[] = JSON.parse(/^LOADED (.*)$/m.exec(stderr)?.[1] ?? "[]");
    const own = loaded.filter((url) => /\/(?:src|commands)\//.test(url) && !url.includes("/node_modules/"));
    expect(own.length).toBeGreaterThan(5);
    expect(own.length).toBeLessThanOrEqual(most);
  });
});
