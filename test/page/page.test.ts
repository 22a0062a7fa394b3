/** What screens of the page are made from: words, rows, Markdown, the live part of an agent; and the laws of its source. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { createTwoFilesPatch } from "diff";
import { foldDelta, foldEvent, NoteRow, readReply, type Tail } from "../../src/page/agent.ts";
import { fileTree, Markdown } from "../../src/page/files.ts";
import { agentTree, isShort, Row, sinceLine } from "../../src/page/home.ts";
import { Origin, Wish } from "../../src/page/parts.ts";
import { applyChanges, host } from "../../src/page/store.ts";
import { isNumeric, readCsv, readPatch } from "../../src/page/texts.ts";
import type { Agent, LatestFile, LogEvent, Waiting } from "../../src/page/types.ts";
import {
  cents,
  describeCall,
  lookOf,
  money,
  showHidden,
  sinceWords,
  size,
  span,
  stateLabel,
  stateWords,
  subjectOf,
} from "../../src/page/words.ts";

type Standing = Agent["standing"];
const standing = (kind: Standing["kind"], cause = ""): Standing => ({ kind, cause });

describe("words for a state", () => {
  it.each([
    [standing("running"), "running", "is running"],
    [standing("waiting", "approval"), "asks", "waits for your approval"],
    [standing("waiting", "person"), "asks", "waits for your answer"],
    [standing("waiting", "agent"), "waits", "waits for its helpers"],
    [standing("paused", "person"), "paused", "is paused"],
    [standing("paused", "budget"), "stuck", "has reached its budget"],
    [standing("paused", "time-limit"), "stuck", "has reached its time limit"],
    [standing("paused", "bad-replies"), "stuck", "is paused: bad replies"],
    [standing("interrupted"), "stuck", "is interrupted"],
    [standing("damaged"), "stuck", "is damaged"],
    [standing("over", "completed"), "done", "is completed"],
    [standing("over", "stopped"), "over", "is stopped"],
  ] as const)("%o looks like %s and %s", (state, look, words) => {
    expect([lookOf(state), stateWords(state)]).toEqual([look, words]);
  });

  it("are a label without their verb", () => {
    expect(stateLabel(standing("over", "completed"))).toBe("completed");
    expect(stateLabel(standing("paused", "budget"))).toBe("reached its budget");
  });
});

describe("words for a command", () => {
  it.each([
    ["write_to_file", "plan.md", ["write to", "plan.md"]],
    ["browse_website", "https://shop.example/tea", ["browse", "shop.example/tea"]],
    ["run_code", "import os", ["run code", ""]],
    ["my_own_command", "x", ["my own command", "x"]],
  ])("%s of %s", (command, subject, words) => {
    expect(describeCall(command, subject)).toEqual(words);
  });

  it("name the file before any other argument, in one line", () => {
    expect(subjectOf({ text: "a\nb", file: "plan.md" })).toBe("plan.md");
    expect(subjectOf({ count: 2, text: "a\nb" })).toBe("a");
    expect(subjectOf({ count: 2 })).toBe("");
  });
});

describe("characters that cannot be seen", () => {
  it.each([
    ["a right-to-left override", "pay\u202egpj.exe", "pay⟨U+202E⟩gpj.exe"],
    ["a zero-width space", "rm\u200b -rf", "rm⟨U+200B⟩ -rf"],
    ["a tag character", "ok\u{e0041}", "ok⟨U+E0041⟩"],
    ["an escape", "\u001b[2J", "⟨U+1B⟩[2J"],
    ["a Hangul filler", "a\u3164b", "a⟨U+3164⟩b"],
  ])("%s is shown as its number", (_, text, shown) => {
    expect(showHidden(text)).toBe(shown);
  });

  it("do not include tabs, line ends and letters of any script", () => {
    const text = "a\tb\nЖ é 漢字 العربية 🙂";
    expect(showHidden(text)).toBe(text);
  });
});

describe("numbers", () => {
  it.each([
    [money, 0, "$0.00"],
    [money, 0.004, "$0.004"],
    [cents, 0.0004, "$0.0004"],
    [money, 1.234, "$1.23"],
    [size, 410, "410 B"],
    [size, 2e9, "2 GB"],
  ])("%p of %d is %s", (show, amount, words) => expect(show(amount)).toBe(words));

  it.each([
    [400, "400 ms", "now"],
    [2_400, "2.4 s", "2 s"],
    [59_000, "59 s", "59 s"],
    [3_700_000, "1 h 1 min", "1 h 1 min"],
    [200_000_000, "2 d", "2 d"],
  ])("%d ms are %s, and %s while they count", (ms, exact, counting) => {
    expect([span(ms), sinceWords(ms)]).toEqual([exact, counting]);
  });
});

describe("rows of a diff", () => {
  const before = "a\nb\nc\n";

  it("have the numbers of both files", () => {
    const rows = readPatch(createTwoFilesPatch("x", "x", before, "a\nB\nc\nd\n"));
    expect(rows.map(({ kind, old, now, text }) => [kind, old, now, text])).toEqual([
      [" ", 1, 1, "a"],
      ["-", 2, null, "b"],
      ["+", null, 2, "B"],
      [" ", 3, 3, "c"],
      ["+", null, 4, "d"],
    ]);
  });

  it("lose no line of the text that is written, whatever it holds", () => {
    const after = "@@ -1 +1 @@\n--- a\n+++ b\n\\ No newline\n\n#\n";
    const rows = readPatch(createTwoFilesPatch("x", "x", before, after));
    const written = rows.filter(({ kind }) => kind === "+" || kind === " ").map(({ text }) => text);
    expect(`${written.join("\n")}\n`).toBe(after);
  });

  it("say where lines are left out, and where the last line has no end", () => {
    const long = Array.from({ length: 40 }, (_, n) => `line ${n}`).join("\n");
    const rows = readPatch(createTwoFilesPatch("x", "x", long, long.replace("line 30", "changed")));
    expect(rows[0]).toMatchObject({ kind: "…", text: "line 27" });
    expect(readPatch(createTwoFilesPatch("x", "x", "", "a")).at(-1)).toMatchObject({ kind: "…" });
  });
});

describe("rows of CSV", () => {
  it("keep quotes, commas and lines inside a cell", () => {
    expect(readCsv('a,b\r\n"1,5","say ""hi""\nto all"\n,\n')).toEqual([
      ["a", "b"],
      ["1,5", 'say "hi"\nto all'],
      ["", ""],
    ]);
  });

  it("know columns of numbers", () => {
    const rows = [
      ["1,240.00", "5 %", "x"],
      ["-3", "", "2"],
    ];
    expect([0, 1, 2].map((column) => isNumeric(rows, column))).toEqual([true, true, false]);
    expect(isNumeric([], 0)).toBe(false);
  });
});

const agent = (id: string, parent: string | null): Agent =>
  ({ id, parent, standing: standing("running"), createdAt: id }) as Agent;

describe("rows of trees", () => {
  it("have helpers below their parent, and those without one at the top", () => {
    const agents = [agent("c", "a"), agent("b", null), agent("a", null), agent("d", "gone"), agent("e", "c")];
    const rows = agentTree(agents).map(({ agent: { id }, depth }) => `${id}${depth}`);
    expect(rows.join(" ")).toBe("a0 c1 e2 b0 d0");
  });

  it("have files by folder, with kept pages last", () => {
    const files = ["pages/x.md", "b.md", "data/a.csv", "a.md"].map((path) => ({ path }) as LatestFile);
    expect(fileTree(files).map(([folder, inside]) => [folder, inside.map(({ path }) => path)])).toEqual([
      ["", ["b.md", "a.md"]],
      ["data", ["data/a.csv"]],
      ["pages", ["pages/x.md"]],
    ]);
  });
});

interface Element {
  readonly type: string | ((props: unknown) => unknown);
  readonly props: Readonly<Record<string, unknown>>;
}
const isElement = (part: unknown): part is Element => typeof part === "object" && part !== null && "props" in part;

/** The tags and texts of elements, as a person would write them. */
function show(part: unknown): string {
  if (Array.isArray(part)) return part.map(show).join("");
  if (!isElement(part)) return part === null || part === undefined || typeof part === "boolean" ? "" : String(part);
  if (typeof part.type === "function") return show(part.type(part.props));
  const { children, ...attributes } = part.props;
  const shown = Object.entries(attributes).map(([name, value]) => ` ${name}=${value}`);
  return `<${part.type}${shown.join("")}>${show(children)}</${part.type}>`;
}
const picture = (path: string, words: string): string => `(picture ${path} ${words})`;
const elements = (text: string): string =>
  show(Markdown({ text, picture })).replace(/^<div class=prose>|<\/div>$/g, "");

it.each([
  ["step", "agent", 149, "<a href=#/a/chef/s/149>step 149</a>"],
  ["fact", "web", 12, "fact of <a href=#/a/chef/s/12>step 12</a>, from the web"],
  ["file_chunk", "file", null, "file chunk, from a file"],
] as const)("a %s by %s of step %s says where it comes from, once", (kind, trust, step, shown) =>
  expect(show(Origin({ of: "chef", memory: { kind, trust, step } }))).toBe(shown),
);

it("a sub-agent that asks names its parent, and its id beside another one of its name", () => {
  host.agents = [agent("aide", "boss"), { ...agent("aide-2", null), name: "Aide" }];
  const item: object = { agent: "aide", name: "Aide", command: { name: "write_to_file", args: { file: "a.md" } } };
  expect(show(Wish({ item: item as Waiting }))).toMatch(
    /<b>Aide<\/b> \(aide\)<small> helper of boss<\/small><\/a> wants to /,
  );
});

it("an agent that is stuck has the age of that, not of its last event", () => {
  const waits = { standing: standing("waiting", "model"), stalledMs: 3_660_000, changedAt: "2026-11-26T10:00:00.000Z" };
  expect(show(Row({ agent: { ...spent("a", ""), ...waits }, depth: 0 }))).toMatch(/>1 h 1 min<\/small><\/a>$/);
});

describe("Markdown as elements", () => {
  it.each([
    ["# A *b*", "<h2>A <em>b</em></h2>"],
    ["a **b** `c &lt;` &lt;d&gt;", "<p>a <strong>b</strong> <code>c &lt;</code> <d></p>"],
    ["1. a\n2. b", "<ol start=1><li>a</li><li>b</li></ol>"],
    ["- [x] done\n- [ ] open", "<ul><li>☑ done</li><li>☐ open</li></ul>"],
    ["> q", "<blockquote><p>q</p></blockquote>"],
    ["![a b](charts/x.png)", "<p>(picture charts/x.png a b)</p>"],
    ["![a](https://x.example/p.png)", "<p>[picture elsewhere: https://x.example/p.png]</p>"],
    ["![a](//x.example/p.png)", "<p>[picture elsewhere: //x.example/p.png]</p>"],
    ["![a](data:image/svg+xml,x)", "<p>[picture elsewhere: data:image/svg+xml,x]</p>"],
  ])("%s", (text, shown) => expect(elements(text)).toBe(shown));

  it("shows tables with numbers at the right", () => {
    const shown = elements("| a | n |\n|---|---:|\n| x | 1 |");
    expect(shown).toContain("<th class=num>n</th>");
    expect(shown).toContain("<tr><td class=>x</td><td class=num>1</td></tr>");
  });

  it("follows web addresses alone, without a referrer", () => {
    expect(elements("[a](https://x.example/)")).toContain(
      "<a href=https://x.example/ title=https://x.example/ rel=noreferrer",
    );
    for (const address of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", " JaVaScRiPt:alert(1)"])
      expect(elements(`[a](<${address}>)`)).not.toContain("<a");
  });

  it.each(["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a <b onclick=x>b</b>", "<svg/onload=x>"])(
    "makes no element of %s: its text stays text",
    (text) => {
      const tree = Markdown({ text, picture });
      const typesOf = (part: unknown): readonly unknown[] => {
        if (Array.isArray(part)) return part.flatMap(typesOf);
        return isElement(part) ? [part.type, ...typesOf(part.props.children)] : [];
      };
      expect(typesOf(tree).filter((type) => !["div", "p"].includes(String(type)))).toEqual([]);
      expect(show(tree)).toContain(text.slice(0, 8));
    },
  );
});

const event = (seq: number, type: string, more: object = {}): LogEvent =>
  ({ seq, type, at: `2026-11-26T10:00:${String(seq).padStart(2, "0")}.000Z`, frame: 0, ...more }) as LogEvent;
const fold = (...events: readonly LogEvent[]): Tail => events.reduce(foldEvent, { head: 0, live: null });

describe("the live part of an agent", () => {
  it("grows by pieces of the reply that follow on each other, and is empty when the reply is complete", () => {
    const asked = fold(event(4, "model-asked"));
    const live = [
      { seq: 4, from: 0, text: "I look" },
      { seq: 4, from: 6, text: " at it" },
    ].reduce(foldDelta, asked);
    expect(live.live?.text).toBe("I look at it");
    expect(foldDelta(live, { seq: 4, from: 20, text: "late" })).toBe(live);
    expect(foldDelta(live, { seq: 9, from: 0, text: "new" }).live).toEqual({ seq: 9, text: "new" });
    expect(foldEvent(live, event(5, "model-replied")).live).toBeNull();
  });

  it("counts each event once, so that a stream may send it again, and nothing of nested work", () => {
    const live = foldDelta(fold(event(7, "model-asked")), { seq: 7, from: 0, text: "I look" });
    const more = [event(7, "model-asked"), event(5, "model-replied"), event(8, "model-asked", { frame: 1 })];
    expect(more.reduce(foldEvent, live)).toEqual({ ...live, head: 8 });
  });

  it("notes pauses, turns and words", () => {
    const notes = [
      event(1, "agent-paused", { reason: "Paused on the page." }),
      event(2, "agent-resumed"),
      event(3, "turn-started", { turn: 2 }),
      event(4, "message-received", { from: "you", text: { head: "Long" } }),
      event(6, "turn-finished"),
    ].map((of) => show(NoteRow({ of })));
    expect(notes.map((note) => /class=grow>(.*?)</.exec(note)?.[1])).toEqual([
      "Paused on the page.",
      "Resumed",
      "Turn 2",
      "you: Long…",
      "Reported its goals as reached",
    ]);
    expect(notes[3]).toContain("class=mark says");
  });
});

describe("a reply that arrives", () => {
  const whole = JSON.stringify({
    thoughts: { text: 'A "quoted" thought', reasoning: "Because", plan: "- one\n- two", criticism: "None" },
    command: { name: "read_file", args: { file: "a.md" } },
  });

  it("has its thoughts and its command", () => {
    expect(readReply(whole)).toEqual({
      thought: 'A "quoted" thought',
      reasoning: "Because",
      plan: "- one\n- two",
      criticism: "None",
      next: "read_file",
    });
  });

  it("can be read wherever it ends", () => {
    const thoughts = Array.from(whole, (_, end) => readReply(whole.slice(0, end)).thought);
    expect(thoughts.filter((thought) => !'A "quoted" thought'.startsWith(thought))).toEqual([]);
    expect(new Set(thoughts).size).toBe('A "quoted" thought'.length + 1);
  });

  it("is a thought as a whole when it is not JSON", () => {
    expect(readReply("Let me see").thought).toBe("Let me see");
  });
});

const spent = (id: string, cause: string, costUsd = 0): Agent =>
  ({ id, costUsd, standing: standing(cause === "" ? "running" : "over", cause) }) as Agent;

it("changes of the host replace, add and remove agents", () => {
  const agents = [spent("a", ""), spent("b", "")];
  const now = applyChanges(agents, { agents: [spent("b", "completed"), spent("c", "")], removed: ["a"] });
  expect(now.map(({ id, standing }) => [id, standing.kind])).toEqual([
    ["b", "over"],
    ["c", "running"],
  ]);
});

describe("what happened since a person looked", () => {
  const seen = { at: 0, agents: { a: [false, 0.5], b: [true, 1] } } as const;
  const HOUR_MS = 3_600_000;

  it("is how many agents finished and what was spent", () => {
    const agents = [spent("a", "completed", 0.75), spent("b", "completed", 1), spent("c", "stopped", 0.25)];
    expect(sinceLine(agents, seen, HOUR_MS)).toBe("Since you looked 1 h 0 min ago: 2 agents finished, $0.50 spent.");
  });

  it("is nothing when nothing happened, or a moment later", () => {
    const agents = [spent("a", "", 0.5), spent("b", "completed", 1)];
    expect(sinceLine(agents, seen, HOUR_MS)).toBe("");
    expect(sinceLine([spent("a", "completed", 9)], seen, 5_000)).toBe("");
  });
});

describe("a command that may be approved from its card", () => {
  type Item = Pick<Waiting, "command" | "code" | "files">;
  const waiting = (args: Record<string, unknown>, more: Partial<Item> = {}): Item => ({
    command: { name: "x", args },
    code: null,
    files: [],
    ...more,
  });

  it("is shown whole there", () => {
    expect(isShort(waiting({ file: "a.md", count: 2 }))).toBe(true);
  });

  it.each([
    ["it runs code", waiting({ file: "a.py" }, { code: { file: "a.py", sha256: "", text: "x" } })],
    ["a file of it holds words from outside", waiting({ file: "a.md" }, { files: [{ path: "a.md", outside: [] }] })],
    ["its arguments are long", waiting({ text: "x".repeat(160) })],
    ["an argument has parts", waiting({ options: { force: true } })],
  ])("is reviewed on its own screen when %s", (_, item) => expect(isShort(item)).toBe(false));
});

const FILES = globSync("src/page/*.{ts,css,html,svg}");
const textOf = (file: string): string => readFileSync(file, "utf8");
const matching = (pattern: RegExp): readonly string[] => FILES.filter((file) => pattern.test(textOf(file)));

const MAKES_HTML =
  /innerHTML|outerHTML|insertAdjacentHTML|setHTML|dangerouslySet|document\.write|DOMParser|createContextualFragment|srcdoc/;
const RUNS_TEXT = /\beval\(|new Function|setTimeout\("|<script>|javascript:|\bon(?:load|error|click)="/;

describe("the laws of the page", () => {
  it("no HTML is made from data, and no text is run", () => {
    expect(FILES.length).toBeGreaterThan(10);
    expect(matching(MAKES_HTML)).toEqual([]);
    expect(matching(RUNS_TEXT)).toEqual([]);
  });

  it("can fail: what makes HTML or runs a text is found", () => {
    for (const text of ["a.innerHTML = b", "<div dangerouslySetInnerHTML=x>"]) expect(MAKES_HTML.test(text)).toBe(true);
    for (const text of ["eval(x)", "new Function(x)", '<b onclick="x">']) expect(RUNS_TEXT.test(text)).toBe(true);
  });

  it("requests go to the page's own origin, from one file", () => {
    expect(matching(/\bfetch\(|XMLHttpRequest|EventSource|WebSocket|sendBeacon/)).toEqual(["src/page/api.ts"]);
    const found = (name: string) => textOf("src/page/api.ts").matchAll(RegExp(`\\b${name}\\((.{5})`, "g"));
    const targetsOf = (name: string) => [...new Set([...found(name)].map(([, target]) => target))];
    expect(["fetch", "request", "send"].map(targetsOf)).toEqual([
      ["path,"],
      ["path,", "path:", "`/v1$"],
      ['"/ses', "`/v1$"],
    ]);
    expect(matching(/(?:src|href|url\(|@import)\s*[=(]?\s*["'`]?(?:https?:)?\/\//)).toEqual([]);
  });

  it("the session key is kept for this tab only, and never in an address or a cookie", () => {
    expect(matching(/document\.cookie/)).toEqual([]);
    expect(matching(/localStorage/)).toEqual(["src/page/home.ts"]);
  });

  it("style and behaviour are in files, as the content security policy wants", () => {
    expect(matching(/<style|style="/)).toEqual([]);
  });
});
