/**
 * seed-home.ts -- a home whose model is scripted by conditions, with a search server on loopback, for the examples of the seeds.
 *
 * Agents run by the real program with code that runs in the real sandbox.
 */
import { link, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { findCage } from "#cage/find-cage.ts";
import type { RecordedEvent } from "#core/event.ts";
import { prepareSnapshot } from "#sandbox/python-snapshot.ts";
import { useSharedFolder } from "./folder.ts";
import { endedWith, type Goald, lookInto, makeGoald, type StartOptions } from "./goald.ts";
import { conditionalModel, type Line, readRequest, type Seen } from "./models.ts";
import { startOpenAIServer } from "./openai-server.ts";
import { startSearchServer } from "./service-servers.ts";

export type SeedHome = Awaited<ReturnType<typeof makeSeedHome>>;

export interface RunOptions {
  readonly flags?: readonly string[];
  readonly name?: string;
  readonly goal?: string;
  /** Default: 0. */
  readonly code?: number;
  readonly start?: StartOptions;
}

export interface SeedHomeOptions {
  readonly env?: StartOptions["env"];
  /** The text of the only result of a search. Default: nothing is found. */
  readonly find?: (query: string) => string;
}

/** The lines answer in the order in which they are given. A function gets the number of the request, from 0. */
export async function makeSeedHome(lines: readonly Line[], { env, find = () => "" }: SeedHomeOptions = {}) {
  const server = await startOpenAIServer({ reply: conditionalModel(lines), embeddings: null });
  const search = await startSearchServer("searxng", (query) => {
    const body = find(query);
    return body === "" ? [] : [{ title: "Found", href: "https://found.example/", body }];
  });
  const goald = await makeGoald({
    OPENAI_BASE_URL: server.baseUrl,
    GOALD_MEMORY_EMBEDDER: "offline",
    SEARXNG_URL: search.origin,
    GOALD_SEARCH_PROVIDERS: "searxng",
    ...env,
  });
  await shareSnapshot(goald);
  /** Events of the agent. Throws when the store has a problem or a request broke a schema. */
  const log = async (agent = "t"): Promise<readonly RecordedEvent[]> => {
    const { log: events, problems } = await lookInto(goald, agent);
    const wrong = [...problems, ...server.violations, ...search.violations];
    if (wrong.length > 0) throw new Error(wrong.join("\n"));
    return events;
  };
  return {
    goald,
    server,
    search,
    /** All requests, oldest first. */
    get seen(): readonly Seen[] {
      return server.chats.map(readRequest);
    },
    /** Runs an agent named T to its end, and expects the exit code. */
    run: async (form: string, options: RunOptions = {}) => {
      const { flags = [], name = "T", goal = "Do the task.", code = 0, start } = options;
      const args = ["run", "--name", name, "--role", "an assistant", "--goal", goal, "--form", form];
      const ended = await goald.run([...args, "--continuous", "--json", ...flags], start);
      if (server.violations.length > 0) throw new Error(server.violations.join("\n"));
      return endedWith(code, ended);
    },
    log,
    /** Reads a file of the agent's folder. */
    file: (path: string, agent = "t") => goald.read(`workspace/${agent}/${path}`),
    [Symbol.asyncDispose]: async () => {
      await goald[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await search[Symbol.asyncDispose]();
    },
  };
}

/** Python's start-up snapshot, made once for all homes of a test file. */
let snapshot: Promise<string | null> | undefined;
const snapshotFolder = useSharedFolder();

export async function shareSnapshot({ home }: Pick<Goald, "home">): Promise<void> {
  snapshot ??= findCage().then((cage) => prepareSnapshot(cage, snapshotFolder));
  const path = await snapshot;
  const folder = join(home, ".goald", "sandbox");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (path !== null) await link(path, join(folder, basename(path)));
}
