import { expect, it } from "@jest/globals";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith } from "../helpers/goald.ts";
import { ledger } from "../helpers/numbered-model.ts";

/** Prints the addresses of all modules that were loaded before the first request. */
const HOOK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  import { subscribe } from "node:diagnostics_channel";
  const loaded = [];
  let isPrinted = false;
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
  subscribe("undici:request:create", () => {
    if (!isPrinted) console.error("LOADED " + JSON.stringify(loaded));
    isPrinted = true;
  });
`)}`;

it("a run asks the model before it loads what replies, commands, memories and clients need", async () => {
  await using home = await makeDaemonHome(ledger(1));
  const run = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous"];
  const { stderr } = endedWith(0, await home.goald.run(run, { imports: [HOOK] }));
  const [, list = "[]"] = /^LOADED (.*)$/m.exec(stderr) ?? [];
  const loaded = JSON.parse(list) as readonly string[];
  const packages = loaded.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  expect([...new Set(packages)].sort()).toEqual(["commander", "eventsource-parser", "jsonrepair"]);
  const isLater = /src\/(?:app\/(?:memory|reading)|api\/(?:client|server)|loop\/run-command|services\/page\/[^/]+)\.ts/;
  expect(loaded.filter((url) => isLater.test(url))).toEqual([]);
  // The hook sees goald's own modules.
  expect(loaded.filter((url) => url.includes("/src/loop/run.ts"))).toHaveLength(1);
});
