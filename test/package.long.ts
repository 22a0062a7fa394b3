import { execFile, execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { DAEMON_ENVIRONMENT } from "#api/spawn-daemon.ts";
import type { CommandCall } from "#core/call.ts";
import { useShared } from "./helpers/folder.ts";
import { type Goald, linesOf, makeGoald, type StartOptions } from "./helpers/goald.ts";
import { listenOnLoopback } from "./helpers/loopback.ts";
import { replyWith, write } from "./helpers/models.ts";
import { startOpenAIServer } from "./helpers/openai-server.ts";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));
const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
const SECRET = "sk-planted-7d1c94";
/** Files that a checkout has when it is somebody's home. */
const PLANTED = {
  ".env": `OPENAI_API_KEY=${SECRET}\n`,
  ".goald/goald.db": SECRET,
  ".goald/log/goald.log": SECRET,
  "workspace/foo/notes.txt": SECRET,
  "config/goald.json": `{"openai":{"apiKey":"${SECRET}"}}`,
  "config/.goald.json.swp": SECRET,
  "prompts/role.md~": SECRET,
  "prompts/.env": SECRET,
  "docs/plan.md~": SECRET,
  "commands/.draft.ts.swp": SECRET,
  "dist/src/stale.js": SECRET,
  "goald-0.0.1.tgz": SECRET,
} as const;
/** Files that stand in for those of the page. */
const PAGE = {
  "src/page/planted.ts": 'import { two } from "./planted-too.ts";\nexport const one: number = two;\n',
  "src/page/planted-too.ts": "export const two: number = 2;\n",
  "src/page/planted.css": "body { margin: 0 }\n",
} as const;
/** The table of word vectors has 6.4 MB, 6.1 MB of them packed. */
const MAX_PACKED_BYTES = 7_500_000;
const MAX_UNPACKED_BYTES = 10_300_000;
/** What most file systems give a small file. */
const BLOCK_BYTES = 4_096;

let goald: Goald;
/** The copy of this checkout that is packed, and npm's global prefix, where the package is installed. */
let source: string;
let customer: string;
let tarball: string;
/** What npm printed to standard error while it installed the package. */
let printed: string;

beforeAll(async () => {
  goald = await makeGoald({ PATH, npm_config_update_notifier: "false" });
  [source, customer] = [join(goald.cwd, "source"), join(goald.cwd, "customer")];
  copyCheckout(source);
  linkPackagesExcept(source, "hnswlib-node");
  await npm(source, {}, "pack", "--pack-destination", goald.cwd);
  rmSync(join(source, "node_modules"), { recursive: true });
  symlinkSync(join(CHECKOUT, "node_modules"), join(source, "node_modules"));
  tarball = join(goald.cwd, globSync("goald-*.tgz", { cwd: goald.cwd })[0] ?? "none");
  printed = await installGlobally(customer, tarball);
}, 300_000);
afterAll(() => goald[Symbol.asyncDispose]());

describe("the package", () => {
  it("contains everything that runs, and no tests, no workspace and no settings of the publisher", async () => {
    const packed = await packedFiles();
    expect(packed.filter((file) => !SHIPPED.test(file))).toEqual([]);
    const found = (...patterns: readonly string[]) => globSync(patterns, { cwd: CHECKOUT });
    const sources = found("src/**/*.ts", "commands/*.ts").filter((file) => !/\.d\.ts$/.test(file));
    const texts = found("prompts/**/*.md", "config/**/*.{json,yaml,md}", "src/**/*.py");
    const data = found("src/memory/words/*.{bin,md,sha256}", "src/page/*.{css,html,svg}");
    const expected = [
      ...sources.map((file) => file.replace(/ts$/, "js")),
      ...[...texts, ...data].filter((file) => !isOwn(file) && !isPage(file)),
    ];
    expect(packed).toEqual(expect.arrayContaining(expected.map((file) => `dist/${file}`)));
  });

  it("contains no secret of the checkout that it is made from", () => {
    for (const file of Object.keys(PLANTED).filter((name) => !name.startsWith("dist/")))
      expect(readFileSync(join(source, file), "utf8")).toContain(SECRET);
    const files = installedFiles();
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((file) => readFileSync(file, "utf8").includes(SECRET))).toEqual([]);
  });

  it("stays below its size limits", async () => {
    const packed = statSync(tarball).size;
    const unpacked = (await packedFiles()).reduce((sum, file) => sum + statSync(join(installed(), file)).size, 0);
    console.log(`packed ${packed} bytes, unpacked ${unpacked} bytes`);
    expect(packed).toBeLessThan(MAX_PACKED_BYTES);
    expect(unpacked).toBeLessThan(MAX_UNPACKED_BYTES);
  });

  it("takes on disk, with its packages, what its README says", () => {
    const [, said] = /(\d+) MB on disk/.exec(readFileSync(join(installed(), "README.md"), "utf8")) ?? [];
    const files = installedFiles();
    const blocks = files.reduce((sum, file) => sum + Math.ceil(statSync(file).size / BLOCK_BYTES), 0);
    const megabytes = (blocks * BLOCK_BYTES) / 2 ** 20;
    console.log(`installed ${megabytes.toFixed(1)} MB in ${files.length} files`);
    expect(Math.abs(megabytes / Number(said) - 1)).toBeLessThan(0.1);
  });

  it("is installed and linked without a warning of goald", async () => {
    const linked = await npm(source, { prefix: join(goald.cwd, "linked") }, "link", "--loglevel=warn");
    const version = await run(["--version"], { shell: startOf(join(goald.cwd, "linked", "bin", "goald")) });
    expect(version).toMatchObject({ code: 0, stderr: "" });
    expect([...warningsOfGoald(printed), ...warningsOfGoald(linked)]).toEqual([]);
  });

  it.each(["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md"])(
    "has every file that %s links to",
    (pattern) => {
      const pages = globSync(pattern, { cwd: installed() });
      expect(pages).not.toEqual([]);
      const missing = pages.flatMap((page) => {
        const text = readFileSync(join(installed(), page), "utf8");
        return findMissing(dirname(join(installed(), page)), linksIn(text));
      });
      expect(missing).toEqual([]);
    },
  );

  it("has every file of config and docs that its README names", () => {
    const names = namesIn(readFileSync(join(installed(), "README.md"), "utf8"));
    expect(names).toEqual(expect.arrayContaining(["docs/verbs.md", "config/example-agent.yaml"]));
    expect(findMissing(installed(), names)).toEqual([]);
  });

  it("has the program that a person's service starts, with the environment of a daemon", () => {
    const text = readFileSync(join(installed(), "docs", "service.md"), "utf8");
    const programs = [...text.matchAll(/node_modules\/goald\/([\w./-]+)/g)].map(([, name = ""]) => name);
    expect(programs).toHaveLength(2);
    expect(findMissing(installed(), programs)).toEqual([]);
    for (const variable of Object.entries(DAEMON_ENVIRONMENT)) expect(text).toContain(variable.join("="));
  });

  it("runs no script when it is installed", () => {
    const { scripts } = JSON.parse(readFileSync(join(installed(), "package.json"), "utf8"));
    expect(Object.keys(scripts).filter((name) => INSTALL_SCRIPT.test(name))).toEqual([]);
    for (const name of ["postinstall", "prepare", "dependencies"]) expect(name).toMatch(INSTALL_SCRIPT);
  });
});

describe("npm in a checkout", () => {
  const install = (...args: readonly string[]) =>
    npm(checkout, {}, "ci", "--dry-run", "--offline", "--no-audit", ...args);
  let checkout: string;
  /** This Node is older than what its package.json asks for. */
  beforeAll(() => {
    checkout = join(goald.cwd, "older");
    mkdirSync(checkout);
    for (const file of ["package-lock.json", ".npmrc"]) cpSync(join(CHECKOUT, file), join(checkout, file));
    const whole = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8"));
    writeFileSync(join(checkout, "package.json"), JSON.stringify({ ...whole, engines: { node: ">=99" } }));
  });

  it("does not warn of a Node that is too old, since the right one is installed with the packages", async () => {
    expect(await install()).toBe("");
    expect(await install("--loglevel=warn")).toContain("EBADENGINE");
  });

  it("prints errors", async () => {
    rmSync(join(checkout, "package-lock.json"));
    await expect(install()).rejects.toThrow(/npm error .*existing package-lock\.json/);
  });
});

describe("goald installed from the package", () => {
  it("prints its version", async () => {
    const { version } = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8"));
    expect(await run(["--version"])).toMatchObject({ stdout: `${version}\n`, stderr: "", code: 0 });
  });

  it("uses the person's home, never its own folder", async () => {
    const ended = await run(["ps"], { env: { GOALD_HOME: undefined } });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toContain(join(goald.userHome, "goald"));
    expect(globSync("**/.goald", { cwd: customer })).toEqual([]);
  });

  it("plays the demo, and ps lists its agent", async () => {
    const home = join(goald.cwd, "demo home");
    const demo = await run(["demo", "--home", home]);
    expect(demo).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(join(home, "workspace", "foo", "recommended_strings.txt"))).toBe(true);
    const [listed] = linesOf(await run(["ps", "--json", "--home", home]));
    expect(listed).toMatchObject({ agents: [{ id: "foo", state: "completed" }] });
    expect(await run(["verify", "--home", home])).toMatchObject({ code: 0 });
  });

  it("runs the example agent of a home that it made, until its checks hold", async () => {
    const home = join(goald.cwd, "first home");
    expect(await run(["init", home])).toMatchObject({ code: 0, stderr: "" });
    const wanted = { "criteria.md": "c", "comparison.md": "c".repeat(300), "recommendation.txt": "good for an elbow" };
    const calls = Object.entries(wanted).map(([file, text]) => write(file, text));
    const from = join(home, "config", "example-agent.yaml");
    const { ended } = await runAgent([DONE, ...calls, DONE], ["--from", from, "--home", home]);
    await run(["down", "--home", home]);
    expect(ended.stdout).toContain("3 of 3 checks failed");
    expect(ended.stdout).toContain("Completed: done");
  });

  it("runs an agent on a server, with a person's own commands and prompts", async () => {
    for (const [file, text] of Object.entries(OWN_FILES)) await goald.write(file, text);
    await run(["down"]);
    const { ended, system } = await runAgent(CALLS, ["--name", "T", "--role", "r", "--goal", "g", "--json"]);
    expect(resultsIn(ended)).toEqual(["HELLO!", "hush", "psst", expect.stringContaining("a.txt"), expect.any(String)]);
    expect(await goald.read("workspace/t/a.txt")).toBe("from the package");
    for (const text of ["Shout it", "Hush it", "Whisper it", "Obey the house of the customer."])
      expect(system).toContain(text);
  });

  it.each([
    ["the package", () => startOf(join(customer, "bin", "goald"))],
    ["a checkout whose node_modules is a link", () => startOf(join(source, "src", "goald.js"))],
  ])("reads a page in a cage, run from %s", async (what, shell) => {
    await using site = await listenOnLoopback((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end("<title>B</title><article><h1>Hours</h1><p>The bakery opens at nine on Sundays.</p></article>");
    });
    const env = { GOALD_WEB_ALLOW: site.origin, GOALD_MEMORY_EMBEDDER: "offline", OPENAI_API_KEY: "any" };
    const ended = await run(["ingest", "shared", `${site.origin}/${what.length}`, "--json"], { env, shell: shell() });
    expect(ended).toMatchObject({ code: 0 });
    expect(JSON.parse(ended.stdout)).toMatchObject({ sources: 1, added: 1 });
  });

  it("runs Python in a cage, run from a checkout whose node_modules is a link", async () => {
    const cell = { name: "run_code", args: { code: "print(6 * 7)" } };
    await run(["down"]);
    const flags = ["--name", "P", "--role", "r", "--goal", "g", "--json"];
    const { ended } = await runAgent([cell, DONE], flags, startOf(join(source, "src", "goald.js")));
    expect(resultsIn(ended)[0]).toContain("42");
  });

  it("serves the files of its page, without their types and by the names that they import", async () => {
    const { stdout } = await run(["dashboard", "--json"]);
    const { origin } = new URL((JSON.parse(stdout) as { readonly url: string }).url);
    const textOf = async (path: string) => (await fetch(`${origin}${path}`)).text();
    expect(await textOf("/page/planted.ts")).toMatch(
      /^import \{ two \} from "\.\/planted-too\.ts";\nexport const one\s+= two;\n$/,
    );
    expect(await textOf("/page/planted.css")).toBe(PAGE["src/page/planted.css"]);
    for (const path of ["/vendor/preact.js", "/vendor/hooks.js", "/vendor/htm.js", "/vendor/marked.js"])
      expect(await textOf(path)).toContain("export");
    await run(["down"]);
  });
});

// ---------------------------------------------------------------- what a person wrote

const FACTS = `annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "pure",
  args: { type: "object", properties: {} },`;

const OWN_FILES = {
  "commands/shout.ts": `import type { Observation } from "goald/types";
interface Args { readonly text: string }
export default {
  name: "shout", label: "Shout it", summary: "says it louder.", ${FACTS.replace("{} }", '{ text: { type: "string", description: "What to say." } }, required: ["text"] }')}
  async run({ text }: Args): Promise<Observation> {
    return { status: "ok", text: text.toUpperCase() + "!", source: "workspace", artifacts: [] };
  },
};`,
  "commands/hush.js": `export default {
  name: "hush", label: "Hush it", summary: "says it softly.", ${FACTS}
  run: async () => ({ status: "ok", text: "hush" }),
};`,
  "commands/whisper.mjs": `import { basename } from "node:path";
export default {
  name: "whisper", label: "Whisper it", summary: "says it very softly.", ${FACTS}
  run: async () => ({ status: "ok", text: basename("/a/psst") }),
};`,
  "prompts/system.md": "## constraints\nObey the house of the customer.\n",
} as const;

const DONE = { name: "task_complete", args: { reason: "done" } };
const CALLS = [
  { name: "shout", args: { text: "hello" } },
  { name: "hush", args: {} },
  { name: "whisper", args: {} },
  write("a.txt", "from the package"),
  DONE,
];

// ---------------------------------------------------------------- packing, installing, calling

/** Matches every file that may be in the package: what runs, and the pages for people with what they link to. */
const SHIPPED = new RegExp(
  `^(?:${[
    "package\\.json|LICENSE|(?:README|CHANGELOG|CONTRIBUTING|SECURITY)\\.md|\\.env\\.example",
    "docs/[\\w-]+\\.(?:md|png)|commands/\\w+\\.ts|config/(?:default|openapi|prices)\\.json|config/example-agent\\.yaml",
    "src/goald\\.js|src/loop/run\\.ts|dist/package\\.json|dist/commands/\\w+\\.js|dist/src/(?:[\\w-]+/){0,2}[\\w-]+\\.js",
    "dist/src/sandbox/python/goald_cells/\\w+\\.py|dist/src/memory/words/(?:word-table\\.(?:bin|sha256)|LICENSE\\.md)",
    "dist/prompts/(?:[\\w-]+/)?[\\w-]+\\.md|dist/config/(?!goald\\.json|openapi\\.json)[\\w-]+\\.(?:json|yaml)",
    "dist/src/page/[\\w-]+\\.(?:css|html|svg)|dist/config/demo/script\\.json|dist/config/skeletons/[\\w.-]+\\.ts\\.txt",
  ].join("|")})$`,
);

/** What npm runs when it installs or links a package. It warns of most of them, and asks the person to allow them. */
const INSTALL_SCRIPT = /^(?:(?:pre|post)?(?:install|prepare|dependencies)|prepublish)$/;

/** This checkout may be a home, with settings of its own. */
const isOwn = (file: string): boolean => file === join("config", "goald.json");
/** The package has it once, beside the pages that link to it. */
const isPage = (file: string): boolean => file === join("config", "openapi.json");

const installed = (): string => join(customer, "lib", "node_modules", "goald");

/** The paths of the installed files, with those of its packages. */
const installedFiles = (): readonly string[] =>
  globSync("**", { cwd: installed(), withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );

const linksIn = (text: string): readonly string[] =>
  [...text.matchAll(/(?:\]\(|src=")(?!https?:|#)([^)#"]+)/g)].map(([, target = ""]) => target);
const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/\b(?:config|docs)\/[\w./-]+\.\w+/g)].map(([name]) => name);
const findMissing = (folder: string, names: readonly string[]): readonly string[] =>
  names.filter((name) => !existsSync(join(folder, name)));

function copyCheckout(folder: string): void {
  const left = new Set(["node_modules", ".git", ".env", ".goald", "dist", "coverage", "workspace"]);
  cpSync(CHECKOUT, folder, {
    recursive: true,
    filter: (path) => !left.has(path.slice(CHECKOUT.length)) && !path.endsWith(".tgz"),
  });
  for (const [file, text] of Object.entries({ ...PLANTED, ...PAGE })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}

/** Gives the copy the packages of this checkout, as on a machine that could not build an optional one. */
function linkPackagesExcept(folder: string, missing: string): void {
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync(join(CHECKOUT, "node_modules")))
    if (name !== missing) symlinkSync(join(CHECKOUT, "node_modules", name), join(folder, "node_modules", name));
}

async function packedFiles(): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)("tar", ["-tzf", tarball]);
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.replace(/^package\//, ""));
}

/**
 * Runs npm with the person's own settings (its registry), but without the variables of an npm that runs this test, and
 * with a global prefix of its own. Returns what it printed to standard error.
 */
async function npm(
  cwd: string,
  { prefix = join(goald.cwd, "prefix") }: { readonly prefix?: string },
  ...args: readonly string[]
): Promise<string> {
  const outer = /^(?:npm_(?:lifecycle|package|config_(?:local_prefix|loglevel)|command|execpath)|INIT_CWD)/;
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !outer.test(name)));
  const env = { ...own, PATH, npm_config_prefix: prefix };
  try {
    return (await promisify(execFile)("npm", args, { cwd, env })).stderr;
  } catch (error) {
    // The compiler prints its errors on standard output.
    const { message, stdout } = error as { message: string; stdout: string };
    throw new Error(`${message}\n${stdout}`);
  }
}

const installGlobally = (prefix: string, file: string): Promise<string> =>
  npm(goald.cwd, { prefix }, "install", "--global", "--prefer-offline", "--no-audit", "--no-fund", file);

/** Leaves out what npm prints about itself, and the warning of the optional hnswlib-node, which compiles itself. */
const warningsOfGoald = (text: string): readonly string[] =>
  text
    .split("\n")
    .filter(
      (line) =>
        !/^(?:npm notice.*|npm warn install-scripts(?: 1 package .*| Run `.*|.*\bhnswlib-node@.*)?)?$/.test(line),
    );

/** A shell script that starts goald.js, or a link to it, in the place of this checkout's. */
const startOf = (file: string): string => `shift 2; exec '${file}' "$@"`;

const run = (args: readonly string[], options: StartOptions = {}): ReturnType<Goald["run"]> =>
  goald.run(args, { cwd: goald.cwd, shell: startOf(join(customer, "bin", "goald")), ...options });

/** Runs an agent of a model that makes these calls, to its end, with no request that breaks the schema of the server. */
async function runAgent(calls: readonly CommandCall[], flags: readonly string[], shell?: string) {
  await using server = await startOpenAIServer({ reply: calls.map((call) => replyWith(call)), embeddings: null });
  const env = { OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: "any" };
  const ended = await run(["run", ...flags, "--continuous"], { env, ...(shell ? { shell } : {}) });
  expect(ended).toMatchObject({ code: 0 });
  expect(server.violations).toEqual([]);
  return { ended, system: String(server.chats[0]?.messages[0]?.content) };
}

const resultsIn = (ended: Awaited<ReturnType<typeof run>>): readonly string[] =>
  linesOf(ended).flatMap(({ type, observation }) =>
    type === "command-finished" ? [(observation as { text: string }).text] : [],
  );

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

interface Checkout {
  /** Version and program of its dev dependency `node`; null: not installed. */
  readonly node?: { readonly version?: string; readonly program?: string } | null;
  /** false: a published package without its compiled files. */
  readonly sources?: boolean;
}

let count = 0;

describe("the guard before the program", () => {
  const goald = useShared(() => makeGoald());

  /** Makes a checkout with the guard in front of goald-guard.child.ts, and returns the path of its goald.js. */
  function makeCheckout({ node = {}, sources = true }: Checkout = {}): string {
    const folder = join(goald.cwd, `check out ${++count}`);
    mkdirSync(join(folder, "src"), { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    cpSync(GUARD, join(folder, "src", "goald.js"));
    if (sources) cpSync(CHILD, join(folder, "src", "cli.ts"));
    if (node !== null) {
      mkdirSync(join(folder, "node_modules", "node", "bin"), { recursive: true });
      const { version = "24.15.0", program = process.execPath } = node;
      writeFileSync(join(folder, "node_modules", "node", "package.json"), JSON.stringify({ version }));
      symlinkSync(program, join(folder, "node_modules", "node", "bin", "node"));
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
        hasParent: false,
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

  describe.each(OLD)("goald.js with %s and no newer one", (_name, how) => {
    it.concurrent.each<[where: string, checkout: Checkout, way: string]>([
      ["in a published package", { sources: false, node: null }, "Install a newer Node"],
      ["in a checkout before npm ci", { node: null }, "npm ci"],
      ["in a checkout with an old dev dependency", { node: { version: "24.14.9" } }, "npm ci"],
      ["in a checkout whose dev dependency was not unpacked", { node: { program: "gone" } }, "npm ci"],
    ])("prints one sentence and exits with 1 %s", async (_where, checkout, way) => {
      const ended = await goald.run(["tell"], { ...how, binary: makeCheckout(checkout) });
      expect(ended).toMatchObject({ stdout: "", code: 1, signal: null });
      expect(ended.stderr).toMatch(SENTENCE);
      expect(ended.stderr).toContain(way);
    });

    it.concurrent("prints one sentence when the dev dependency cannot be run", async () => {
      const binary = makeCheckout({ node: { program: "/dev/null" } });
      const ended = await goald.run(["tell"], { ...how, binary });
      expect(ended).toMatchObject({ stdout: "", code: 1, signal: null });
      expect(ended.stderr).toMatch(/^goald could not start [^\n]*EACCES[^\n]*npm ci[^\n]*\n$/);
    });
  });

  describe("goald.js with the right Node", () => {
    const accepted = ["24.15.0", "24.16.1", "25.0.0", "100.0.0"];
    it.concurrent.each([...accepted, "24.14.0", "23.99.0", "9.0.0"])(
      "accepts or rejects version %s",
      async (version) => {
        const imports = [SIMULATED.replace("20.11.1", version)];
        const ended = await goald.run(["tell"], { imports, binary: makeCheckout({ node: null }) });
        expect(ended).toMatchObject({ code: accepted.includes(version) ? 7 : 1 });
        if (ended.code === 1) expect(ended.stderr).toMatch(SENTENCE);
      },
    );

    it.concurrent("prints one sentence in a checkout before npm ci", async () => {
      const binary = makeCheckout();
      writeFileSync(join(binary, "..", "cli.ts"), 'import "commander";\nexport const main = () => 0;\n');
      const ended = await goald.run(["tell"], { binary });
      expect(ended).toMatchObject({ stdout: "", code: 1 });
      expect(ended.stderr).toMatch(/^goald's packages are not installed: run "npm ci"[^\n]*\n$/);
    });
  });
});

const SENTENCE = /^goald needs Node 24\.15 or newer; this is Node \d+\.\d+\.\d+\. [^\n]+\.\n$/;

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
