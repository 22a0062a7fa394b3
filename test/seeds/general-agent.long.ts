/**
 * The rows of seed 000, General Agent, each with the real program, the real sandbox and a model that knows only its
 * prompt.
 */
import { describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import { MAX_FRAMES } from "#core/frames.ts";
import { killAtEvent, killUnder } from "../helpers/daemon-home.ts";
import { daemonOf, endedWith, lookInto } from "../helpers/goald.ts";
import { block, DONE, type Line, nextStep, onGoals, onTask } from "../helpers/models.ts";
import { makeSeedHome } from "../helpers/seed-home.ts";
import { CITIES_GOAL, CITIES_LINES, expectCitiesFile, expectCitiesOrder, findCity } from "./jobs.ts";

const PYTHON_VALUE = "4.317124741065786e-05";

/** Each block of code in turn. Then the end. */
const inTurn = (...codes: readonly string[]): readonly Line[] => [
  ...codes.map((code, index) =>
    onGoals((seen) => nextStep(seen) === index + 1, block(code, "python", `Step ${index + 1}. I go on.`)),
  ),
  onGoals(() => true, DONE),
];
const resultsOf = (log: readonly RecordedEvent[]): readonly string[] =>
  log.flatMap((event) =>
    event.type === "command-finished" && /^c\d+$/.test(event.callId) ? [String(event.observation.text)] : [],
  );

describe("General Agent", () => {
  it("G1, G12: code of a reply is run, and its result follows it as data of the user role", async () => {
    await using home = await makeSeedHome(inTurn("result = 0.99 ** 1000\nresult"));
    await home.run("code");
    const [first, second] = home.seen;
    expect(first?.all).not.toContain(PYTHON_VALUE);
    expect(second?.own).toEqual([expect.stringContaining("0.99 ** 1000")]);
    const shown = new RegExp(`<data-[^>]+>\\n[\\s\\S]*${PYTHON_VALUE}[\\s\\S]*</data-`);
    expect(second?.messages.at(-2)).toMatchObject({ role: "user", content: expect.stringMatching(shown) });
  });

  it("G1, control: in the form json the same reply is not run", async () => {
    const lines = [{ say: block("result = 0.99 ** 1000\nresult") }];
    await using home = await makeSeedHome(lines);
    await home.run("json", { code: 10 });
    expect(home.seen.every(({ all }) => !all.includes(PYTHON_VALUE))).toBe(true);
  });

  it("G2: a cell returns its last expression, else what it printed, and a long result is clipped", async () => {
    await using home = await makeSeedHome(
      inTurn("print('aside')\n6 * 7", "print('only', 'this')\nx = 1", "print('ab' * 15000 + 'END')"),
    );
    await home.run("code");
    const [value = "", printed = "", long = ""] = resultsOf(await home.log());
    expect(value).toContain("42");
    expect(printed).toContain("only this");
    expect(long.length).toBeLessThan(25_000);
    expect(Math.max(...home.seen.map(({ all }) => all.length))).toBeLessThan(60_000);
  });

  it("G3: the namespace survives kill -9, and the model is told what could not be kept", async () => {
    const first = "import math\nx = 41\ndef f(n):\n    return math.floor(n) + 1\nlines = (n for n in range(3))\n'kept'";
    await using home = await makeSeedHome(inTurn(first, "f(x)", "next(lines)"));
    const { goald } = home;
    await home.run("code", { flags: ["--max-steps", "1"], code: 6 });
    const before = await home.log();
    expect(before.at(-1)?.type).toBe("agent-paused");
    const again = ["resume", "t", "--json", "--max-steps", "10"];
    const killed = await killUnder(killAtEvent(`1:${before.length + 4}:after`), goald, again);
    expect(killed.signal).toBe("SIGKILL");
    expect((await goald.run(again)).code).toBe(0);
    const [, sum = "", lost = ""] = resultsOf(await home.log());
    expect(sum).toContain("42");
    expect(lost).toMatch(/NameError[\s\S]*lines/);
    expect(home.seen.some(({ all }) => /lines[^\n]*generator/.test(all))).toBe(true);
  });

  it("G4: the prompt holds each command as a function with its words, and one block may call several of them", async () => {
    const code = `append_to_file('list.txt', 'flour\\n')
text = read_file('list.txt')
if 'flour' in text:
    write_to_file('bread.txt', 'bake')
len(text)`;
    await using home = await makeSeedHome(inTurn(code));
    await home.run("code");
    const [first] = home.seen;
    for (const name of ["append_to_file", "read_file", "write_to_file"])
      expect(first?.system).toMatch(new RegExp(`${name}\\([^\\n]*file: str`));
    expect(await home.file("bread.txt")).toBe("bake");
    const calls = (await home.log()).flatMap((event) => (event.type === "command-requested" ? [event.call.name] : []));
    expect(calls.filter((name) => name !== "save_files").slice(0, 4)).toEqual([
      "run_code",
      "append_to_file",
      "read_file",
      "write_to_file",
    ]);
  });

  it("G5: the model reads the errors of its code and mends it; a success resets the count of failures", async () => {
    const bad = ["result = 1 +", "undefined_name + 1"];
    const good = "total = 7407400 + 2\ntotal";
    await using home = await makeSeedHome(inTurn(...bad, good, ...bad, good));
    await home.run("code");
    const last = (request: number) => home.seen[request]?.messages.at(-2)?.content ?? "";
    expect(last(1)).toContain("SyntaxError");
    expect(last(2)).toMatch(/NameError[\s\S]*undefined_name/);
    expect(last(3)).toContain("7407402");
    expect(home.seen).toHaveLength(7);
  });

  it("G6 to G8, G10: a self-call returns a value of the type, and the prompt then holds the code and its result alone", async () => {
    await using home = await makeSeedHome([
      { when: ({ task, own }) => task !== undefined && own.at(-1) === "about 14 million", say: "14000000" },
      onTask(/Extract population number/, () => "14284000"),
      // A result of another type is asked for once more, with the type.
      onTask(/What is the population/, () => "about 14 million"),
      // In a sub-task a successful cell ends it, and its value is the result.
      onTask(/three numbers/, () => block("[n * n for n in (1, 2, 3)]")),
      onTask(/secret word/, () => "The word is xyzzy."),
      ...inTurn(
        "population = agent.run('Extract population number from: 14,284,000', return_type=int)\npopulation + 1",
        "agent.run('What is the population?', return_type=int) // 2",
        "found = agent.run('Give three numbers', return_type=list[int])\n(type(found).__name__, sum(found))",
        "text = agent.run('Say the secret word', return_type=str)\nlen(text)",
      ),
    ]);
    await home.run("code");
    const results = resultsOf(await home.log()).slice(0, 4);
    expect(results).toEqual(["14284001", "7000000", "('list', 14)", "18"].map((text) => expect.stringContaining(text)));
    const asking = (words: RegExp) => home.seen.filter(({ task = "" }) => words.test(task));
    expect([/Extract/, /What is/, /three/, /secret/].map((words) => asking(words).length)).toEqual([1, 2, 1, 1]);
    for (const { all } of asking(/What is/)) expect(all).toContain('"integer"');
    const last = home.seen.at(-1);
    expect(last?.own.at(-1)).toContain("Say the secret word");
    expect(last?.messages.at(-2)?.content).toContain("18");
    expect(last?.all).not.toContain("xyzzy");
  });

  it("G9: a sub-task is told not to pass on the whole task, and self-calls without end stop at a depth", async () => {
    await using home = await makeSeedHome([
      // A model that reads the error of its cell gives up; all others dig on.
      {
        when: ({ task, messages }) => task !== undefined && /levels deep/.test(messages.at(-2)?.content ?? ""),
        say: "Too deep.",
      },
      onTask(/Dig/, () => block("agent.run('Dig deeper', return_type=str)")),
      ...inTurn("agent.run('Dig', return_type=str)"),
    ]);
    await home.run("code", { flags: ["--max-steps", "60"] });
    const [nested] = home.seen.filter(({ task }) => task !== undefined);
    expect(nested?.all).toMatch(/do not pass it on as a whole/);
    const log = await home.log();
    const pushed = log.filter((event) => event.type === "frame-pushed" && event.kind === "run");
    expect(pushed).toHaveLength(MAX_FRAMES - 1);
    const failed = log.flatMap((event) => {
      if (event.type !== "command-finished" || event.observation.status !== "failed") return [];
      return [String(event.observation.text)];
    });
    expect(failed).toEqual([expect.stringMatching(/CommandError[\s\S]*levels deep/)]);
  });

  it("G11: a sub-task sees its ancestors, its own messages and the last four left siblings", async () => {
    const code = "pieces = [agent.run(f'Tell fact {n}', return_type=str) for n in range(1, 8)]\nlen(pieces)";
    await using home = await makeSeedHome([
      onTask(/Tell fact (\d)/, ([, n]) => `Fact number ${n} is pale-${n}.`),
      ...inTurn(code),
    ]);
    await home.run("code");
    const seventh = home.seen.find(({ task }) => task === "Tell fact 7");
    // The newest message has recalls too, which are memories and no messages.
    const shown =
      seventh?.messages
        .slice(0, -1)
        .map(({ content }) => content)
        .join("\n") ?? "";
    expect(seventh?.own[0]).toContain("I go on.");
    expect([1, 2, 3, 4, 5, 6].filter((n) => shown.includes(`pale-${n}`))).toEqual([3, 4, 5, 6]);
  });
});

const AGENT = ["--name", "T", "--role", "an assistant", "--goal", CITIES_GOAL, "--form", "code"];

describe("G13: the cities of seed 000, unattended, with numbers with commas and search words of the model's own", () => {
  it("are looked up, compared and introduced in the order of the seed, and no search is refused", async () => {
    await using home = await makeSeedHome(CITIES_LINES, { find: findCity });
    await using daemon = daemonOf(home.goald);
    endedWith(0, await home.goald.ask(["run", "-d", ...AGENT, "--approve", "never"]));
    const types = async () => (await lookInto(home.goald)).log.map(({ type }) => type);
    await daemon.until("the end", async () => (await types()).includes("turn-finished"));
    expectCitiesOrder(home.seen);
    expectCitiesFile(await home.file("cities_introduction.md"));
    const log = await home.log();
    const troubles = ["command-denied", "approval-asked", "reply-rejected"];
    expect(log.filter(({ type }) => troubles.includes(type))).toEqual([]);
    expect(home.search.queries).toHaveLength(6);
    expect(log.filter((event) => event.type === "command-finished" && event.observation.status !== "ok")).toEqual([]);
  }, 60_000);
});
