/** nested-home.ts -- a home with two commands that nest work three levels deep, and a model for them. */
import type { Goald } from "./goald.ts";
import { replyWith } from "./numbered-model.ts";
import type { ChatRequest } from "./openai-answers.ts";

const head = (name: string, openWorld: boolean) =>
  `name: "${name}", label: "${name}", summary: "does other work.", args: { type: "object", properties: {} },
   annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: ${openWorld} }, effect: "transactional",`;

/** `outer` writes line 1, lets the model solve a task with `inner`, which writes line 2, and writes the result as the last line. */
export async function writeNestedCommands({ write }: Goald, { openWorld = false } = {}): Promise<void> {
  await write(
    "commands/outer.ts",
    `export default { ${head("outer", openWorld)}
      async run(_args, context) {
        const append = (text) => context.call("append_to_file", { file: "lines.txt", text });
        await append("line 1\\n");
        const count = await context.run("Use inner once. Then return 5.", { type: "integer" });
        await append(\`line \${count}\\n\`);
        return \`The sub-task returned \${count}.\`;
      },
    };`,
  );
  await write(
    "commands/inner.ts",
    `export default { ${head("inner", openWorld)}
      async run(_args, context) {
        return (await context.call("append_to_file", { file: "lines.txt", text: "line 2\\n" })).status;
      },
    };`,
  );
}

export const NESTED_LINES = "line 1\nline 2\nline 5\n";

/** Decides by the prompt alone. */
export function nestedModel({ messages }: ChatRequest): string {
  const all = messages.map(({ content }) => String(content));
  const isDone = (name: string): boolean => all.some((content) => content.startsWith(`Command ${name} `));
  if (all.at(-1)?.includes("Use inner once."))
    return isDone("inner")
      ? replyWith({ name: "task_complete", args: { result: 5 } })
      : replyWith({ name: "inner", args: {} });
  return isDone("outer")
    ? replyWith({ name: "task_complete", args: { reason: "All done." } })
    : replyWith({ name: "outer", args: {} });
}
