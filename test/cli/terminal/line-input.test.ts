import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it, jest } from "@jest/globals";
import { openLineInput } from "#cli/terminal/line-input.ts";
import { useOpened } from "../../helpers/folder.ts";
import { makeGoald } from "../../helpers/goald.ts";

const opened = useOpened();

function open({ isTerminal }: { readonly isTerminal: boolean }) {
  const input = Object.assign(new PassThrough(), { isTTY: isTerminal });
  const output = Object.assign(new PassThrough(), { isTTY: isTerminal });
  let shown = "";
  output.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  return { lines: opened(openLineInput(input, output)), input, shown: () => shown };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe.each<[where: string, isTerminal: boolean, newline: string]>([
  ["from a pipe", false, "\n"],
  ["on a terminal", true, "\r"],
])("lines %s", (_where, isTerminal, newline) => {
  it("answer questions in their order, those of one chunk too", async () => {
    const { lines, input } = open({ isTerminal });
    input.write(["one", "two", "three", ""].join(newline));
    for (const expected of ["one", "two", "three"]) expect(await lines.askLine("? ")).toBe(expected);
    const late = lines.askLine("? ");
    input.write(`fo`);
    await turn();
    input.write(`ur${newline}five${newline}`);
    expect(await late).toBe("four");
    expect(await lines.askLine("? ")).toBe("five");
  });

  it("that were typed ahead wait, however long nobody asks", async () => {
    const { lines, input, shown } = open({ isTerminal });
    input.write(`ahead${newline}half`);
    for (let number = 0; number < 5; number++) await turn();
    expect(await lines.askLine("First? ")).toBe("ahead");
    const second = lines.askLine("Second? ");
    input.write(` and half${newline}`);
    expect(await second).toBe("half and half");
    expect(shown()).toContain("First? ");
    expect(shown()).toContain("Second? ");
  });

  it("end with the input: what is left without a line's end still counts, then the person has left", async () => {
    const { lines, input } = open({ isTerminal });
    const first = lines.askLine("? ");
    input.end(isTerminal ? `rest${newline}` : "rest");
    expect(await first).toBe("rest");
    await turn();
    expect(await lines.askLine("? ")).toBeUndefined();
    expect(await lines.askSecret("? ")).toBeUndefined();
    expect(lines.interrupted).toBe(false);
  });

  it("are left when the reader is closed while a question waits", async () => {
    const { lines } = open({ isTerminal });
    const answer = lines.askLine("? ");
    lines.close();
    expect(await answer).toBeUndefined();
    expect(await lines.askLine("? ")).toBeUndefined();
  });

  it("are given up when the signal says so, and what comes then answers the next question", async () => {
    const { lines, input } = open({ isTerminal });
    const abort = new AbortController();
    const answer = lines.askLine("First? ", abort.signal);
    abort.abort(new Error("answered elsewhere"));
    await expect(answer).rejects.toThrow("answered elsewhere");
    await expect(lines.askLine("Again? ", abort.signal)).rejects.toThrow("answered elsewhere");
    input.write(`late${newline}`);
    expect(await lines.askLine("Second? ")).toBe("late");
  });

  it("are asked for one question at a time", async () => {
    const { lines, input } = open({ isTerminal });
    const first = lines.askLine("First? ");
    await expect(lines.askLine("Second? ")).rejects.toMatchObject({ code: "GOALD_INTERNAL" });
    input.write(`one${newline}`);
    expect(await first).toBe("one");
  });

  it("show nothing of a secret, and everything of the next line", async () => {
    const { lines, input, shown } = open({ isTerminal });
    const secret = lines.askSecret("Key? ");
    input.write(`hush${newline}`);
    expect(await secret).toBe("hush");
    const next = lines.askLine("Name? ");
    input.write(`Foo${newline}`);
    await next;
    expect(shown()).toContain("Key? ");
    expect(shown()).not.toContain("hush");
    // The control: on a terminal an ordinary line is shown by the reader.
    expect(shown().includes("Foo")).toBe(isTerminal);
  });

  it("keep every character that was typed", async () => {
    const { lines, input } = open({ isTerminal });
    const text = '漢字 é 😀 a\u0301 it\'s "x" \\n $HOME';
    const bytes = Buffer.from(`${text}${newline}`);
    const answer = lines.askLine("? ");
    for (const byte of bytes) input.write(Buffer.from([byte]));
    expect(await answer).toBe(text);
  });
});

describe("Ctrl-C", () => {
  it.each(["askLine", "askSecret"] as const)(
    "leaves %s while it waits, and forgets what stood in its line",
    async (ask) => {
      const { lines, input, shown } = open({ isTerminal: true });
      const answer = lines[ask]("? ");
      input.write("hush");
      await turn();
      input.write("\x03");
      expect(await answer).toBeUndefined();
      expect(lines.interrupted).toBe(true);
      const next = lines.askLine("Next? ");
      input.write("whole\r");
      expect(await next).toBe("whole");
      expect(lines.interrupted).toBe(false);
      expect(shown()).toContain("whole");
      expect(shown().includes("hush")).toBe(ask === "askLine");
    },
  );

  it("is handed on while nothing is asked, and leaves the lines that wait", async () => {
    const interrupts = jest.spyOn(process, "kill").mockReturnValue(true);
    const { lines, input } = open({ isTerminal: true });
    input.write("ahead\r\x03");
    await turn();
    expect(interrupts.mock.calls).toEqual([[process.pid, "SIGINT"]]);
    interrupts.mockRestore();
    expect(await lines.askLine("? ")).toBe("ahead");
  });
});

it("a terminal that is gone ends the input, although its mode can no longer be reset", async () => {
  const terminal = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => {
      if (!mode) throw new Error("setRawMode EIO");
      return terminal;
    },
  });
  const lines = openLineInput(terminal, Object.assign(new PassThrough(), { isTTY: true }));
  const answer = lines.askLine("? ");
  terminal.end();
  expect(await answer).toBeUndefined();
  expect(await lines.askLine("? ")).toBeUndefined();
});

it("a secret that was pasted ahead is used, and not shown by the question", async () => {
  const { lines, input, shown } = open({ isTerminal: false });
  input.write("1\nhush\n");
  await turn();
  expect(await lines.askLine("Way? ")).toBe("1");
  expect(await lines.askSecret("Key? ")).toBe("hush");
  expect(shown()).toBe("Way? 1\nKey? \n");
});

it("on a real terminal lines are edited, secrets stay hidden, and Ctrl-C reaches the program", async () => {
  await using goald = await makeGoald();
  const binary = fileURLToPath(new URL("./line-input.child.ts", import.meta.url));
  const terminal = goald.openTerminal([], { binary });
  await terminal.see("Name? ");
  terminal.type("Fox\x7fo\r");
  await terminal.see("Secret? ");
  terminal.type("hush hush\r");
  await terminal.see("Again? ");
  terminal.type("half\x03");
  await terminal.see("idle");
  terminal.type("\x03");
  await terminal.see("interrupted while idle");
  await terminal.see("Last? ");
  terminal.type("\x04");
  const { stdout: shown } = await terminal.ended;
  const answers: unknown = JSON.parse(/ANSWERS (.*?)\r?\n/.exec(shown)?.[1] ?? "null");
  expect(answers).toEqual({
    name: "Foo",
    length: 9,
    again: "left",
    interrupted: true,
    interrupts: ["SIGINT"],
    last: "left",
  });
  expect(shown).not.toContain("hush");
  expect(shown).toContain("Fo");
});
