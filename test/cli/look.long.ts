import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { writeLog } from "../../bench/wake/write-log.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, type Goald, linesOf, makeGoald } from "../helpers/goald.ts";
import { ledger, numberedModel, onceATurn, replyWith } from "../helpers/models.ts";
import type { ChatRequest } from "../helpers/openai-server.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

const run = (name: string): readonly string[] => ["run", "--name", name, "--role", "r", "--goal", "g", "--continuous"];

describe("the list of agents", () => {
  let goald: Goald;
  beforeAll(async () => {
    const reply = (request: ChatRequest): string =>
      request.messages.some(({ content }) => content.includes("Stands"))
        ? replyWith({ name: "do_nothing", args: {} })
        : numberedModel([])(request);
    ({ goald } = await makeDaemonHome([], { reply }));
    for (const name of ["Old", "New", "Broken"]) endedWith(0, await goald.ask(run(name)));
    endedWith(6, await goald.ask([...run("Stands"), "--continuous-limit", "1"]));
    change("UPDATE agent SET updated_at = '2020-01-01T00:00:00.000Z' WHERE id IN ('old', 'stands')");
  });

  function change(sql: string): void {
    const database = new DatabaseSync(join(goald.home, ".goald", "goald.db"));
    database.exec(sql);
    database.close();
  }
  const idsIn = async (call: string) =>
    (await goald.json<{ agents: { id: string }[] }>(call)).agents.map(({ id }) => id);

  it("omits agents that ended more than a day ago, counts them, and lists them with -a", async () => {
    const listed = await goald.print("ps");
    expect(listed).not.toMatch(/^old /m);
    // A paused agent is not finished, however old it is.
    expect(listed).toMatch(/^stands +paused: step-limit /m);
    expect(listed).toContain("1 agent that ended more than a day ago: goald ps -a\n");
    expect(await idsIn("ps")).toEqual(["stands", "broken", "new"]);
    expect(await idsIn("ps -a")).toEqual(["stands", "broken", "new", "old"]);
    expect(await goald.print("ps -a")).not.toContain("more than a day ago");
  });

  it("is printed again on a pipe only after a change, until Ctrl-C (exit 0)", async () => {
    const watching = goald.start("ps --watch --json");
    await watching.see("\n");
    change("UPDATE agent SET updated_at = '2021-01-01T00:00:00.000Z' WHERE id = 'stands'");
    await watching.see("2021-01-01");
    watching.kill("SIGINT");
    const lines = linesOf(endedWith(0, await watching.ended));
    expect(lines).toHaveLength(2);
    expect(lines.map(({ agents }) => (agents as unknown[]).length)).toEqual([3, 3]);
  });

  it("is redrawn on a terminal within its size", async () => {
    const terminal = goald.openTerminal("ps --watch", { shell: 'trap : INT; "$@"; echo "code $?"' });
    await terminal.see("\u001b[H\u001b[2J");
    await terminal.see("STATE");
    await terminal.see("\u001b[H\u001b[2J");
    await terminal.see("stands");
    // A real terminal also interrupts the shells around it.
    terminal.type("\u0003");
    await terminal.see("code 0");
  });

  it("marks an agent whose log is damaged, lists the others, and ends with 1", async () => {
    change("UPDATE agent SET head_sha = 'x' WHERE id = 'broken'");
    const shown = endedWith(1, await goald.ask("ps")).stdout;
    expect(shown).toMatch(/^new +completed /m);
    expect(shown).toMatch(/^broken +damaged /m);
    expect(shown).toContain("broken is damaged: The log of broken is damaged: expected the log to end with event");
    const damaged = { id: "broken", state: "damaged", reason: expect.stringContaining("goald verify broken") };
    const { agents } = JSON.parse(endedWith(1, await goald.ask("ps --json")).stdout);
    expect(agents).toContainEqual(expect.objectContaining(damaged));
    // The damage does not block a resume of the last sound agent.
    expect(endedWith(6, await goald.ask("resume --max-steps 1")).stdout).toContain("goald resume stands");
  });
});

it("the demo plays a scripted agent with real files, in a home of its own", async () => {
  // Settings of the machine do not affect the demo.
  await using goald = await makeGoald({
    OPENAI_API_KEY: "sk-planted-2Wd5yC9pQs7",
    OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
    GOALD_RECALL_COUNT: "0",
    SMART_TOKEN_LIMIT: "4000",
    GOALD_AGENTS_APPROVE: "always",
  });
  const { stdout } = endedWith(0, await goald.run([]));
  const workspace = /^Foo \(foo\) works in (\S+)$/m.exec(stdout)?.[1] ?? "";
  const read = (path: string): Promise<string> => readFile(join(workspace, path), "utf8");
  expect(await read("recommended_strings.txt")).toContain("1. Solinco Tour Bite");
  const [file = ""] = (await readdir(join(workspace, "pages"))).filter((name) => /^five-polyester/.test(name));
  const page = await read(`pages/${file}`);
  expect(page).toContain("| Solinco Tour Bite 1.25 | 10 | 8 | 81 % |");
  expect(page).not.toMatch(/cookies|Log in|tracker/);
  // The recorded code counted the reviews and drew them; no process of the sandbox was started for it.
  expect(await read("scores.svg")).toMatch(/^<svg .*>Solinco Tour Bite 18<.*<\/svg>\n$/);
  expect(existsSync(join(workspace, "../../.goald/sandbox"))).toBe(false);
  expect(stdout).not.toContain("sk-planted");
  // It plays in a home of its own, which stays.
  expect(await goald.json("ps")).toEqual({ agents: [] });
  await rm(join(workspace, "../.."), { recursive: true });
});

it("an agent of two thousand steps has its report, any step and the reason for its file as fast as ever", async () => {
  await using goald = await makeGoald();
  const store = await openSqliteStore(join(goald.home, ".goald", "goald.db"));
  await writeLog(store, { name: "Long", steps: 2_000, remembers: false });
  await store.close();
  const facts = await goald.json("show long --report");
  expect(problemsOfView("report", facts)).toBe("");
  expect(facts).toMatchObject({ events: 12_041, since: 11_541, step: 2_000 });
  expect((await goald.print("show long --report")).length).toBeLessThan(64 * 1024);
  const reply = { text: expect.stringMatching(/^Step 1999: /) };
  expect(await goald.json("show long --step 1999")).toMatchObject({ step: 1999, reply, prompt: { exact: false } });
  const why = await goald.json<{ versions: { step: number }[] }>("why long/notes/1.md");
  expect(problemsOfView("why", why)).toBe("");
  expect(why.versions.map(({ step }) => step)).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
  expect(await goald.print("diff long")).toMatch(/^\+ +2000 /m);
  expect(await goald.print("verify")).toBe("1 agent, 12041 events: sound.\n");
});

describe("an agent that a person names", () => {
  let goald: Goald;
  const ask = (...args: readonly string[]) => goald.ask(args);
  const runIn = (name: string, ...more: readonly string[]) =>
    ask("run", "--name", name, "--goal", "g", "--continuous", ...more);
  const ids = async () => (await goald.json<{ agents: { id: string }[] }>("ps -a")).agents.map(({ id }) => id).sort();

  beforeAll(async () => {
    ({ goald } = await makeDaemonHome([], { reply: onceATurn(ledger(1)) }));
    for (const name of ["Chef", "Cheese", "Baker"]) endedWith(0, await runIn(name));
  });

  it("is found by the beginning of its id, where only one begins so", async () => {
    const found = endedWith(0, await ask("show", "bak"));
    expect(found.stdout).toContain("Baker (baker)");
    expect(found.stderr).toContain("Using baker.");
    const several = endedWith(3, await ask("show", "che"));
    expect(several.stderr).toContain("Several ids begin so: chef, cheese");
    // An unset variable names no agent.
    expect(endedWith(3, await ask("show", "")).stderr).toContain("There are: ");
    expect(endedWith(3, await ask("show", "cheff")).stderr).toContain("Did you mean chef?");
    // Two neighbours that changed places are nearer than two other letters.
    for (const name of ["Bad", "Big"]) endedWith(0, await runIn(name));
    expect(endedWith(3, await ask("show", "bgi")).stderr).toContain("Did you mean big?");
    // An exact id is never taken for the beginning of another one.
    endedWith(0, await runIn("Chef 2"));
    expect(endedWith(0, await ask("show", "chef")).stdout).toContain("Chef (chef)");
    expect(endedWith(3, await ask("show", "nobody")).stderr).toContain("There are: ");
  });

  it("needs no name where only one could be meant, and is never guessed among several", async () => {
    expect(endedWith(2, await ask("approve")).stderr).toContain("No agent could be meant.");
    endedWith(0, await ask("run", "-d", "--name", "Waiter", "--goal", "g", "--approve", "always"));
    const attach = async (call: string) => {
      const terminal = goald.openTerminal(call);
      await terminal.see("Run it? ");
      terminal.type("\x03");
      endedWith(0, await terminal.ended);
    };
    await attach("attach");
    endedWith(0, await ask("run", "-d", "--name", "Waiter", "--goal", "g", "--approve", "always"));
    await attach("attach waiter-2");
    expect(endedWith(2, await ask("approve")).stderr).toContain("Name one: waiter, waiter-2");
    expect(endedWith(0, await ask("stop", "waiter", "waiter-2")).stdout).toMatch(
      /waiter is stopped[\s\S]*waiter-2 is stopped/,
    );
  });

  it("is asked about by a resume without a name when a person stopped it", async () => {
    const terminal = goald.openTerminal(["resume"]);
    await terminal.answer("A person stopped it. Continue waiter", "n");
    endedWith(0, await terminal.ended);
    const left = goald.openTerminal(["resume"]);
    await left.see("A person stopped it. Continue waiter");
    left.type("\x03");
    endedWith(130, await left.ended);
    expect(await goald.json("show waiter-2")).toMatchObject({ state: "stopped" });
  });

  it("is removed with the others that have ended, and none when one is unknown", async () => {
    endedWith(3, await ask("rm", "-f", "baker", "zzz"));
    expect(await ids()).toContain("baker");
    endedWith(0, await ask("rm", "-f", "bad", "baker", "big", "waiter"));
    expect(await ids()).toEqual(["cheese", "chef", "chef-2", "waiter-2"]);
    endedWith(2, await ask("rm"));
    endedWith(0, await ask("rm", "--ended", "-f"));
    expect(await ids()).toEqual([]);
  });

  it("has a plan that says what --add changes, and an answer that does not contradict itself", async () => {
    endedWith(6, await runIn("Planner", "--max-steps", "1"));
    const added = endedWith(0, await ask("plan", "planner", "--add", "Ask for a quote"));
    const told = "From now on it can finish only when each task is verified or abandoned.";
    expect(added.stdout).toContain(told);
    expect(endedWith(0, await ask("plan", "planner", "--add", "Ask again")).stdout).not.toContain(told);
  });
});
