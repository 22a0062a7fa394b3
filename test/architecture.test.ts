import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "@jest/globals";

/**
 * Who may import what: a file may import its neighbours and what the row of its room allows. `withTypes` adds what may be named
 * in `import type` alone. No room calls back up.
 */
const room = (files: string, ...allowed: string[]) => ({
  files,
  imports: new RegExp(`^(?:type )?(?:${["\\./[\\w-]+\\.ts", ...allowed].join("|")})$`),
});
type Room = ReturnType<typeof room>;
const withTypes = ({ files, imports }: Room, ...allowed: string[]): Room => ({
  files,
  imports: new RegExp(`${imports.source}|^type (?:${allowed.join("|")})$`),
});
const PORTS = "\\./ports/[\\w-]+\\.ts";
const CORE = "#core/.+";
const UTIL = "#util/.+";
const FILES = "node:fs|node:fs/promises|node:path|node:url|node:os";

const ROOMS: readonly Room[] = [
  room("src/core/*.ts", PORTS),
  // The outside world, one narrow interface per thing: types and their contracts, no code. Each has one fake in
  // test/helpers, which passes the same suite of test/contracts as the real thing.
  room("src/core/ports/*.ts", "\\.\\./(agent-settings|call|event|goal-check|memory|plan|provenance|subagent)\\.ts"),
  // An action is taken apart in the same way when it is read and when it is shown again.
  room(
    "src/prompt/*.ts",
    CORE,
    "#util/(caches|json|outside-text|words)\\.ts",
    "#reply/(split-action|find-call)\\.ts",
    FILES,
  ),
  room("src/reply/*.ts", CORE, "#util/(caches|json|nearest-name|schema)\\.ts", "ajv", "jsonrepair", "node:vm"),
  room("src/commands/*.ts", CORE, FILES, "node:module", "#util/(json|schema)\\.ts"),
  withTypes(
    room(
      "commands/*.ts",
      "#core/(command|errors|goal-check|guarded-files|memory|text)\\.ts",
      "#util/(file-tree|media-format|near-text|outside-text|replace-text|schema|web-address)\\.ts",
      "node:crypto",
    ),
    "#core/(call|services)\\.ts",
  ),
  // Long-term memory: recall calls words and vectors, which do not import each other.
  withTypes(room("src/memory/words/*.ts", CORE, FILES, "#util/(best-of|caches|words)\\.ts"), "\\.\\./columns\\.ts"),
  // The columns of an index, and the methods that fit a description: by the same words and vectors as memories.
  room("src/memory/*.ts", CORE, UTIL, "\\./(vectors|words)/[\\w-]+\\.ts", "node:crypto"),
  // Only the child process of a graph loads the native library.
  room(
    "src/memory/vectors/!(graph*).ts",
    CORE,
    UTIL,
    FILES,
    "\\.\\./words/word-table\\.ts",
    "node:(crypto|events|module)",
  ),
  room("src/memory/vectors/graph-child.ts", CORE, "node:child_process", "node:path"),
  room("src/memory/vectors/graph-process.ts", CORE, "hnswlib-node", "node:os"),
  room(
    "src/memory/remote/*.ts",
    CORE,
    UTIL,
    "\\.\\./vectors/(exact-index|unit-vector)\\.ts",
    "node:crypto",
    "@pinecone-database/pinecone",
  ),
  room(
    "src/memory/recall/*.ts",
    CORE,
    UTIL,
    FILES,
    "\\.\\./(columns|(remember|vectors|words)/[\\w-]+)\\.ts",
    "node:crypto",
    "node:timers/promises",
  ),
  room("src/memory/remember/*.ts", CORE, UTIL, "#reply/reply-thoughts\\.ts", "node:crypto"),
  withTypes(room("src/model/*.ts", CORE, UTIL, "openai"), "#http/http\\.ts"),
  room("src/http/*.ts", CORE, UTIL, FILES, "node:(dns|events|net)", "node:stream/promises", "ipaddr\\.js", "undici"),
  // Child processes with walls around them. The services import it: it is below them.
  room("src/cage/*.ts", CORE, UTIL, FILES, "node:(child_process|module|stream)"),
  // Cells of code: the host's side of their processes, and the programs that run in them.
  room("src/sandbox/*.ts", CORE, UTIL, FILES, "#cage/.+", "node:(crypto|events|module)", "pyodide"),
  // Pages, files and answers of the web, by the seam that it is handed.
  withTypes(
    room("src/services/web/*.ts", CORE, UTIL, "#http/redirect\\.ts", "ajv", "linkedom", "robots-parser"),
    "#http/http\\.ts",
  ),
  // The system's git, under guard and in a cage: it reaches one server by the tunnel that it is handed.
  withTypes(
    room("src/services/git/*.ts", CORE, UTIL, FILES, "#cage/.+", "node:(events|dns/promises)"),
    "#http/tunnel\\.ts",
  ),
  // Posts for people to read: by the seam that it is handed.
  withTypes(room("src/services/x/*.ts", CORE, UTIL, "node:crypto"), "#http/http\\.ts"),
  // From the bytes of a page to its text and passages. No network: what is read is handed in.
  withTypes(
    room(
      "src/services/page/*.ts",
      CORE,
      UTIL,
      "#cage/.+",
      "node:(buffer|crypto|events|path)",
      "@joplin/turndown-plugin-gfm",
      "@mozilla/readability",
      "html-encoding-sniffer",
      "htmlparser2",
      "linkedom",
      "turndown/.+",
      "unpdf",
    ),
    "../web/polite-web\\.ts",
  ),
  // Recording and playing: a listener at the loop's doors. It opens no connection of its own.
  withTypes(
    room(
      "src/cassette/*.ts",
      CORE,
      UTIL,
      "#store/chain\\.ts",
      "ajv",
      "node:(async_hooks|fs|path)",
      "node:timers/promises",
    ),
    "#http/http\\.ts",
    "#loop/(journal|run-parts)\\.ts",
  ),
  // SQL, for any database.
  room(
    "src/store/*.ts",
    CORE,
    UTIL,
    "\\./sqlite/(anchor|connection)\\.ts",
    "node:(crypto|os|sqlite)",
    "node:timers/promises",
  ),
  // The files of SQLite: connections, the anchor beside the store, its writer thread, backups, the lock of a home.
  room(
    "src/store/sqlite/*.ts",
    CORE,
    UTIL,
    FILES,
    "\\.\\./[\\w-]+\\.ts",
    "node:sqlite",
    "node:crypto",
    "node:module",
    "node:timers/promises",
    "node:worker_threads",
  ),
  room("src/workspace/*.ts", CORE, UTIL, FILES, "node:crypto", "node:util"),
  room("src/config/*.ts", CORE, UTIL, FILES, "node:(crypto|util)", "dotenv", "yaml"),
  withTypes(
    room("src/cli/terminal/*.ts", CORE, UTIL, "#config/.+", "node:readline", "node:stream", "node:tty", "node:util"),
    "#reply/(read|thoughts)\\.ts",
    "#views/waiting\\.ts",
  ),
  room(
    "src/util/*.ts",
    CORE,
    FILES,
    "node:(module|util|v8|vm)",
    "node:timers/promises",
    "ajv/dist/2020\\.js",
    "ajv",
    "eventsource-parser",
    "pino",
  ),
  // One agent. The main loop knows the outside only by the types of core/ports/.
  room(
    "src/loop/*.ts",
    CORE,
    UTIL,
    "#prompt/.+",
    "#reply/.+",
    "#commands/.+",
    "#views/.+",
    "node:crypto",
    "node:timers/promises",
  ),
  // Many agents.
  room(
    "src/host/*.ts",
    CORE,
    UTIL,
    "#api/(control|live-text|schemas)\\.ts",
    "#loop/.+",
    "#views/.+",
    "node:(crypto|events|perf_hooks|v8|vm)",
    "node:timers/promises",
  ),
  // What a person or a program reads about agents: loaded from a store reader, or computed from rows, states and events.
  room("src/views/*.ts", CORE, UTIL, "#prompt/.+", "#reply/.+", "node:crypto", "node:path", "diff"),
  // What others may ask of a host: `Control` and `Reading`, the local API around them, the socket's client, and the daemon
  // started when there is none. It reaches no network.
  room(
    "src/api/*.ts",
    CORE,
    UTIL,
    FILES,
    "#config/.+",
    "#store/sqlite/host-lock\\.ts",
    "#views/.+",
    "ajv",
    "fastify",
    "node:(child_process|crypto|http|module)",
    "node:timers/promises",
  ),
  // The page runs in a browser: its own files, and the packages that the door serves. Types of the API's answers are erased.
  withTypes(
    room("src/page/*.ts", "/vendor/(preact|hooks|htm|marked)\\.js"),
    "preact",
    "#views/.+",
    "#api/(event-stream|schemas)\\.ts",
    "#util/schema\\.ts",
  ),
  // The composition root knows every part.
  room("src/app/*.ts", "#[a-z]+/.+", "\\.\\./shipped\\.ts", FILES, "node:crypto"),
  // Verbs call `Control` and `Reading`, which the composition root opens. They read no store.
  room(
    "src/cli/{verbs/*,!(parser|registry|verb|verb-list)}.ts",
    CORE,
    UTIL,
    FILES,
    "(\\.|\\.\\.|#cli)/((verbs|terminal)/)?[\\w-]+\\.ts",
    "(\\.\\./)+shipped\\.ts",
    "#api/.+",
    "#app/.+",
    "#cage/find-cage\\.ts",
    "#cassette/.+",
    "#config/.+",
    "#commands/(describe|validate)\\.ts",
    "#host/(background-agents|fork-agent)\\.ts",
    "#views/.+",
    "node:crypto",
    "#workspace/local-workspace\\.ts",
    "commander",
  ),
  withTypes(
    room(
      "src/cli/{parser,registry,verb,verb-list}.ts",
      CORE,
      FILES,
      "#util/nearest-name\\.ts",
      "\\./verbs/[\\w-]+\\.ts",
      "\\.\\./shipped\\.ts",
      "commander",
    ),
    "\\./context\\.ts",
  ),
  room("src/cli.ts", CORE, UTIL, "\\./cli/[\\w-]+\\.ts", "#cli/.+", "commander"),
  room("src/shipped.ts", FILES),
];

describe("the import table", () => {
  for (const { files, imports } of ROOMS)
    it.each(globSync(files))("%s imports only what its room allows", (file) => {
      expect(importsOf(file).filter((name) => !imports.test(name))).toEqual([]);
    });

  it("covers every source file", () => {
    const covered = new Set(ROOMS.flatMap(({ files }) => globSync(files)));
    const all = globSync(["src/**/*.ts", "commands/**/*.ts"]);
    expect(all.filter((file) => !covered.has(file))).toEqual([]);
  });
});

/** Small files that a process loads by their name. */
const SMALL_PROGRAMS: readonly string[] = [
  "src/sandbox/closed-node.ts",
  "src/sandbox/make-snapshot.ts",
  "src/services/page/page-reader.ts",
];

/** Most files and lines of code of each room. An issue that needs more says so, and raises its row. */
const BUDGETS: Readonly<Record<string, readonly [files: number, codeLines: number]>> = {
  api: [18, 2720],
  app: [10, 1493],
  cage: [7, 622],
  cassette: [10, 1368],
  cli: [60, 7787],
  commands: [10, 1659],
  config: [15, 1825],
  core: [32, 4575],
  host: [11, 1537],
  http: [6, 591],
  loop: [24, 3727],
  memory: [33, 5932],
  model: [11, 1785],
  page: [13, 1391],
  prompt: [11, 1906],
  reply: [13, 2132],
  sandbox: [13, 1688],
  services: [23, 2803],
  store: [26, 3435],
  util: [22, 1602],
  views: [20, 3339],
  workspace: [8, 1195],
};

describe("the laws of the house", () => {
  const sources = globSync(["src/**/*.{ts,js}", "commands/**/*.ts"]);
  const matching = (files: readonly string[], pattern: RegExp): string[] =>
    files.filter((file) => pattern.test(withoutComments(readFileSync(file, "utf8"))));

  it("HTTP leaves by one module", () => {
    // The page's requests leave a browser, to the door that it came from: test/page/page.test.ts.
    const outside = sources.filter((file) => !file.startsWith("src/http/") && file !== "src/page/api.ts");
    expect(
      matching(
        outside,
        /(?<![.\w])fetch\(|globalThis\.fetch|node:https|node:net|node:tls|node:http2|"undici"|http\.(request|get)\(/,
      ),
    ).toEqual([]);
    expect(matching(outside, /from "node:http"/)).toEqual(["src/api/socket.ts"]);
  });

  it("standard output and standard error are written by one module, which cleans every text", () => {
    const writes = /console\.\w|std(?:out|err)\.write\b|writeSync\((?:1|2)\b/;
    // The guard prints before TypeScript can be loaded; the other default is used by no verb.
    expect(matching(sources, writes)).toEqual(
      globSync(["src/api/find-daemon.ts", "src/cli/terminal/print.ts", "src/goald.js"]),
    );
  });

  const impure = /Date\.now|new Date\(\)|Math\.random|randomUUID|process\./;
  it.each<[law: string, files: readonly string[], pattern: RegExp]>([
    ["core has no clock, no randomness, no id and no environment", globSync("src/core/**/*.ts"), impure],
    ["errors are recognised by Error.isError, which holds across realms", sources, /instanceof \w*Error\b/],
    ["default exports live in commands/ only", globSync("src/**/*.ts"), /^export default/m],
    ["there are no barrels", sources, /^export \* from/m],
  ])("%s", (_law, files, pattern) => {
    expect(matching(files, pattern)).toEqual([]);
  });

  it("every room stays within its files and lines of code", () => {
    const roomOf = (file: string): string => /^src\/([a-z]+)\//.exec(file)?.[1] ?? "";
    const rooms = Map.groupBy(globSync("src/*/**/*.ts"), roomOf);
    const isCode = (line: string): boolean => line.trim() !== "" && !/^\s*(?:\/\/|\/\*|\*)/.test(line);
    const sizes = [...rooms].map(([room, files]) => {
      const lines = files.flatMap((file) => readFileSync(file, "utf8").split("\n").filter(isCode)).length;
      return { room, files: files.length, lines };
    });
    expect(sizes.map(({ room }) => room).sort()).toEqual(Object.keys(BUDGETS).sort());
    const remedy =
      "Shorten the room, or raise its row of BUDGETS in test/architecture.test.ts and say why in the commit.";
    const over = sizes.flatMap(({ room, files, lines }) => {
      const [mostFiles = 0, mostLines = 0] = BUDGETS[room] ?? [];
      if (files <= mostFiles && lines <= mostLines) return [];
      return [
        `src/${room}: ${files} of ${mostFiles} files, ${lines} of ${mostLines} lines of code (neither blank nor comments). ${remedy}`,
      ];
    });
    expect(over).toEqual([]);
  });

  it("no file has more than 450 lines", () => {
    const long = sources.filter((file) => readFileSync(file, "utf8").split("\n").length > 451);
    expect(long).toEqual([]);
  });

  it("a file under 60 lines has two users, or is a command, a verb, a port, a program, or types alone", () => {
    const users = Map.groupBy(
      sources.flatMap((file) => [...new Set(filesOf(file))]),
      (used) => used,
    );
    const isFree = (file: string): boolean =>
      /^(commands|src\/(cli\/verbs|core\/ports))\/|^src\/[^/]+$/.test(file) || SMALL_PROGRAMS.includes(file);
    const small = sources.filter((file) => {
      const text = withoutComments(readFileSync(file, "utf8"));
      const isTypes = !/^(?:export )?(?:async |abstract )?(?:const|let|function|class) /m.test(text);
      return readFileSync(file, "utf8").split("\n").length < 61 && !isTypes && !isFree(file);
    });
    expect(small.filter((file) => (users.get(file)?.length ?? 0) < 2)).toEqual([]);
  });

  it("no function has more than 60 lines of code", () => {
    const { overrides } = JSON.parse(readFileSync("biome.json", "utf8")) as { readonly overrides: readonly object[] };
    const rule = { level: "error", options: { maxLines: 60 } };
    expect(overrides.filter((each) => "linter" in each)).toEqual([
      {
        includes: ["src/**", "commands/**"],
        linter: { rules: { complexity: { noExcessiveLinesPerFunction: rule } } },
      },
    ]);
  });

  it("the main loop has at most 60 lines without its header", () => {
    const lines = withoutComments(readFileSync("src/loop/run.ts", "utf8"))
      .split("\n")
      .filter((line) => line.trim() !== "");
    expect(lines.length).toBeLessThanOrEqual(60);
  });
});

/** The imports and re-exports of a file; those of types alone begin with `type `. */
function importsOf(file: string): readonly string[] {
  const text = withoutComments(readFileSync(file, "utf8"));
  const statics = text.matchAll(/^(?:import|export)\s+(type\s)?[^"';]*?from\s+"([^"]+)"/gm);
  const others = text.matchAll(/(?:^import\s+|\bimport\()"([^"]+)"/gm);
  return [
    ...Array.from(statics, ([, type = "", name]) => `${type}${name}`),
    ...Array.from(others, ([, name = ""]) => name),
  ];
}

/** The files of src that a file imports. */
function filesOf(file: string): readonly string[] {
  return importsOf(file).flatMap((imported) => {
    const name = imported.replace("type ", "");
    if (name.startsWith("#")) return [`src/${name.slice(1)}`];
    return name.startsWith(".") ? [join(dirname(file), name)] : [];
  });
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}
