import { describe, expect, it } from "@jest/globals";
import { type Command, type CommandContext, succeed } from "#core/command.ts";
import { until } from "../helpers/fake-clock.ts";
import { startHost, type TestHost, type World, type WorldOptions } from "../helpers/host.ts";
import { done, reply, testCommand, WRITES } from "../helpers/loop.ts";

const MINUTE = 60_000;

/** Stands in for a cell: it acts only through nested work, and holds a process of the sandbox until its signal is aborted. */
function cellCommand(act: (context: CommandContext) => Promise<unknown>, more: Partial<Command> = {}) {
  const cell = { runs: 0, processes: 0 };
  const run = async (_args: object, context: CommandContext) => {
    cell.runs++;
    cell.processes++;
    try {
      return succeed(JSON.stringify(await act(context)));
    } finally {
      cell.processes--;
    }
  };
  const annotations = { ...WRITES, idempotent: false };
  return { cell, command: testCommand("run_code", run, { annotations, effect: "transactional", ...more }) };
}

const append = (context: CommandContext, text: string) =>
  context.call("append_to_file", { file: "lines.txt", text: `${text}\n` });
const ask = async (context: CommandContext) => {
  await append(context, "before");
  const { text } = await context.call("ask_user", { question: "Which city?" });
  await append(context, String(text));
  return text;
};

async function makeAsker(
  options: Partial<WorldOptions> & {
    readonly act?: (context: CommandContext) => Promise<unknown>;
    readonly cell?: Partial<Command>;
  } = {},
) {
  const { act = ask, cell: more = {}, ...rest } = options;
  const { cell, command } = cellCommand(act, more);
  const script: WorldOptions["script"] = ({ messages }) =>
    messages.some(({ content }) => content.includes("Command run_code")) ? done() : reply("run_code");
  const { world, host } = await startHost({ script, commands: [command], ...rest }, { foo: { approve: "risky" } });
  return { world, host, cell };
}

const isWaiting = async (world: World): Promise<boolean> => (await world.types()).includes("command-waiting");
const linesOf = (world: World): string => world.textOf("foo", "lines.txt");
const answer = async (world: World, host: TestHost): Promise<void> => {
  await world.deliver("foo", "answer", { type: "say", from: "person", text: "Chengdu" });
  host.supervisor.wake("foo");
};
/** Lets time pass in small steps, so that each look of the runner happens. */
const pass = async (world: World, ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += MINUTE) await world.clock.advance(Math.min(MINUTE, ms - passed));
};
const isEnded = async (world: World): Promise<boolean> => (await world.types()).at(-1) === "turn-finished";
/** After a death a command runs alone, a second later. */
const passToEnd = (world: World): Promise<void> =>
  until(async () => {
    await world.clock.advance(1_000);
    return isEnded(world);
  });
/** Eleven minutes pass without an answer, after which the cell has given its process back. */
async function waitInVain({ world, host, cell }: Awaited<ReturnType<typeof makeAsker>>): Promise<void> {
  await pass(world, 11 * MINUTE);
  await host.quiet();
  expect(cell).toEqual({ runs: 1, processes: 0 });
}
async function answerToEnd(world: World, host: TestHost): Promise<void> {
  await answer(world, host);
  await until(() => isEnded(world));
}
async function makeWaiting(options?: Parameters<typeof makeAsker>[0]) {
  const asker = await makeAsker(options);
  await until(() => isWaiting(asker.world));
  return asker;
}

describe("a cell whose nested call waits for a person", () => {
  it.each<[title: string, minutes: number, cell: Partial<Command>]>([
    ["keeps its process for minutes, and goes on in it with the answer", 9, {}],
    ["stays as long as the answer takes in a command that would lose its place", 60, { effect: "at-most-once" }],
  ])("%s", async (_title, minutes, given) => {
    const { world, host, cell } = await makeWaiting({ cell: given });
    await pass(world, minutes * MINUTE);
    expect(cell).toEqual({ runs: 1, processes: 1 });
    await answerToEnd(world, host);
    expect([cell.runs, linesOf(world)]).toEqual([1, "before\nChengdu\n"]);
  });

  it("gives it back at once when others wait for a process", async () => {
    let isCrowded = false;
    const { world, host, cell } = await makeWaiting({ isSandboxCrowded: () => isCrowded });
    await world.clock.advance(MINUTE);
    expect(cell.processes).toBe(1);
    isCrowded = true;
    await host.quietAfter(1_000);
    expect(cell).toEqual({ runs: 1, processes: 0 });
    await answerToEnd(world, host);
    expect(linesOf(world)).toBe("before\nChengdu\n");
  });

  it("gives it back after ten, which is not a death, and runs again for the answer alone, also in a new host", async () => {
    const { world, host, cell } = await makeWaiting();
    await waitInVain({ world, host, cell });
    expect((await world.types()).at(-1)).toBe("call-cut-off");
    await world.deliver("foo", "s", { type: "settings", stepLimit: 50 });
    host.supervisor.wake("foo");
    await host.quiet();
    expect(cell.runs).toBe(1);
    await host.supervisor.drain(0);
    const next = world.begin();
    next.supervisor.wake("foo");
    await next.quiet();
    expect(cell.runs).toBe(1);
    await answerToEnd(world, next);
    expect([cell.runs, linesOf(world)]).toEqual([2, "before\nChengdu\n"]);
    expect(await world.types()).not.toContain("call-interrupted");
  });
});

describe("a cell whose sub-task asks a person", () => {
  const script: WorldOptions["script"] = ({ messages }) => {
    const contents = messages.map(({ content }) => content);
    const has = (words: string): boolean => contents.some((content) => content.includes(words));
    if (contents.at(-1)?.includes("Find the city."))
      return has("Chengdu") ? reply("task_complete", { result: "Chengdu" }) : reply("ask_user", { question: "Which?" });
    return has("Command run_code") ? done() : reply("run_code");
  };
  const act = async (context: CommandContext) => {
    await append(context, "before");
    await append(context, String(await context.run("Find the city.", { type: "string" })));
  };

  it("gives its process back, and the sub-task goes on where it was", async () => {
    const { world, host, cell } = await makeWaiting({ act, script });
    const asked = world.model.requests.length;
    await waitInVain({ world, host, cell });
    await answerToEnd(world, host);
    expect([cell.runs, linesOf(world)]).toEqual([2, "before\nChengdu\n"]);
    // The result of the sub-task, and the end of the work.
    expect(world.model.requests).toHaveLength(asked + 2);
  });

  it("counts one death when the host was killed meanwhile, and waits on without running the code", async () => {
    const { world, cell } = await makeWaiting({ act, script });
    const next = world.begin();
    next.supervisor.wake("foo");
    await next.quiet();
    expect(cell.runs).toBe(1);
    await answer(world, next);
    await passToEnd(world);
    expect([cell.runs, linesOf(world)]).toEqual([2, "before\nChengdu\n"]);
    expect((await world.types()).filter((type) => type === "call-interrupted")).toHaveLength(1);
  });
});

it("a cell whose nested call waits for approval gives its process back, and the approved call is made once", async () => {
  const act = async (context: CommandContext) => {
    await append(context, "before");
    return (await context.call("delete_file", { file: "big", permanently: true })).status;
  };
  const { world, host, cell } = await makeAsker({ act });
  await until(async () => (await world.types()).includes("approval-asked"));
  await waitInVain({ world, host, cell });
  await host.control.answer("foo", { callId: "c1.2", verdict: "approved" });
  await until(() => isEnded(world));
  expect([cell.runs, linesOf(world)]).toEqual([2, "before\n"]);
  const started = (await world.events("foo")).filter(({ type }) => type === "command-started");
  expect(started.filter((event) => "callId" in event && event.callId === "c1.2")).toHaveLength(1);
});

it("a parent whose cell waits for a sub-agent whose cell needs a process gives its own process back, so that both end", async () => {
  const waiting: (() => void)[] = [];
  let free = 1;
  const takeProcess = async (signal: AbortSignal): Promise<() => void> => {
    while (free === 0)
      await new Promise<void>((resolve, reject) => {
        waiting.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
    free--;
    return () => {
      free++;
      waiting.shift()?.();
    };
  };
  const act = async (context: CommandContext) => {
    using _process = { [Symbol.dispose]: await takeProcess(context.signal) };
    if (context.agent.name !== "foo") return "the child's work";
    const task = { name: "child", task: "help", prompt: "Help." };
    const { value } = await context.call("start_agent", task);
    await append(context, JSON.stringify(value));
    return value;
  };
  const services = { agents: { ready: true } } as const;
  const { world, host } = await makeAsker({ act, services, isSandboxCrowded: () => waiting.length > 0 });
  await passToEnd(world);
  await host.quiet();
  expect(JSON.parse(linesOf(world))).toEqual({ key: "foo-child", answer: "All goals are reached." });
  const started = (await world.events("foo")).filter(({ type }) => type === "agent-started");
  expect(started).toHaveLength(1);
});
