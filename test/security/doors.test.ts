/**
 * A command that is switched off, unknown, or denied by a person stays so by every door, and its words are the same:
 * CVE-2026-24780 and CVE-2026-26020 ran a disabled block by another route.
 */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ALL_READY } from "#commands/registry.ts";
import type { AgentSettings } from "#core/agent-settings.ts";
import { type CommandContext, succeed } from "#core/command.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { makeWorld } from "../helpers/host.ts";
import { serve } from "../helpers/local-server.ts";
import { done, type LoopOptions, makeLoop, outerCommand, reply, resultOf, testCommand } from "../helpers/loop.ts";
import { startAgent, textIn } from "../helpers/models.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

/** A command that counts its runs, and one that does other work. */
function ownCommands(act: (context: CommandContext) => Promise<unknown> = async () => "nothing") {
  const ran = { spy: 0 };
  const spy = testCommand("spy", async () => {
    ran.spy++;
    return succeed("Spied.");
  });
  return { ran, commands: [spy, outerCommand(act)] };
}

/** How a call is refused: the settings of its agent, the command, and the words. */
const REFUSALS = [
  {
    title: "switched off",
    name: "spy",
    settings: { commands: "agents,outer" },
    words: /^You may not use spy here\. Your commands are: /,
  },
  {
    title: "unknown",
    name: "no_such_command",
    settings: {},
    words: /^There is no command "no_such_command"\. The nearest names are: /,
  },
] as const;
type Refusal = (typeof REFUSALS)[number];

const refusedIn = (events: readonly RecordedEvent[]): string =>
  events.flatMap((event) => (event.type === "reply-rejected" ? event.problems : [])).join(" ");

async function inLoop(
  { name, settings }: Pick<Refusal, "name"> & { readonly settings: Partial<AgentSettings> },
  options: Partial<LoopOptions>,
  act?: (context: CommandContext) => Promise<unknown>,
) {
  const own = ownCommands(act);
  const loop = await makeLoop({
    script: [reply(name), done(), done()],
    services: ALL_READY,
    settings,
    ...options,
    commands: own.commands,
  });
  return { loop, ran: own.ran };
}

/** `words`: what the model, the command or the caller of the API reads. `ran`: how often the refused command ran. */
const DOORS: readonly [door: string, attempt: (refusal: Refusal) => Promise<{ words: string; ran: number }>][] = [
  [
    "a reply of the model",
    async (refusal) => {
      const { loop, ran } = await inLoop(refusal, {});
      await loop.run();
      return { words: refusedIn(await loop.events()), ran: ran.spy };
    },
  ],
  [
    "a reply of a sub-agent",
    async (refusal) => {
      const { name, args } = startAgent("Ann");
      const asked = new Set<boolean>();
      const { loop, ran } = await inLoop(refusal, {
        script: (request) => {
          const isAnn = textIn(request).startsWith("You are Ann");
          const isFirst = !asked.has(isAnn);
          asked.add(isAnn);
          if (!isFirst) return done();
          return isAnn ? reply(refusal.name) : reply(name, args);
        },
      });
      await loop.runAll();
      return { words: refusedIn(await loop.store.read("foo-ann", 0, 1_000)), ran: ran.spy };
    },
  ],
  [
    "a call that a command makes",
    async (refusal) => {
      const { loop, ran } = await inLoop(
        refusal,
        { script: [reply("outer"), done()] },
        async (context) => (await context.call(refusal.name, {})).text,
      );
      await loop.run();
      return { words: JSON.parse((await resultOf(loop)).observation.text), ran: ran.spy };
    },
  ],
  [
    "a reply in the sub-task of a command",
    async (refusal) => {
      const { loop, ran } = await inLoop(
        refusal,
        { script: [reply("outer"), reply(refusal.name), reply("task_complete", { result: 1 }), done()] },
        (context) => context.run("Count.", { type: "integer" }),
      );
      await loop.run();
      return { words: refusedIn(await loop.events()), ran: ran.spy };
    },
  ],
];

describe.each(REFUSALS)("a command that is $title", (refusal) => {
  it.each(DOORS)("is refused by %s, with the same words", async (_door, attempt) => {
    const { words, ran } = await attempt(refusal);
    expect(words).toMatch(refusal.words);
    expect(ran).toBe(0);
    // The first door is the measure of the others.
    expect(words).toBe((await DOORS[0]?.[1](refusal))?.words);
  });
});

it("a command that is switched on runs by each of these doors (control)", async () => {
  for (const [, attempt] of DOORS) {
    const on = { ...REFUSALS[0], settings: {} } as unknown as Refusal;
    expect((await attempt(on)).ran).toBeGreaterThan(0);
  }
});

describe("a call that waits for a person's yes", () => {
  async function waiting() {
    const own = ownCommands();
    const world = await makeWorld({
      script: (_request, index) => (index === 0 ? reply("spy") : done()),
      commands: own.commands,
    });
    await world.create("Foo", { approve: "always" });
    const host = world.begin();
    const api = await serve(host.control, { reading: {} as never });
    await host.supervisor.start();
    await host.quiet();
    const post = async (path: string, body: object): Promise<void> => {
      const method = path === "settings" ? "PATCH" : "POST";
      expect((await api.ask(method, `/v1/agents/foo/${path}`, { body })).status).toBe(200);
      await host.quiet();
    };
    return {
      world,
      post,
      ran: own.ran,
      [Symbol.asyncDispose]: async () => {
        await api[Symbol.asyncDispose]();
        await host.supervisor.drain(0);
      },
    };
  }

  it("is not run by a yes over the API once its command was switched off, and the words are the same", async () => {
    await using scene = await waiting();
    await scene.post("settings", { commands: "outer" });
    await scene.post("approval", { verdict: "approved" });
    const finished = (await scene.world.events("foo")).find(({ type }) => type === "command-finished");
    expect(finished).toMatchObject({
      observation: { status: "failed", text: expect.stringMatching(REFUSALS[0].words) },
    });
    expect(scene.ran.spy).toBe(0);
  });

  it("is run by that yes while its command is on (control)", async () => {
    await using scene = await waiting();
    await scene.post("approval", { verdict: "approved" });
    expect(scene.ran.spy).toBe(1);
  });

  it("is not run after a no over the API, and the model reads the person's words", async () => {
    await using scene = await waiting();
    await scene.post("approval", { verdict: "denied", text: "Not that." });
    expect(scene.ran.spy).toBe(0);
    expect(textIn(scene.world.model.requests[1] as ModelRequest)).toContain("Not that.");
  });
});

it("no route of the API runs a command", () => {
  const { paths } = JSON.parse(readFileSync("config/openapi.json", "utf8")) as { paths: Record<string, unknown> };
  expect(Object.keys(paths).length).toBeGreaterThan(10);
  expect(Object.keys(paths).filter((path) => /command|call|tool|run/.test(path))).toEqual([]);
});

it("a person's no stays so in the call of a command and in a sub-agent", async () => {
  const settings = { approve: "always" } as const;
  const yes = { kind: "approved", count: 1 } as const;
  const ask = async ({ name }: { readonly name: string }) =>
    name === "spy" ? ({ kind: "feedback", text: "Not that." } as const) : yes;
  const nested = await inLoop(
    { name: "spy", settings },
    { script: [reply("outer"), done()] },
    async (context) => (await context.call("spy", {})).status,
  );
  await nested.loop.run({ ask });
  expect(nested.ran.spy).toBe(0);
  const { name, args } = startAgent("Ann");
  const child = await inLoop(
    { name: "spy", settings },
    {
      script: (request) => {
        if (textIn(request).startsWith("You are Ann"))
          return textIn(request).includes("Not that.") ? done() : reply("spy");
        return textIn(request).includes("foo-ann") ? done() : reply(name, args);
      },
    },
  );
  await child.loop.runAll({ ask });
  expect(child.ran.spy).toBe(0);
  const denied = (await child.loop.store.read("foo-ann", 0, 1_000)).filter(({ type }) => type === "command-denied");
  expect(denied).toMatchObject([{ by: "person", reason: "Not that." }]);
});

it("a replay refuses a command that was switched off with the words of the recorded run, and does not run it", async () => {
  const own = `import { writeFileSync } from "node:fs";
    export default { name: "spy", summary: "Spies.", args: { type: "object", properties: {} }, effect: "pure",
      annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
      async run() { writeFileSync(new URL("../spied.txt", import.meta.url), ""); return "Spied."; } };`;
  await using server = await startOpenAIServer({ reply: [reply("spy"), done()], embeddings: null });
  await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
  await goald.write("commands/spy.js", own);
  const run = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous", "--commands", "files"];
  endedWith(0, await goald.ask([...run, "--record", "t.ndjson"]));
  const { log } = await lookInto(goald);
  expect(refusedIn(log)).toMatch(REFUSALS[0].words);
  const file = join(goald.cwd, "t.ndjson");
  expect(await readFile(file, "utf8")).toContain("spy");
  const played = join(goald.cwd, "played");
  await goald.write("../cwd/played/commands/spy.js", own);
  endedWith(0, await goald.ask(["replay", file, "--home", played]));
  expect(refusedIn((await lookInto({ home: played })).log)).toBe(refusedIn(log));
  expect(await goald.read("spied.txt")).toBeUndefined();
  expect(await goald.read("../cwd/played/spied.txt")).toBeUndefined();
});
