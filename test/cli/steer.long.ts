import { appendFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { type DaemonHome, killAtCommit, killAtRename, makeDaemonHome } from "../helpers/daemon-home.ts";
import { useSharedFolder } from "../helpers/folder.ts";
import { makeRepository, startGitServer } from "../helpers/git-server.ts";
import { AGENT, endedWith, errorOf, type Goald, jsonOf, lookInto, notRefused } from "../helpers/goald.ts";
import { append, ledger, ledgerText, numberedModel, planned, write } from "../helpers/models.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

const KEY = "sk-planted-4Wm9rY2qZc7";
const RUN_BEHIND = ["run", "-d", ...AGENT];
const root = useSharedFolder();

/** Starts an agent `t` in the background and holds back a reply, so that it is inside a step. */
async function inStep(tasks: number, step: number, ...flags: readonly string[]): Promise<DaemonHome> {
  const home = await makeDaemonHome(ledger(tasks), { env: { OPENAI_API_KEY: KEY } });
  home.holdFrom(step);
  endedWith(0, await home.goald.ask([...RUN_BEHIND, ...flags]));
  await home.asked(step);
  return home;
}

it.concurrent("goald say adds words to the next prompt without secrets, from an argument and from a pipe", async () => {
  await using home = await inStep(3, 2);
  const { goald, server } = home;
  const said = jsonOf(await goald.ask(["say", "t", "Use", "metres,", `not ${KEY}`, "--json"]));
  expect(said).toMatchObject({ agent: { id: "t", state: "running" }, note: "It will read this with its next step." });
  const piped = endedWith(0, await goald.run("say T", { input: "And\nkeep \x1b[31mit\x1b[0m short\n" }));
  expect(piped.stdout).toBe("It will read this with its next step. t is running (step 2).\n");
  endedWith(0, await goald.run("say T -", { input: "No feet\n" }));
  home.release();
  await home.logged("turn-finished");
  const words = (request: number): string =>
    server.chats[request]?.messages.map(({ content }) => content).join("\n") ?? "";
  expect(words(1)).not.toContain("Use metres");
  expect(words(2)).toContain("Use metres, not [redacted]");
  expect(words(2)).toContain("And\nkeep it short");
  expect(words(2)).toContain("No feet");
  expect(JSON.stringify((await lookInto(goald)).log)).not.toContain(KEY);
});

it.concurrent("goald goals lists and changes the goals and their checks, and the next prompt has the new ones", async () => {
  await using home = await inStep(3, 2, "--goal", "h");
  const { goald, server } = home;
  const goals = async (...args: readonly string[]) => await goald.print(["goals", "t", ...args]);
  const CHECK = "Check of goal 2: ledger.txt has at least 3 characters\n";
  expect(await goals()).toBe("1. g\n2. h\n");
  expect(await goals("--check", "2: ledger.txt min 3")).toContain(`1. g\n2. h\n${CHECK}`);
  expect(await goals("--add", "i")).toContain(`3. i\n${CHECK}`);
  // Goals that move lose their checks. Each change builds on those that the agent has not read yet.
  expect(await goals("--rm", "1", "--add", "j")).toMatch(
    /^1\. h\n2\. i\n3\. j\n[\s\S]*1 check of the earlier goals was dropped\. Give new ones with --check\./,
  );
  expect(await goals()).toBe("1. h\n2. i\n3. j\nThe agent has not read these goals yet.\n");
  expect(await goals("--set", "Only this", "--check", "ledger.txt contains line 1")).toContain("Check of goal 1: ");
  home.release();
  await home.logged("turn-finished");
  expect(server.chats[1]?.messages[0]?.content).toContain("GOALS:\n1. g\n2. h\n");
  expect(server.chats[2]?.messages[0]?.content).toMatch(/GOALS:\n1\. Only this\n(?!2)/);
  expect(await goald.json("goals t")).toMatchObject({ agent: "t", goals: ["Only this"], checks: [{ goal: 0 }] });
  expect((await lookInto(goald)).log.findLast(({ type }) => type === "goals-checked")).toMatchObject({
    results: [{ check: 0, isPassed: true }],
  });
});

it.concurrent.each([
  ["at-most-once command, which never runs again", "to Ann\n", { status: "unknown", code: "interrupted" }],
  ["idempotent command, which runs again", "to Ann\nto Ann\n", { status: "ok" }],
])("an agent in the middle of its work is killed in the middle of an %s", async (title, sent, observation) => {
  await using home = await makeDaemonHome([{ name: "send_letter", args: { to: "Ann" } }]);
  const { goald } = home;
  await goald.write("commands/send_letter.ts", letter(title.split(" ")[0] ?? ""));
  endedWith(0, await goald.ask([...RUN_BEHIND, "--approve", "never"]));
  await home.until(async () => (await goald.read("workspace/t/sent.txt")) !== undefined, "the letter");
  const killed = jsonOf(await goald.ask("stop t --now --json"));
  expect(killed).toMatchObject({ agent: { state: "killed" }, note: "Killed." });
  endedWith(0, await goald.ask("resume t --json"));
  expect(await goald.read("workspace/t/sent.txt")).toBe(sent);
  const { log, problems } = await lookInto(goald);
  expect(problems).toEqual([]);
  expect(log.find((event) => event.type === "command-finished")).toMatchObject({ observation });
});

/** Counts its runs, and does not end by itself the first time. */
const letter = (effect: string): string => `export default {
  name: "send_letter", label: "Send a letter", summary: "Sends a letter.", effect: "${effect}", timeoutMs: 60000,
  args: { type: "object", required: ["to"], properties: { to: { type: "string", description: "whom" } } },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  async run({ to }, { workspace, signal }) {
    const sent = await workspace.stat("sent.txt");
    await workspace.append("sent.txt", "to " + to + "\\n");
    if (sent) return { status: "ok", text: "Sent.", source: "goald", artifacts: [] };
    await new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  },
};
`;

it.concurrent("goald approve and deny answer the pending command and name it, and no other one (exit 7)", async () => {
  await using home = await makeDaemonHome(ledger(3));
  const { goald, server } = home;
  endedWith(11, await goald.ask("run --wait --name T --goal g --approve always"));
  const denied = endedWith(0, await goald.ask("deny t Write shorter lines"));
  expect(denied.stdout).toContain('Denied: append_to_file {"file":"ledger.txt","text":"line 1\\n"}.');
  await home.logged("approval-asked", 2);
  expect(server.chats[1]?.messages.some(({ content }) => content.includes("Write shorter lines"))).toBe(true);
  const calls = ["approve t --step 1", "approve t --call c2-2", "deny t --step 1", "deny t --call c2-2"];
  const why = /^t does not wait for c(?:1|2-2) now, but for c2: append_to_file /;
  expect(
    await notRefused(
      goald,
      calls.map((call) => [call, 7, why, new RegExp(`goald ${call.split(" ")[0]} t --step 2`)]),
    ),
  ).toEqual([]);
  endedWith(2, await goald.ask("approve t --step 2 --call c2"));
  const approved = jsonOf(await goald.ask("approve t --step 2 -N 9 --json"));
  expect(approved).toMatchObject({
    call: { name: "append_to_file", args: { file: "ledger.txt" } },
    note: expect.stringMatching(/^Approved, and the next 8 of this turn without asking: append_to_file /),
  });
  await home.logged("turn-finished");
});

it.concurrent("goald rm asks first, keeps the folder, and removes an agent at work only with force", async () => {
  await using home = await inStep(2, 2);
  const { goald } = home;
  home.release();
  await home.logged("turn-finished");
  const no = goald.openTerminal("rm t");
  await no.see(`Its folder ${goald.home}/workspace/t stays.`);
  await no.answer("Remove it? [y/N] ", "");
  expect(endedWith(0, await no.ended).stdout).toContain("Nothing was removed.");
  const left = goald.openTerminal("rm t T");
  await left.see("Remove it? [y/N] ");
  left.type("\x03");
  expect(endedWith(130, await left.ended).stdout.match(/Remove it/g)).toHaveLength(1);
  const yes = goald.openTerminal("rm t");
  await yes.answer("Remove it? [y/N] ", "y");
  endedWith(0, await yes.ended);
  expect(await goald.json("ps")).toEqual({ agents: [] });
  expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
  home.holdFrom(1);
  endedWith(0, await goald.ask([...RUN_BEHIND, "--name", "U"]));
  await home.logged("model-asked", 1, "u");
  endedWith(0, await goald.ask("rm -f u --files"));
  await expect(stat(join(goald.home, "workspace/u"))).rejects.toThrow("ENOENT");
});

const PLAN_RUN = ["run", "--name", "T", "-g", "Find strings", "-g", "Write them down", "--approve", "never"];

it("goald plan draws a plan, and changes it: the agent reads that, and is done when the rest is", async () => {
  await using home = await makeDaemonHome([], { reply: numberedModel(planned("Ask Ann")) });
  const { goald, server } = home;
  home.holdFrom(3);
  endedWith(0, await goald.ask([...PLAN_RUN, "-d"]));
  await home.asked(3);
  expect(await goald.print("plan t")).toMatch(/^T \(t\), turn 1: 6 tasks: 3 open, 3 in progress\n/);
  const view = await goald.json("plan T");
  expect(problemsOfView("plan", view)).toBe("");
  expect(problemsOfView("plan", { ...view, plan: { ...(view.plan as object), more: 1 } })).not.toBe("");
  expect(view).toMatchObject({ agent: "t", turn: 1, current: "0.2.0", isRead: true, plan: { id: "0" } });

  const edit = ["plan", "t", "--add", " Thank\u001b[31m her", "--under", "0.2", "--drop", "0.2.1"];
  expect(await goald.print(edit)).toBe(
    "0.2.1 Call (open -> abandoned)\n0.2.2 Thank her (added, open)\n" +
      "It will read this with its next step. t is running (step 3).\n",
  );
  expect((await goald.ask("plan t")).stdout).toMatch(
    / {4}\[-\] 0\.2\.1 Call \(abandoned\)\n {4}\[ \] 0\.2\.2 Thank her \(open\)\nThe agent has not read the last changes/,
  );
  home.release();
  await home.logged("agent-paused");
  const prompt = (request: number): string =>
    server.chats[request]?.messages.map(({ content }) => content).join("\n") ?? "";
  const told = "I changed your plan.\nAdded 0.2.2: Thank her\nTask 0.2.1 is abandoned now.";
  expect([prompt(2).includes("I changed your plan."), prompt(3).includes(told)]).toEqual([false, true]);
  const { log } = await lookInto(goald);
  expect(log.findLast(({ type }) => type === "agent-paused")).toMatchObject({ code: "not-proven" });

  const dropped = await goald.json("plan t --set 0=verified --drop 0.2");
  expect(dropped).toMatchObject({
    agent: { id: "t", state: "paused: not-proven" },
    note: "It is paused and will read this when it goes on: goald resume t",
    changes: [
      { id: "0", from: "in_progress", to: "verified" },
      { id: "0.2", from: "in_progress", to: "abandoned" },
      { id: "0.2.0", from: "verified", to: "abandoned" },
      { id: "0.2.2", goal: "Thank her", from: "open", to: "abandoned" },
    ],
  });
  endedWith(0, await goald.ask("resume t --json"));
  expect((await goald.ask("plan t")).stdout).toMatch(/^T \(t\), turn 1, finished: 7 tasks: 3 verified, 4 abandoned\n/);
  const late = errorOf(endedWith(7, await goald.ask("plan t --add More --json")));
  expect(late).toMatchObject({
    code: "GOALD_CONFLICT",
    hint: expect.stringContaining('goald run --continue t -g "…"'),
  });
});

const WORK_RUN = ["run", "--name", "Foo", "--role", "r", "-g", "Work", "--continuous"];
const FILES = ["notes/a.md", "b.txt", "c.txt"];
const textsOf = (goald: Goald): Promise<readonly (string | undefined)[]> =>
  Promise.all(FILES.map((path) => goald.read(join("workspace/foo", path))));

async function countEdits(goald: Goald): Promise<number> {
  const { versions } = await goald.json<{ versions: { operation: string }[] }>("show foo --files");
  return versions.filter(({ operation }) => operation === "found").length;
}

describe("goald restore whose daemon is killed with kill -9", () => {
  it.each([
    ["commit", killAtCommit],
    ["write of a file", killAtRename],
  ])("at each %s is completed by the same call, and keeps a person's edit once", async (_at, killAt) => {
    await using home = await makeDaemonHome([
      write("notes/a.md", "one\n"),
      write("c.txt", "c\n"),
      append("b\n", "b.txt"),
      append("2\n", "notes/a.md"),
      write("c.txt", "cc\n"),
    ]);
    const { goald } = home;
    endedWith(0, await goald.ask(WORK_RUN));
    let [rounds, kills] = [0, 0];
    for (let at = 1, isKilled = true; isKilled; at++) {
      isKilled = false;
      for (const when of ["before", "after"]) {
        await appendFile(join(goald.home, "workspace/foo/b.txt"), `${at} ${when}\n`);
        const daemon = goald.start("up --foreground", killAt(`${at}:${when}`));
        await daemon.see("The daemon is ready").catch(() => undefined);
        const first = await goald.ask("restore foo --step 2");
        if (first.code === 0) daemon.kill("SIGTERM");
        isKilled ||= (await daemon.ended).signal === "SIGKILL";
        endedWith(0, await goald.ask("restore foo --step 2"));
        expect(await textsOf(goald)).toEqual(["one\n", undefined, "c\n"]);
        expect(await countEdits(goald)).toBe(++rounds);
        endedWith(0, await goald.ask("restore foo --step 6"));
        expect(await textsOf(goald)).toEqual(["one\n2\n", "b\n1 before\n", "cc\n"]);
        endedWith(0, await goald.ask("down"));
      }
      kills += isKilled ? 1 : 0;
    }
    expect(kills).toBeGreaterThan(0);
    expect(await goald.print("verify")).toMatch(/: sound\.\n$/);
  });
});

it("goald restore with a clone of a git server names it, leaves it as it is, and restores other files", async () => {
  makeRepository(root, "plain.git", [{ path: "README.md", text: "# Plain\n" }]);
  await using git = await startGitServer({ root });
  const args = { repository_url: `${git.origin}/plain.git`, clone_path: "repositories/plain" };
  const calls = [write("notes.md", "one"), { name: "clone_repository", args }, write("notes.md", "two")];
  await using home = await makeDaemonHome(calls, { env: { GOALD_WEB_ALLOW: git.origin } });
  const { goald } = home;
  endedWith(0, await goald.run(WORK_RUN));
  const stdout = await goald.print("restore foo --step 1");
  expect(stdout).toContain("not touched  repositories/plain/  ");
  expect(await goald.read("workspace/foo/notes.md")).toBe("one");
  expect(await goald.read("workspace/foo/repositories/plain/README.md")).toBe("# Plain\n");
  endedWith(0, await goald.ask("restore foo --step 4"));
  expect(await goald.read("workspace/foo/notes.md")).toBe("two");
  await rm(join(goald.home, "workspace/foo/repositories"), { recursive: true });
  const { stdout: later } = endedWith(0, await goald.ask("restore foo --step 2"));
  expect(later).toContain("not restored  repositories/plain/  ");
});
