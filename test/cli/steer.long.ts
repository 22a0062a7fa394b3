import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { type Ended, endedWith, errorOf, lookInto } from "../helpers/goald.ts";
import { ledger, ledgerText } from "../helpers/numbered-model.ts";

const KEY = "sk-planted-4Wm9rY2qZc7";
const RUN = ["run", "-d", "--name", "T", "--role", "r", "--goal", "g"];

interface Told {
  readonly agent: { readonly id: string; readonly state: string; readonly step: number };
  readonly note: string;
}
const toldBy = (ended: Ended): Told => JSON.parse(endedWith(0, ended).stdout) as Told;

/** Starts an agent `t` in the background and holds back a reply, so that it is inside a step. */
async function inStep(tasks: number, step: number, ...flags: readonly string[]): Promise<DaemonHome> {
  const home = await makeDaemonHome(ledger(tasks), { env: { OPENAI_API_KEY: KEY } });
  home.holdFrom(step);
  endedWith(0, await home.goald.ask([...RUN, ...flags]));
  await home.asked(step);
  return home;
}

describe("goald say", () => {
  it.concurrent("adds words to the very next prompt, without secrets, from an argument and from a pipe", async () => {
    await using home = await inStep(3, 2);
    const { goald, server } = home;
    const said = toldBy(await goald.ask(["say", "t", "Use", "metres,", `not ${KEY}`, "--json"]));
    expect(said).toMatchObject({ agent: { id: "t", state: "running" }, note: "It will read this with its next step." });
    const piped = endedWith(0, await goald.run(["say", "T"], { input: "And\nkeep \x1b[31mit\x1b[0m short\n" }));
    expect(piped.stdout).toBe("It will read this with its next step. t is running (step 2).\n");
    home.release();
    await home.logged("turn-finished");
    const words = (request: number): string =>
      server.chats[request]?.messages.map(({ content }) => content).join("\n") ?? "";
    expect(words(1)).not.toContain("Use metres");
    expect(words(2)).toContain("Use metres, not [redacted]");
    expect(words(2)).toContain("And\nkeep it short");
    expect(JSON.stringify((await lookInto(goald)).log)).not.toContain(KEY);
  });

  it.concurrent("opens the next turn of an agent that has finished", async () => {
    await using home = await makeDaemonHome(ledger(1));
    const { goald, server } = home;
    endedWith(0, await goald.ask(["run", "--wait", "--name", "T", "--goal", "g"]));
    const said = toldBy(await goald.ask(["say", "t", "One thing more", "--json"]));
    expect(said.note).toBe("It had finished. This begins turn 2.");
    await home.logged("turn-finished", 2);
    expect(server.chats.at(-1)?.messages.some(({ content }) => content.includes("One thing more"))).toBe(true);
  });
});

describe("goald goals", () => {
  it.concurrent("lists and changes the goals, and the next prompt has the new ones", async () => {
    await using home = await inStep(3, 2, "--goal", "h");
    const { goald, server } = home;
    expect(endedWith(0, await goald.ask(["goals", "t"])).stdout).toBe("1. g\n2. h\n");
    expect(endedWith(0, await goald.ask(["goals", "t", "--rm", "1", "--add", "i"])).stdout).toMatch(
      /^1\. h\n2\. i\nIt will read this /,
    );
    // The second change builds on the first, which the agent has not read yet.
    expect(endedWith(0, await goald.ask(["goals", "t"])).stdout).toBe(
      "1. h\n2. i\nThe agent has not read these goals yet.\n",
    );
    expect(endedWith(0, await goald.ask(["goals", "t", "--add", "j"])).stdout).toMatch(/^1\. h\n2\. i\n3\. j\n/);
    endedWith(0, await goald.ask(["goals", "t", "--set", "Only this"]));
    home.release();
    await home.logged("turn-finished");
    expect(server.chats[1]?.messages[0]?.content).toContain("GOALS:\n1. g\n2. h\n");
    expect(server.chats[2]?.messages[0]?.content).toMatch(/GOALS:\n1\. Only this\n(?!2)/);
    expect(JSON.parse((await goald.ask(["goals", "t", "--json"])).stdout)).toEqual({
      agent: "t",
      goals: ["Only this"],
      checks: [],
    });
  });

  it.concurrent("keeps the checks with added goals, and drops them with goals that move, and says so", async () => {
    await using home = await inStep(1, 1, "--goal", "h");
    const { goald } = home;
    const changed = async (...args: readonly string[]) => endedWith(0, await goald.ask(["goals", "t", ...args])).stdout;
    const CHECK = "Check of goal 2: ledger.txt has at least 3 characters\n";
    expect(await changed("--check", "2: ledger.txt min 3")).toContain(`1. g\n2. h\n${CHECK}`);
    expect(await changed("--add", "i")).toContain(`3. i\n${CHECK}`);
    expect(await changed("--rm", "1")).toContain(
      "\n1 check of the earlier goals was dropped. Give new ones with --check.",
    );
    expect(await changed()).not.toContain("Check of");
    expect(await changed("--set", "Only this", "--check", "ledger.txt contains line 1")).toContain("Check of goal 1: ");
    home.release();
    await home.logged("turn-finished");
    const { log } = await lookInto(goald);
    expect(log.findLast(({ type }) => type === "goals-checked")).toMatchObject({
      results: [{ check: 0, isPassed: true }],
    });
  });
});

describe("an agent in the middle of its work", () => {
  it.concurrent("pauses after its step, and continues after a resume", async () => {
    await using home = await inStep(3, 2);
    const { goald } = home;
    expect(toldBy(await goald.ask(["pause", "t", "--json"])).note).toBe("It finishes its step first.");
    home.release();
    await home.logged("agent-paused");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
    expect(home.server.chats).toHaveLength(2);
    expect(toldBy(await goald.ask(["pause", "t", "--json"]))).toMatchObject({
      agent: { state: "paused: person" },
      note: "It is already stopped.",
    });
    expect(endedWith(0, await goald.ask(["stop", "t"])).stdout).toBe("t is already paused (step 2).\n");
    endedWith(0, await goald.ask(["resume", "t", "--json"]));
    expect(home.server.chats).toHaveLength(4);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
  });

  it.concurrent("stops after its step, or inside it when the timeout is over", async () => {
    await using home = await inStep(3, 2);
    const { goald } = home;
    const patient = goald.run(["stop", "t", "--json"]);
    await home.delivered("pause");
    home.release();
    expect(toldBy(await patient)).toMatchObject({ agent: { state: "stopped" } });
    home.holdFrom(3);
    endedWith(0, await goald.ask(["resume", "t", "-d"]));
    await home.asked(3);
    const cut = toldBy(await goald.ask(["stop", "--all", "-t", "0", "--json"]).then(first));
    expect(cut).toMatchObject({ agent: { state: "stopped" }, note: expect.stringContaining("was cut off") });
    expect(endedWith(0, await goald.ask(["stop", "--all"])).stdout).toBe("No agent is running.\n");
  });

  it.concurrent.each([
    [
      "an at-most-once command never runs again",
      "at-most-once",
      "to Ann\n",
      { status: "unknown", code: "interrupted" },
    ],
    ["an idempotent command runs again", "idempotent", "to Ann\nto Ann\n", { status: "ok" }],
  ])("is killed in the middle of a command: %s", async (_title, effect, sent, observation) => {
    await using home = await makeDaemonHome([{ name: "send_letter", args: { to: "Ann" } }]);
    const { goald } = home;
    await goald.write("commands/send_letter.ts", letter(effect));
    endedWith(0, await goald.ask([...RUN, "--approve", "never"]));
    await home.until(async () => (await goald.read("workspace/t/sent.txt")) !== undefined, "the letter");
    const killed = toldBy(await goald.ask(["stop", "t", "--now", "--json"]));
    expect(killed).toMatchObject({ agent: { state: "killed" }, note: "Killed." });
    endedWith(0, await goald.ask(["resume", "t", "--json"]));
    expect(await goald.read("workspace/t/sent.txt")).toBe(sent);
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    expect(log.find((event) => event.type === "command-finished")).toMatchObject({ observation });
  });
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

const first = (ended: Ended): Ended => ({
  ...ended,
  stdout: JSON.stringify((JSON.parse(ended.stdout) as { agents: unknown[] }).agents[0]),
});

describe("goald approve and goald deny", () => {
  it.concurrent("answer the pending command and name it, and report a conflict without one (exit 7)", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald, server } = home;
    endedWith(11, await goald.ask(["run", "--wait", "--name", "T", "--goal", "g", "--approve", "always"]));
    const denied = endedWith(0, await goald.ask(["deny", "t", "Write", "shorter", "lines"]));
    expect(denied.stdout).toContain('Denied: append_to_file {"file":"ledger.txt","text":"line 1\\n"}.');
    await home.logged("approval-asked", 2);
    expect(server.chats[1]?.messages.some(({ content }) => content.includes("Write shorter lines"))).toBe(true);
    for (const verb of ["approve", "deny"])
      for (const named of [
        ["--step", "1"],
        ["--call", "c2-2"],
      ] as const)
        expect(errorOf(endedWith(7, await goald.ask([verb, "t", ...named, "--json"])))).toMatchObject({
          code: "GOALD_CONFLICT",
          message: expect.stringMatching(/^t does not wait for c(?:1|2-2) now, but for c2: append_to_file /),
          hint: expect.stringContaining("goald approve t --step 2"),
        });
    endedWith(2, await goald.ask(["approve", "t", "--step", "2", "--call", "c2"]));
    const approved = toldBy(await goald.ask(["approve", "t", "--step", "2", "-N", "9", "--json"]));
    expect(approved.note).toMatch(/^Approved, and the next 8 without asking: append_to_file /);
    expect(approved).toMatchObject({ call: { name: "append_to_file", args: { file: "ledger.txt" } } });
    await home.logged("turn-finished");
    const late = errorOf(endedWith(7, await goald.ask(["approve", "t", "--json"])));
    expect(late).toMatchObject({
      code: "GOALD_CONFLICT",
      message: "t has no pending command: it is completed (step 4).",
    });
  });

  it.concurrent("apply by default to outside acts only: files need no approval, and a letter does", async () => {
    await using home = await makeDaemonHome([...ledger(2), { name: "send_letter", args: { to: "Ann" } }], {});
    const { goald } = home;
    await goald.write("commands/send_letter.ts", letter("at-most-once"));
    endedWith(11, await goald.ask(["run", "--wait", "--name", "T", "--goal", "g"]));
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
    expect(await goald.read("workspace/t/sent.txt")).toBeUndefined();
    expect(endedWith(0, await goald.ask(["deny", "t"])).stdout).toContain('Denied: send_letter {"to":"Ann"}.');
    await home.logged("turn-finished");
  });
});

describe("goald rm", () => {
  it.concurrent("asks first, keeps the folder by default, and removes an agent at work only with force", async () => {
    await using home = await inStep(2, 2);
    const { goald } = home;
    const refused = errorOf(endedWith(7, await goald.ask(["rm", "t", "--json"])));
    expect(refused).toMatchObject({ code: "GOALD_CONFLICT", hint: expect.stringContaining("goald rm -f t") });
    home.release();
    await home.logged("turn-finished");
    expect(errorOf(endedWith(2, await goald.ask(["rm", "t", "--json"]))).hint).toContain("goald rm -f t");
    const no = goald.openTerminal(["rm", "t"]);
    await no.see(`Its folder ${goald.home}/workspace/t stays.`);
    await no.answer("Remove it? [y/N] ", "");
    expect(endedWith(0, await no.ended).stdout).toContain("Nothing was removed.");
    const yes = goald.openTerminal(["rm", "t"]);
    await yes.answer("Remove it? [y/N] ", "y");
    endedWith(0, await yes.ended);
    expect(JSON.parse((await goald.ask(["ps", "--json"])).stdout)).toEqual({ agents: [] });
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
    home.holdFrom(1);
    endedWith(0, await goald.ask([...RUN, "--name", "U"]));
    await home.logged("model-asked", 1, "u");
    const forced = endedWith(0, await goald.ask(["rm", "-f", "u", "--files", "--json"]));
    expect(JSON.parse(forced.stdout)).toEqual({ id: "u", workspace: `${goald.home}/workspace/u`, files: true });
    await expect(stat(join(goald.home, "workspace/u"))).rejects.toThrow("ENOENT");
  });
});

describe("a verb that controls an agent", () => {
  let home: DaemonHome;
  beforeAll(async () => {
    home = await makeDaemonHome([]);
    endedWith(0, await home.goald.ask(["run", "--name", "T", "--goal", "g", "--continuous"]));
    endedWith(0, await home.goald.ask(["down"]));
  });
  afterAll(async () => home[Symbol.asyncDispose]());

  it.each<[args: readonly string[], code: number, message: RegExp, hint: RegExp]>([
    [["say", "nobody", "x"], 3, /found none called "nobody"/, /There are: t\./],
    [["say", "t"], 2, /The message is empty/, /goald say t/],
    [["say", "t", " \x1b[2J"], 2, /The message is empty/, /goald say t/],
    [["goals", "t", "--set", "a", "--add", "b"], 2, /--set replaces all goals/, /--set alone/],
    [["goals", "t", "--rm", "2"], 2, /There is no goal 2: it has 1 goal/, /goald goals/],
    [["goals", "t", "--rm", "1"], 2, /at least one goal, got none/, /^$/],
    [["goals", "t", ...["a", "b", "c", "d", "e"].flatMap((goal) => ["--add", goal])], 2, /up to 5 goals, got 6/, /^$/],
    [["goals", "t", "--set", "\x1b[2J"], 2, /must be text without control characters/, /^$/],
    [["goals", "t", "--rm", "first"], 2, /'first' is invalid/, /--help/],
    [["pause"], 2, /Expected an agent or --all, got neither/, /goald pause foo/],
    [["stop", "t", "--all", "--now"], 2, /Expected an agent or --all, got both/, /goald stop --now foo/],
    [["stop", "t", "-t", "soon"], 2, /'soon' is invalid. Expected whole seconds/, /--help/],
    [["approve", "t"], 7, /no pending command: it is completed/, /goald show t/],
    [["approve", "t", "-N", "0"], 2, /'0' is invalid. Expected a whole number from 1/, /--help/],
    [["deny", "t", "no", "--reason", "no"], 2, /reason was given twice/, /one of the two/],
    [["rm", "t"], 2, /no terminal to ask on/, /goald rm -f t$/],
    [["rm", "t", "--files"], 2, /no terminal to ask on/, /goald rm -f --files t$/],
  ])("rejects an invalid call and starts no daemon for it: %j", async (args, code, message, hint) => {
    const { goald } = home;
    const ended = endedWith(code, await goald.ask([...args, "--json"]));
    expect(ended.stdout).toBe("");
    expect(errorOf(ended)).toMatchObject({
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
    expect(await goald.read(".goald/daemon.json")).toBeUndefined();
  });
});
