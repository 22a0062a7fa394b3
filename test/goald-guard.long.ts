import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Goald, makeGoald, type StartOptions } from "./helpers/goald.ts";

const GUARD = fileURLToPath(new URL("../src/goald.js", import.meta.url));
const CHILD = fileURLToPath(new URL("./goald-guard.child.ts", import.meta.url));

/** Makes Node report an older version, in the guard's own process only. */
const SIMULATED =
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.11.1"}})';

/** Finds Nodes on the machine's path that are too old and are not the dev dependency. */
function oldNodes(): readonly string[] {
  const candidates = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "node"));
  const found = candidates.filter((path) => existsSync(path)).map((path) => realpathSync(path));
  return [...new Set(found)].filter((path) => /^v(1\d|2[0-3])\./.test(String(execFileSync(path, ["--version"]))));
}

const OLD: readonly (readonly [name: string, how: StartOptions])[] = [
  ["a simulated old Node", { imports: [SIMULATED] }],
  ...oldNodes().map((path) => [`the old Node at ${path}`, { shell: `shift; exec '${path}' "$@"` }] as const),
];
const ANY = [["the right Node", {}] as const, ...OLD];

let goald: Goald;
beforeAll(async () => {
  goald = await makeGoald();
});
afterAll(async () => {
  await goald[Symbol.asyncDispose]();
});

interface Checkout {
  /** Version and program of its dev dependency `node`; null: not installed. */
  readonly node?: { readonly version: string; readonly program: string } | null;
  /** false: a published package without its compiled files. */
  readonly sources?: boolean;
  readonly guard?: string;
}

let count = 0;
/** Makes a checkout with the guard in front of goald-guard.child.ts, and returns the path of its goald.js. */
function makeCheckout({
  node = { version: "24.15.0", program: process.execPath },
  sources = true,
  guard = readFileSync(GUARD, "utf8"),
}: Checkout = {}): string {
  const folder = join(goald.cwd, `check out ${++count}`);
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "src", "goald.js"), guard);
  if (sources) cpSync(CHILD, join(folder, "src", "cli.ts"));
  if (node !== null) {
    mkdirSync(join(folder, "node_modules", "node", "bin"), { recursive: true });
    writeFileSync(join(folder, "node_modules", "node", "package.json"), JSON.stringify({ version: node.version }));
    symlinkSync(node.program, join(folder, "node_modules", "node", "bin", "node"));
  }
  return join(folder, "src", "goald.js");
}

describe.each(ANY)("goald.js in a checkout with %s", (_name, how) => {
  it.concurrent("passes on arguments, input, output and exit code", async () => {
    const given = ["tell", "", "two words", "--json", `'"$HOME" é\n\\`, "--", "-x"];
    const ended = await goald.run(given, { ...how, binary: makeCheckout(), input: "lines\nof input" });
    expect(ended).toMatchObject({ code: 7, signal: null, stderr: "trouble\n" });
    expect(JSON.parse(ended.stdout)).toEqual({
      args: given,
      input: "lines\nof input",
      terminals: [false, false, false],
      guardVariables: [],
      node: process.version,
    });
  });

  it.concurrent("passes on the terminal, and sends Ctrl-C once", async () => {
    const telling = goald.openTerminal(["tell"], { ...how, binary: makeCheckout() });
    telling.type("typed\r\x04");
    await telling.see('"input":"typed\\n","terminals":[true,true,true]');
    expect(await telling.ended).toMatchObject({ code: 7 });

    const waiting = goald.openTerminal(["wait"], { ...how, binary: makeCheckout() });
    await waiting.see("ready");
    waiting.type("\x03");
    await waiting.see("came: SIGINT.");
    expect(await waiting.ended).toMatchObject({ code: 130 });
  });

  it.concurrent.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "passes on %s to the guard's process once",
    async (signal) => {
      const running = goald.start(["wait"], { ...how, binary: makeCheckout() });
      await running.see("ready");
      running.kill(signal);
      expect(await running.ended).toMatchObject({ stdout: `ready\ncame: ${signal}.\n`, code: 130, signal: null });
    },
  );

  it.concurrent("ends by the same signal as the program", async () => {
    expect(await goald.run(["die"], { ...how, binary: makeCheckout() })).toMatchObject({
      code: null,
      signal: "SIGKILL",
    });
  });

  it.concurrent("leaves no process behind after kill -9", async () => {
    const running = goald.start(["hang"], { ...how, binary: makeCheckout() });
    await running.see(".\n");
    const pid = Number(/pid (\d+)/.exec(running.stdout)?.[1]);
    expect(isAlive(pid)).toBe(true);
    running.kill("SIGKILL");
    expect(await running.ended).toMatchObject({ signal: "SIGKILL" });
    // Standard output closed with the last process that held it, which takes a moment to end.
    for (const end = performance.now() + 30_000; isAlive(pid) && performance.now() < end; ) await sleep(20);
    expect(isAlive(pid)).toBe(false);
  });

  it.concurrent("prints everything to a slow reader, and exits although handles are open", async () => {
    const ended = await goald.run(["flood"], { ...how, binary: makeCheckout(), shell: readSlowly(how) });
    expect({ bytes: ended.stdout.trim(), said: ended.stderr.trim() }).toEqual({ bytes: "2000003", said: "exit 4" });
  });
});

const SENTENCE = /^goald needs Node 24\.15 or newer; this is Node \d+\.\d+\.\d+\. [^\n]+\.\n$/;

describe.each(OLD)("goald.js with %s and no newer one", (_name, how) => {
  it.concurrent.each<[where: string, checkout: Checkout, way: string]>([
    ["in a published package", { sources: false, node: null }, "Install a newer Node"],
    ["in a checkout before npm ci", { node: null }, "npm ci"],
    ["in a checkout with an old dev dependency", { node: { version: "24.14.9", program: process.execPath } }, "npm ci"],
    [
      "in a checkout whose dev dependency was not unpacked",
      { node: { version: "24.15.0", program: "gone" } },
      "npm ci",
    ],
  ])("prints one sentence and exits with 1 %s", async (_where, checkout, way) => {
    const ended = await goald.run(["tell"], { ...how, binary: makeCheckout(checkout) });
    expect(ended).toMatchObject({ stdout: "", code: 1, signal: null });
    expect(ended.stderr).toMatch(SENTENCE);
    expect(ended.stderr).toContain(way);
  });

  it.concurrent("prints one sentence when the dev dependency cannot be run", async () => {
    const binary = makeCheckout({ node: { version: "24.15.0", program: "/dev/null" } });
    const ended = await goald.run(["tell"], { ...how, binary });
    expect(ended).toMatchObject({ stdout: "", code: 1, signal: null });
    expect(ended.stderr).toMatch(/^goald could not start [^\n]*EACCES[^\n]*npm ci[^\n]*\n$/);
  });

  it.concurrent("leaves a process behind in a control run without the guard's watch", async () => {
    const guard = readFileSync(GUARD, "utf8").replace('process.once("disconnect"', 'process.once("never"');
    const running = goald.start(["hang"], { ...how, binary: makeCheckout({ guard }) });
    await running.see(".\n");
    const pid = Number(/pid (\d+)/.exec(running.stdout)?.[1]);
    running.kill("SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
    await running.ended;
  });
});

describe("goald.js with the right Node", () => {
  it.concurrent.each(["24.15.0", "24.16.1", "25.0.0", "100.0.0"])("accepts version %s", async (version) => {
    const imports = [SIMULATED.replace("20.11.1", version)];
    expect(await goald.run(["tell"], { imports, binary: makeCheckout({ node: null }) })).toMatchObject({ code: 7 });
  });

  it.concurrent.each(["24.14.0", "23.99.0", "9.0.0"])("rejects version %s", async (version) => {
    const imports = [SIMULATED.replace("20.11.1", version)];
    const ended = await goald.run(["tell"], { imports, binary: makeCheckout({ node: null }) });
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(SENTENCE);
  });

  it.concurrent("cuts off output to a slow reader in a control run that exits at once", async () => {
    const guard = readFileSync(GUARD, "utf8").replace(/ {2}for \(const stream of .*\n/, "  process.exit();\n");
    const ended = await goald.run(["flood"], { binary: makeCheckout({ guard }), shell: readSlowly({}) });
    expect(Number(ended.stdout)).toBeLessThan(2_000_003);
  });

  it.concurrent("prints one sentence in a checkout before npm ci", async () => {
    const binary = makeCheckout();
    writeFileSync(join(binary, "..", "cli.ts"), 'import "commander";\nexport const main = () => 0;\n');
    const ended = await goald.run(["tell"], { binary });
    expect(ended).toMatchObject({ stdout: "", code: 1 });
    expect(ended.stderr).toMatch(/^goald's packages are not installed: run "npm ci"[^\n]*\n$/);
  });
});

/** A shell script that reads the output late, counts its bytes, and prints the exit code on standard error. */
const readSlowly = ({ shell = 'exec "$@"' }: StartOptions): string =>
  `(${shell.replace("exec ", "")}; echo "exit $?" >&2) | (sleep 1; wc -c)`;

/** Returns false for a zombie, too. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
