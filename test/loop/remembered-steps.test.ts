import { describe, expect, it } from "@jest/globals";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { fitRecalls } from "#prompt/fit-recalls.ts";
import { renderPassages } from "#prompt/recalls.ts";
import { openHashEmbedder } from "../helpers/hash-embedder.ts";
import { makeLoop } from "../helpers/loop.ts";

const thinks = (thoughts: Record<string, string>, name: string, args: Record<string, unknown> = {}): string =>
  JSON.stringify({ thoughts: { speak: "Going on.", ...thoughts }, command: { name, args } });
const filler = (chars: number): string => "The path is long and nothing happens there. ".repeat(Math.ceil(chars / 44));
const KILN = "The kiln of Marta needs nineteen hours.";
const FERRY = "The ferry to Tessel leaves from pier four.";
const LAMP = "The lighthouse lamp was replaced by Odd in spring.";

/** Runs an agent that meets three facts, and returns what a prompt would show for a question. */
async function meetFacts({ keepsPieces }: { readonly keepsPieces: boolean }) {
  const script = [
    thinks({ text: "I look.", reasoning: `${filler(200)}${KILN} ${filler(200)}` }, "do_nothing"),
    thinks({ text: "I read." }, "read_file", { file: "page.txt" }),
    thinks({ text: "I write." }, "write_to_file", { file: "out.md", text: `${filler(40_000)}\n${LAMP}` }),
    ...Array.from({ length: 12 }, (_none, at) => thinks({ text: `Idle thought number ${at}.` }, "do_nothing")),
  ];
  const loop = await makeLoop({ script, settings: { stepLimit: script.length } });
  loop.files.set("page.txt", Buffer.from(`${filler(9_000)}\n${FERRY}\n${filler(900)}`));
  await loop.run();
  const memory = openLongTermMemory({
    store: {
      ...loop.store,
      memories: async (...given) =>
        (await loop.store.memories(...given)).map((row) =>
          keepsPieces || row.kind !== "piece" ? row : { ...row, forgotten: "source" as const },
        ),
      memory: (namespace, id) => loop.store.memory(namespace, id),
      saveVectors: async () => undefined,
    },
    embedder: openHashEmbedder(),
    report: (problem) => {
      throw new Error(problem);
    },
  });
  const shown = async (question: string): Promise<string> => {
    const query = { agent: loop.row.id, texts: [question], count: 10, excludeSteps: new Set<number>() };
    const recalls = await memory.recall(query, new AbortController().signal);
    return renderPassages(fitRecalls(recalls, loop.clock.now(), 32_000), loop.clock.now());
  };
  return { loop, shown };
}
const QUESTIONS: readonly (readonly [question: string, fact: string])[] = [
  ["How many hours does the kiln of Marta need?", KILN],
  ["From which pier does the ferry to Tessel leave?", FERRY],
  ["Who replaced the lighthouse lamp?", LAMP],
];

describe("what an agent remembers of its steps", () => {
  it("shows facts of its thoughts, of a long result and of a long argument", async () => {
    const { shown } = await meetFacts({ keepsPieces: true });
    for (const [question, fact] of QUESTIONS) expect(await shown(question)).toContain(fact);
  });

  it("would show none of them without pieces", async () => {
    const { shown } = await meetFacts({ keepsPieces: false });
    for (const [question, fact] of QUESTIONS) expect(await shown(question)).not.toContain(fact);
  });

  it("stores each piece in the commit of its event, with a known file's pieces once", async () => {
    const page = (first: string) => Buffer.from(`${first}\n\n${filler(400)}\n\n${FERRY} ${filler(300)}`);
    const read = thinks({ text: "I read." }, "read_file", { file: "page.txt" });
    const loop = await makeLoop({ script: [read, read, read], settings: { stepLimit: 2 } });
    const pieces = async () => (await loop.store.memories(loop.row.id, 0, 99)).filter(({ kind }) => kind === "piece");
    loop.files.set("page.txt", page(`Old beginning. ${filler(400)}`));
    await loop.run();
    const before = await pieces();
    expect(new Set(before.map(({ step }) => step))).toEqual(new Set([1]));
    loop.files.set("page.txt", page(`New beginning. ${filler(400)}`));
    await loop.tell({ type: "settings", stepLimit: 3 });
    await loop.tell({ type: "resume" });
    await loop.run();
    const after = await pieces();
    const [old] = after.filter(({ text }) => text.includes("Old beginning"));
    const [fresh] = after.filter(({ text }) => text.includes("New beginning"));
    expect(old?.supersededBy).toBe(`${loop.row.id}/${fresh?.seq}`);
    expect(fresh).toMatchObject({ step: 3, supersededBy: null, source: "page.txt" });
    expect(after.filter(({ text }) => text.includes(FERRY))).toMatchObject([{ step: 1, supersededBy: null }]);
    for (const { seq } of after)
      expect(loop.store.commits.filter(({ memories }) => memories.some((row) => row.seq === seq))).toHaveLength(1);
  });

  it("keeps no secret of thoughts and long texts", async () => {
    const secret = "hunter2hunter2";
    const script = [
      thinks({ text: `${filler(400)} ${secret}` }, "write_to_file", { file: "a.md", text: `${filler(600)}${secret}` }),
    ];
    const loop = await makeLoop({ script, settings: { stepLimit: 1 } });
    await loop.run({ scrub: (text) => text.replaceAll(secret, "[redacted]") });
    const rows = JSON.stringify(await loop.store.memories(loop.row.id, 0, 99));
    expect(rows).toContain("[redacted]");
    expect(rows).not.toContain(secret);
  });
});
