/** code-examples.ts -- the examples of docs/code.md, run as cells of an agent. */
import { readFileSync } from "node:fs";
import { readPythonFunctions } from "#commands/python-modules.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import { done, makeLoop, reply } from "./loop.ts";

const PAGE = readFileSync(new URL("../../docs/code.md", import.meta.url), "utf8");

/** `py`: a file of `<home>/methods`. */
export const examplesIn = (language: "python" | "py"): readonly string[] =>
  [...PAGE.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, code = ""]) => (name === language ? [code] : []));

const FILES = {
  "notes.md": "the cat and the dog and the bird\n",
  "prices.csv": "tea,3\nbread,4\n",
  "Chengdu.md": "20937757\n",
  "shenzhen.md": "Shenzhen has 17560000 inhabitants.\n",
  "cities.json": JSON.stringify(Array.from({ length: 42 }, (_none, index) => `City ${index}`)),
};

/** Runs the code as the only cell of an agent; sub-tasks return `result`. Returns the observation and the files. */
export async function runExample(code: string, sandbox: Sandbox, result: unknown) {
  const subtask = code.includes("agent.run") ? [reply("task_complete", { result })] : [];
  const modules = examplesIn("py").map((source, index) => {
    const file = `methods-${index}.py`;
    return { file, path: file, source, functions: readPythonFunctions(source) };
  });
  const loop = await makeLoop({
    script: [reply("run_code", { code }), ...subtask, done()],
    sandbox,
    modules,
  });
  for (const [path, text] of Object.entries(FILES)) loop.files.set(path, new TextEncoder().encode(text));
  await loop.run();
  const events = await loop.events();
  const [observation] = events.flatMap((event) =>
    event.type === "command-finished" && event.callId === "c1" ? [event.observation] : [],
  );
  return { status: observation?.status, text: String(observation?.text), file: loop.text };
}
