import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { widthOf } from "#cli/terminal/living-text.ts";
import { endedWith, type Goald, makeGoald } from "../helpers/goald.ts";
import { numberedModel, write } from "../helpers/models.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { screenOf } from "../helpers/screen.ts";

const wide = (columns: number) => ({ shell: `stty cols ${columns} rows 40; exec "$@"` });
const LONG = "A planner of meals with a name that is far too long for any table";
const edit = { name: "edit_file", args: { file: "plan.md", old: "Curry", new: "Stir fry" } };
const GOAL = "Plan a week of meals for a family of four, with one new vegetable on each of its seven days";
const LONG_FILE = "a-plan-of-the-meals-of-a-week-for-a-family-of-four.md";
const long = write(LONG_FILE, `| Monday | ${"Lentil soup with carrots and cumin, ".repeat(6)}|\n`);

describe("verbs on a terminal", () => {
  let [server, goald]: [OpenAIServer?, Goald?] = [];
  /** Id of the agent with the long name. */
  let id = "";
  const at = async (columns: number, ...args: readonly string[]): Promise<string> => {
    const ended = await (goald as Goald).openTerminal(args, wide(columns)).ended;
    return screenOf(ended.stdout);
  };

  beforeAll(async () => {
    server = await startOpenAIServer({
      reply: numberedModel([write("plan.md", "# Week\n\nCurry\n"), edit, long]),
      embeddings: null,
    });
    goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    endedWith(0, await goald.ask(["run", "--name", LONG, "--goal", GOAL, "--continuous"]));
    endedWith(0, await goald.ask(["run", "-d", "--name", "Waiter", "--goal", "g", "--approve", "always"]));
    id = (JSON.parse((await goald.ask(["ps", "--json"])).stdout).agents as { id: string }[]).at(-1)?.id ?? "";
  });
  afterAll(async () => {
    await goald?.[Symbol.asyncDispose]();
    await server?.close();
  });

  it.each([60, 100, 200])(
    "fit into %i columns: ps, show, --report, --files, diff, doctor, why, status, logs, goals, events, commands, memory",
    async (columns) => {
      for (const args of [
        ["ps"],
        ["show", id],
        ["show", id, "--report"],
        ["show", id, "--files"],
        ["diff", id],
        ["diff", id, "--to", "2"],
        ["doctor"],
        ["why", `${id}/plan.md`],
        ["status"],
        ["logs"],
        ["ps", "-o", "wide"],
        ["goals", id],
        ["events", id],
        ["commands"],
        ["commands", "edit_file"],
        ["memory", id, "list"],
        ["memory", id, "search", "meals"],
      ]) {
        const screen = await at(columns, ...args);
        expect({ args, long: screen.split("\n").filter((line) => widthOf(line) > columns) }).toEqual({
          args,
          long: [],
        });
        expect(screen).not.toMatch(/\d{4}-\d\d-\d\dT/);
        // Names that a row can hold are whole, so that they can be copied.
        if (args[0] === "show" && args.length < 4 && args[2] !== "--files")
          expect(screen.match(args[2] ? /a-plan-of-\S+/g : /(?<!\/)a-planner-of-\S+/g)?.join(" ")).toMatch(
            args[2] ? LONG_FILE : id,
          );
      }
    },
  );

  it("read as text, not as Markdown, with colours for what matters", async () => {
    const report = (await (goald as Goald).openTerminal(["show", id, "--report"], wide(80)).ended).stdout;
    expect(screenOf(report)).not.toMatch(/\*\*|\\_|`|^#/m);
    expect(report).toContain("\u001b[1m");
    const diff = (await (goald as Goald).openTerminal(["diff", id, "--to", "2"], wide(80)).ended).stdout;
    expect(diff).toContain("\u001b[31m-Curry\u001b[39m");
    expect(diff).toContain("\u001b[32m+Stir fry\u001b[39m");
    // Programs read what they read before.
    const { stdout } = await (goald as Goald).ask(["show", id, "--report"]);
    expect(stdout).toMatch(/^# .*: report\n/);
    expect(stdout).not.toContain("\u001b");
  });

  it("leave ps --watch at q", async () => {
    const terminal = (goald as Goald).openTerminal(["ps", "--watch"], wide(60));
    await terminal.see("Ended (1)");
    terminal.type("q");
    endedWith(0, await terminal.ended);
    const last = screenOf(terminal.shown.slice(terminal.shown.lastIndexOf("\u001b[2J")));
    expect(last.split("\n").filter((line) => line.length > 60)).toEqual([]);
  });

  it.each([60, 100])("ask about an edit with its difference and a short question at %i columns", async (columns) => {
    const terminal = (goald as Goald).openTerminal(["attach", "waiter"], wide(columns));
    await terminal.answer("Run it? [y/n/?, or say what to do instead] ", "y");
    await terminal.see("Run it? ");
    const screen = screenOf(terminal.shown, columns);
    expect(screen).toContain('  file: "plan.md"\n    5 bytes become 8:\n      - Curry\n      + Stir fry\n');
    expect(screen.match(/Every command needs your approval\./g)).toHaveLength(1);
    expect(screen.split("\n").at(-1)).toBe("Run it? [y/n/?, or say what to do instead]");
    terminal.type("\x03");
    endedWith(0, await terminal.ended);
    const { stdout } = endedWith(0, await (goald as Goald).ask(["approve", "waiter"]));
    expect(stdout).toMatch(/^Approved: edit_file file: "plan\.md" 5 bytes .*\. waiter is [^\n]*\n$/);
    if (columns === 60) {
      endedWith(0, await (goald as Goald).ask(["rm", "-f", "waiter"]));
      endedWith(0, await (goald as Goald).ask(["run", "-d", "--name", "Waiter", "--goal", "g", "--approve", "always"]));
    }
  });
});
