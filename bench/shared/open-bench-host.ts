/** open-bench-host.ts -- opens the real host on a home of the bench, as the command line does, log file and redaction included. */
import { join } from "node:path";
import { openHost } from "#app/host.ts";
import { findHome, type Home } from "#config/home.ts";
import { loadSettings } from "#config/load-settings.ts";
import { openHome } from "#config/open-home.ts";
import { type Log, openLog } from "#util/log.ts";
import { createRedactor, createValueRedactor } from "#util/redact.ts";

const KEY = "sk-bench-0123456789abcdefghij";

/** The home is `folder`/home. It is made, or it exists. */
export async function openBenchHome(folder: string): Promise<Home> {
  const home = await findHome({
    flag: join(folder, "home"),
    env: {},
    cwd: folder,
    checkout: undefined,
    userHome: folder,
    configHome: undefined,
    isTerminal: false,
    askTrust: async () => true,
    uid: process.getuid?.(),
  });
  await openHome(home, process.getuid?.());
  return home;
}

type OnCommitted = NonNullable<Parameters<typeof openHost>[0]["onCommitted"]>;
interface BenchHostOptions {
  /** Settings beside those of the server. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onCommitted?: (...committed: [...Parameters<OnCommitted>, log: Log]) => void;
}

/** `baseUrl` ends in /v1. A failure of any agent throws. */
export async function openBenchHost(
  home: Home,
  baseUrl: string,
  { env: more, onCommitted = () => undefined }: BenchHostOptions = {},
) {
  const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: baseUrl, GOALD_MEMORY_EMBEDDER: "offline", ...more };
  const { settings } = await loadSettings({ home, env });
  const log = await openLog({ folder: home.logFolder, redact: createRedactor([KEY]), level: settings.log.level });
  const redact = createValueRedactor([KEY]);
  return openHost({
    home,
    settings,
    log,
    redact,
    scrub: redact,
    onProblem: fail,
    onFailed: (_agent, error) => fail(error.message),
    onCommitted: (agent, events) => onCommitted(agent, events, log),
  });
}

function fail(problem: string): never {
  throw new Error(problem);
}
