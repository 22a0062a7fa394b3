/** local-server.ts -- the local API on a real unix socket, with plain, streaming and byte-wise clients. */
import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { type Control, PROTOCOL_VERSION, type Reading } from "#api/control.ts";
import { type ControlResult, DaemonStatus, DashboardLink } from "#api/schemas.ts";
import { type LocalServer, type LocalServerOptions, startServer } from "#api/server.ts";
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { createLiveText } from "#host/observer.ts";
import { parseJson } from "#util/json.ts";
import type { Schema, Static } from "#util/schema.ts";
import { AgentDetails } from "#views/agent-details.ts";
import { AgentView } from "#views/agent-view.ts";
import { DiffView } from "#views/file-diff.ts";
import { FileStory } from "#views/file-story.ts";
import { FileContent, FileList } from "#views/file-versions.ts";
import { MemoryList, MemoryPage, type MemoryPlace, MemorySearch, MemoryView } from "#views/memory-view.ts";
import { VerifyView } from "#views/parts.ts";
import { PlanView } from "#views/plan-view.ts";
import { GoalsView, LoadedAgent } from "#views/read-agent.ts";
import { ReportFacts } from "#views/report-facts.ts";
import { RestorePlan } from "#views/restore-plan.ts";
import { StepPage } from "#views/step-view.ts";
import { WaitingView } from "#views/waiting.ts";
import { WholeStep } from "#views/whole-step.ts";
import { useOpened, useSharedFolder } from "./folder.ts";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed text; undefined when it is not JSON. */
  readonly body: unknown;
}
export interface AskOptions {
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One message of an event stream. */
export interface Message {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

/** The loopback port of a door; the Host header is its own unless another one is given. */
export interface Loopback {
  readonly port: number;
}
type Target = string | Loopback;
const connectionTo = (target: Target) =>
  typeof target === "string"
    ? { address: { socketPath: target }, own: "goald" }
    : { address: { host: "127.0.0.1", port: target.port }, own: `127.0.0.1:${target.port}` };

/** Opens the door of a server, and exchanges its ticket for a key, which `ask` and `follow` send. */
export async function enterDoor({ server }: { readonly server: Pick<LocalServer, "openDashboard"> }) {
  const { port, ticket } = linkIn((await server.openDashboard()).url);
  const { secret } = (await ask({ port }, "POST", "/session", { body: { ticket } })).body as {
    readonly secret: string;
  };
  return pageClient(port, secret, await greet(port, secret));
}

/** What a page does before it calls: asks the door at that port for a proof. Resolves to the key; rejects without one. */
export async function greet(port: number, secret: string): Promise<string> {
  const nonce = randomBytes(32).toString("hex");
  const { body } = await ask({ port }, "POST", "/session/proof", { body: { nonce } });
  const key = keyOf(body, { secret, port, nonce });
  if (key === undefined) throw new Error("The door does not know the session.");
  return key;
}

/** The key for the door that made the proof; undefined for a proof of something else. */
export function keyOf(
  proof: unknown,
  { secret, port, nonce }: { readonly secret: string; readonly port: number; readonly nonce: string },
): string | undefined {
  const { salt, proofs } = proof as { readonly salt: string; readonly proofs: readonly string[] };
  const sign = (words: string): string => createHmac("sha256", secret).update(words).digest("hex");
  return proofs.includes(sign(`proof ${port} ${salt} ${nonce}`)) ? sign(`key ${salt}`) : undefined;
}

/** A page that has come in by a ticket. */
export function pageClient(port: number, secret: string, key: string) {
  const withKey = (headers?: AskOptions["headers"]) => ({ authorization: `Bearer ${key}`, ...headers });
  return {
    port,
    secret,
    key,
    ask: (method: string, path: string, options?: AskOptions) =>
      ask({ port }, method, path, { ...options, headers: withKey(options?.headers) }),
    follow: (path: string, headers?: AskOptions["headers"]) => follow({ port }, path, withKey(headers)),
  };
}

export function linkIn(url: string): { readonly port: number; readonly ticket: string } {
  const [, port, ticket = ""] = /^http:\/\/127\.0\.0\.1:(\d+)\/#t=([\da-f]{64})$/.exec(url) ?? [];
  return { port: Number(port), ticket };
}

const folders = useSharedFolder();
export type ServerOptions = Partial<Omit<LocalServerOptions, "control">>;

/** `reading`: by default the control itself, for one that is both. */
export async function serve(
  control: Control,
  { reading = control as Control & Reading, ...options }: ServerOptions = {},
) {
  const folder = mkdtempSync(join(folders, "api-"));
  const problems: string[] = [];
  const server = await startServer({
    control,
    reading,
    socket: join(folder, "daemon.sock"),
    redact: (text) => text,
    scrub: (text) => text,
    onProblem: (problem) => problems.push(problem),
    ...options,
  });
  /** Opens a connection and sends `text`; nothing is read before the test reads it. */
  const open = (text: string): Socket => {
    const socket = connect(server.socket);
    socket.on("error", () => undefined);
    socket.write(text);
    return socket;
  };
  return {
    server,
    folder,
    problems,
    ask: (method: string, path: string, given?: AskOptions) => ask(server.socket, method, path, given),
    /** Opens an event stream; resolves when the server has answered. */
    follow: (path: string, headers?: AskOptions["headers"]) => follow(server.socket, path, headers),
    /** Does the same, and waits until so many messages have come. */
    followUntil: async (count: number, ...given: [path: string, headers?: AskOptions["headers"]]) => {
      const stream = await follow(server.socket, ...given);
      await stream.until(() => stream.messages.length === count);
      return stream;
    },
    open,
    /** Sends `text`, and returns everything received until the server closes the connection. */
    send: async (text: string): Promise<string> => {
      let answer = "";
      for await (const piece of open(text).setEncoding("utf8")) answer += piece;
      return answer;
    },
    [Symbol.asyncDispose]: () => server.close("The test is over."),
  };
}

/** Returns a function that serves agents with this many events, until the end of the test. */
export function useServers() {
  const keep = useOpened();
  return async (agents: Readonly<Record<string, number>> = { t: 3 }, options?: ServerOptions) => {
    const control = makeFakeControl();
    for (const [name, events] of Object.entries(agents)) control.add(name, events);
    const api = await serve(control, options);
    keep({ close: api[Symbol.asyncDispose] });
    return { control, api };
  };
}

export function ask(target: Target, method: string, path: string, options: AskOptions = {}): Promise<Reply> {
  const { body } = options;
  const text = body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const type = text === undefined ? {} : { "content-type": "application/json" };
  const { address, own } = connectionTo(target);
  const headers = { host: own, ...type, ...options.headers };
  return new Promise((resolve, reject) => {
    const asked = request({ ...address, method, path, headers, agent: false }, (response) => {
      let came = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        came += piece;
      });
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: came,
          body: parseJson(came),
        }),
      );
    });
    asked.on("error", reject);
    asked.end(text);
  });
}

async function follow(target: Target, path: string, headers: Readonly<Record<string, string>> = {}) {
  const messages: Message[] = [];
  /** Numbers of the committed events, in the order of arrival. */
  const numbers: number[] = [];
  let text = "";
  let rest = "";
  let look = (): void => undefined;
  /** Resolves when the server has ended the stream or the connection broke. */
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
    look();
  });
  const { address, own } = connectionTo(target);
  const asked = request({
    ...address,
    path,
    headers: { host: own, accept: "text/event-stream", ...headers },
    agent: false,
  });
  /** Resolves when `isSo` holds; rejects when the stream ends before. */
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) {
      if (hasEnded) throw new Error(`The stream ended before that. It was: ${text.slice(-2_000)}`);
      await new Promise<void>((resolve) => {
        look = resolve;
      });
    }
  };
  const follower = {
    messages: messages as readonly Message[],
    numbers: numbers as readonly number[],
    /** All received text, comments included. */
    get text() {
      return text;
    },
    until,
    ended,
    [Symbol.asyncDispose]: async () => {
      asked.destroy();
      await ended;
    },
  };
  return new Promise<typeof follower>((resolve, reject) => {
    asked.on("error", reject);
    asked.on("response", (response) => {
      response.on("close", end);
      response.on("error", () => end());
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
        const parts = (rest + piece).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) {
          const message = messageIn(part);
          if (!message) continue;
          messages.push(message);
          if (message.event === "message") numbers.push((message.data as RecordedEvent).seq);
        }
        look();
      });
      if (response.statusCode === 200) resolve(follower);
      else response.on("end", () => reject(new Error(`${response.statusCode} ${text}`)));
    });
    asked.end();
  });
}

/** Returns the messages in an HTTP/1.0 response, which is not chunked. */
export const messagesIn = (text: string): readonly Message[] =>
  text
    .slice(text.indexOf("\r\n\r\n") + 4)
    .split("\n\n")
    .map(messageIn)
    .filter((message) => message !== undefined);

/** Polls until `isSo` holds, for state that has no event. */
export async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Parses a message as the standard says: unknown fields and comments are ignored. */
function messageIn(part: string): Message | undefined {
  const fields = new Map<string, string>();
  for (const line of part.split(/\r\n|\r|\n/)) {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name !== "") fields.set(name, value);
  }
  const data = fields.get("data");
  if (data === undefined) return undefined;
  return { event: fields.get("event") ?? "message", id: fields.get("id") ?? null, data: JSON.parse(data) };
}

// A Control without a host: logs in memory that a test extends, and a record of every call.
//
// It keeps the contract of api/control.ts: names and ids, GOALD_NOT_FOUND, pages without gaps, and waits that end when
// the log is longer, the agent is removed or the signal aborts.

interface FakeAgent {
  readonly view: AgentView;
  readonly log: RecordedEvent[];
  /** Number of unreadable events at the end of the log. */
  lost: number;
}

type Method = keyof Control | keyof Reading;

export function makeFakeControl() {
  const agents = new Map<string, FakeAgent>();
  /** All calls in order, except `page`. */
  const calls: { method: string; given: readonly unknown[] }[] = [];
  /** Number of pages read, by agent. */
  const pagesRead = new Map<string, number>();
  const waits = new Set<() => void>();
  const failures = new Map<string, unknown>();
  const holds = new Map<string, Promise<void>>();

  function find(name: string): FakeAgent {
    const found = agents.get(name) ?? [...agents.values()].findLast(({ view }) => view.name === name);
    if (found) return found;
    throw new GoaldError("GOALD_NOT_FOUND", `There is no agent ${name}.`, { hint: "See: goald ps -a" });
  }
  async function enter(method: string, ...given: readonly unknown[]): Promise<void> {
    if (method === "page") pagesRead.set(String(given[0]), (pagesRead.get(String(given[0])) ?? 0) + 1);
    else if (method !== "whenLonger") calls.push({ method, given });
    await holds.get(method);
    if (failures.has(method)) throw failures.get(method);
  }
  async function steer(method: string, name: string, ...given: readonly unknown[]): Promise<ControlResult> {
    await enter(method, name, ...given);
    return { agent: find(name).view, note: "" };
  }
  /** Adds an agent with `count` events. The id is the name in lower case, with `-2` and so on when taken. */
  function add(name: string, count: number): string {
    let id = name.toLowerCase();
    for (let number = 2; agents.has(id); number++) id = `${name.toLowerCase()}-${number}`;
    agents.set(id, { view: viewOf(id, name), log: [], lost: 0 });
    append(id, count);
    return id;
  }
  function append(id: string, count: number, text = `said to ${id}`): void {
    const { log } = find(id);
    for (let left = count; left > 0; left--) log.push(eventOf(log.length + 1, text));
    for (const look of [...waits]) look();
  }

  const live = createLiveText();
  const given = {
    calls,
    pagesRead: pagesRead as ReadonlyMap<string, number>,
    /** Number of pending waits for a longer log. */
    get waits() {
      return waits.size;
    },
    add,
    append,
    /** Adds a piece to the streamed reply for the `model-asked` event `seq`. */
    addText: (id: string, seq: number, piece: string): void => {
      if (live.of(id)?.seq !== seq) live.committed(id, [{ type: "model-asked", seq } as RecordedEvent]);
      live.tell(id, piece);
    },
    /** The running code of a cell has printed this line. */
    print: (id: string, line: string): void => live.print(id, line),
    /** Makes the last `count` events unreadable without shortening the log, to simulate damage. */
    damage: (id: string, count: number): void => {
      find(id).lost = count;
    },
    /** Makes every later call of `method` throw `thrown`. */
    fail: (method: Method, thrown: unknown) => failures.set(method, thrown),
    /** Makes calls of `method` wait until the returned function is called. */
    hold: (method: Method) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      holds.set(method, promise);
      return resolve;
    },
  };
  const control: Control & Reading = {
    ...fakeReading(enter, (name) => void find(name)),
    live,
    addFollower: () => () => undefined,
    status: async () => {
      await enter("status");
      return { ...sampleOf(DaemonStatus), protocol: PROTOCOL_VERSION };
    },
    agents: async () => {
      await enter("agents");
      return [...agents.values()].map(({ view, log }) => ({ ...view, head: log.length }));
    },
    agent: async (name) => {
      await enter("agent", name);
      return find(name).view;
    },
    create: async (agent) => {
      await enter("create", agent);
      return find(add(agent.name, 1)).view;
    },
    say: (name, words) => steer("say", name, words),
    setGoals: (name, goals, checks) => steer("setGoals", name, goals, ...(checks ? [checks] : [])),
    editPlan: async (name, edits) => ({ ...(await steer("editPlan", name, edits)), changes: [] }),
    beginTurn: (name, turn) => steer("beginTurn", name, turn),
    changeSettings: (name, settings) => steer("changeSettings", name, settings),
    pause: (name, reason) => steer("pause", name, reason),
    resume: (name, settings) => steer("resume", name, settings),
    stop: (name, graceMs) => steer("stop", name, graceMs),
    kill: (name) => steer("kill", name),
    answer: (name, answer) => steer("answer", name, answer),
    trust: async (name, what) => ({ ...(await steer("trust", name, what)), trusted: [], received: [] }),
    remove: async (name, how) => {
      await enter("remove", name, how);
      const { id, workspace } = find(name).view;
      agents.delete(id);
      for (const look of [...waits]) look();
      return { id, workspace };
    },
    fork: async (name, how) => {
      await enter("fork", name, how);
      const { log } = find(name);
      const id = add(how.name ?? find(name).view.name, log.length);
      return { ...find(id).view, events: log.length, files: 0 };
    },
    restore: async (name, request) => {
      await enter("restore", name, request);
      find(name);
      return sampleOf(RestorePlan);
    },
    changeMemory: async (name, changes, key) => {
      await enter("changeMemory", name, changes, key);
      const namespace = name === "shared" ? name : find(name).view.id;
      return changes.map((change, place) => ({
        id: change.op === "add" ? `${namespace}/+${place + 1}` : change.id,
        isNew: true,
      }));
    },
    page: async (name, after, limit) => {
      await enter("page", name, after, limit);
      const { log, lost } = find(name);
      return { events: log.slice(after, Math.min(after + limit, log.length - lost)), head: log.length };
    },
    whenLonger: async (name, after, signal) => {
      await enter("whenLonger", name, after);
      const { log } = find(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => {
        if (log.length > after || signal.aborted || agents.get(name)?.log !== log) resolve();
      };
      waits.add(look);
      signal.addEventListener("abort", look);
      look();
      await promise;
      waits.delete(look);
      signal.removeEventListener("abort", look);
    },
    whenChanged: async (signal) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => resolve();
      waits.add(look);
      signal.addEventListener("abort", look);
      if (signal.aborted) look();
      await promise;
      waits.delete(look);
    },
    reload: async () => {
      await enter("reload");
      return ["models.smart is another one"];
    },
    openDashboard: async () => {
      await enter("openDashboard");
      return sampleOf(DashboardLink);
    },
    shutdown: (graceMs) => enter("shutdown", graceMs),
  };
  return Object.assign(given, control);
}

const eventOf = (seq: number, text: string): RecordedEvent => ({
  v: 1,
  seq,
  at: new Date(Date.UTC(2026, 0, 1) + seq).toISOString(),
  frame: 0,
  type: "message-received",
  from: "you",
  text,
});

const viewOf = (id: string, name: string): AgentView => ({
  ...sampleOf(AgentView),
  id,
  name,
  workspace: `/home/you/goald/workspace/${id}`,
  received: [{ from: "web", name: "evil.example", step: 2, at: "2026-01-01T00:00:00.500Z" }],
});

// A `Reading` whose replies are samples of their schemas, and that writes every call down.

type Enter = (method: string, ...given: readonly unknown[]) => Promise<void>;

/** `requireAgent` throws GOALD_NOT_FOUND for an unknown agent. */
function fakeReading(enter: Enter, requireAgent: (name: string) => void): Omit<Reading, "agents" | "agent" | "page"> {
  const reply =
    <S extends Schema>(method: keyof Reading, schema: S) =>
    async (name: string | MemoryPlace | null, ...given: readonly unknown[]): Promise<Static<S>> => {
      await enter(method, name, ...given);
      const agent = typeof name === "object" ? (name?.name ?? "shared") : name;
      if (agent !== "shared") requireAgent(agent);
      return sampleOf(schema);
    };
  return {
    details: reply("details", AgentDetails),
    state: reply("state", LoadedAgent),
    goals: reply("goals", GoalsView),
    plan: reply("plan", PlanView),
    waiting: async () => {
      await enter("waiting");
      return [sampleOf(WaitingView)];
    },
    steps: reply("steps", StepPage),
    step: reply("step", WholeStep),
    files: reply("files", FileList),
    file: reply("file", FileContent),
    fileStory: reply("fileStory", FileStory),
    diff: reply("diff", DiffView),
    restorePlan: reply("restorePlan", RestorePlan),
    report: reply("report", ReportFacts),
    memories: reply("memories", MemoryList),
    memoryPage: reply("memoryPage", MemoryPage),
    memory: reply("memory", MemoryView),
    searchMemory: reply("searchMemory", MemorySearch),
    verify: reply("verify", VerifyView),
  };
}

/** A small value that the schema accepts. */
export function sampleOf<S extends Schema>(schema: S): Static<S> {
  return sample(schema) as Static<S>;
}

function sample(schema: Schema): unknown {
  const { type, anyOf, properties, items, format, minimum } = schema as Readonly<Record<string, unknown>>;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(anyOf)) return sample(anyOf[0]);
  switch (Array.isArray(type) ? type[0] : type) {
    case "object":
      return Object.fromEntries(
        Object.entries((properties ?? {}) as Record<string, Schema>).map(([name, each]) => [name, sample(each)]),
      );
    case "array":
      return [sample(items as Schema)];
    case "integer":
    case "number":
      return minimum ?? 0;
    case "boolean":
      return true;
    case "string":
      return format === "date-time" ? "2026-01-01T00:00:00.000Z" : "text";
    default:
      return "anything";
  }
}
