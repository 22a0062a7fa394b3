/** client-reading.ts -- implements `Reading` by requests to a host's socket. */
import type { MemoryPlace } from "#views/load-memory.ts";
import type { Reading } from "./reading.ts";
import type { HostCall } from "./socket.ts";

export type CallHost = (
  method: HostCall["method"],
  path: string,
  body?: unknown,
  answerMs?: number,
) => Promise<unknown>;

/** Timeout for methods that read a whole log or history, or search it. */
export const LONG_MS = 120_000;

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

export function createReadingClient(call: CallHost): Reading {
  const get = async <T>(path: string, query: Query = {}, answerMs?: number): Promise<T> =>
    (await call("GET", `${path}${textOf(query)}`, undefined, answerMs)) as T;
  return {
    agents: async () => (await get<{ agents: Awaited<ReturnType<Reading["agents"]>> }>("/v1/agents")).agents,
    agent: (name) => get(addressOf(name)),
    details: (name) => get(addressOf(name, "details")),
    state: (name) => get(addressOf(name, "state")),
    goals: (name) => get(addressOf(name, "goals")),
    plan: (name) => get(addressOf(name, "plan")),
    waiting: async () => (await get<{ waiting: Awaited<ReturnType<Reading["waiting"]>> }>("/v1/waiting")).waiting,
    page: (name, after, limit) => get(addressOf(name, "events"), { after, limit }),
    steps: (name, page) => get(addressOf(name, "steps"), { ...page }, LONG_MS),
    step: (name, step) => get(addressOf(name, "steps", `${step}`), {}, LONG_MS),
    files: (name) => get(addressOf(name, "files"), {}, LONG_MS),
    file: (name, path, step) => get(addressOf(name, "files", path), { step }),
    fileStory: (name, path) => get(addressOf(name, "files", path, "story"), {}, LONG_MS),
    diff: (name, { paths, ...range }) => get(addressOf(name, "diff"), { ...range, path: paths }, LONG_MS),
    restorePlan: (name, step, paths) => get(addressOf(name, "restore-plan"), { step, path: paths }, LONG_MS),
    report: (name) => get(addressOf(name, "report"), {}, LONG_MS),
    ...memoryClient(get),
    verify: (name) => get(name === null ? "/v1/verify" : addressOf(name, "verify"), {}, LONG_MS),
  };
}

type MemoryMethods = "memories" | "memoryPage" | "memory" | "searchMemory";

function memoryClient(
  get: <T>(path: string, query?: Query, answerMs?: number) => Promise<T>,
): Pick<Reading, MemoryMethods> {
  const pathOf = ({ name }: MemoryPlace, ...rest: readonly string[]): string => addressOf(name, "memory", ...rest);
  return {
    memories: (place, filter) => get(pathOf(place), { shared: place.shared, ...filter }, LONG_MS),
    memoryPage: (place, page) => get(pathOf(place, "changes"), { shared: place.shared, ...page }),
    memory: (place, id) => get(pathOf(place, id), { shared: place.shared }),
    searchMemory: (place, query, limit) =>
      get(pathOf(place, "search"), { shared: place.shared, query, limit }, LONG_MS),
  };
}

/** Returns the path of an agent, or of a resource below it. */
export const addressOf = (name: string, ...rest: readonly string[]): string =>
  ["/v1/agents", ...[name, ...rest].map(encodeURIComponent)].join("/");

/** Leaves out absent members, and repeats the name for each item of a list. */
function textOf(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined) for (const item of [value].flat()) params.append(name, String(item));
  return params.size === 0 ? "" : `?${params}`;
}
