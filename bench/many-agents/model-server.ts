/**
 * model-server.ts -- a model server in a process of its own that answers after 50 ms.
 *
 * It finds the agent's number in its name, `Bench17`, and gives each agent the same number of appends and
 * then task_complete. It counts requests and the most that were open at the same time.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const [latencyMs = 50, steps = 10] = process.argv.slice(2).map(Number);
const asked = new Map<string, number>();
let open = 0;
let mostOpen = 0;
let requests = 0;

const server = createServer((incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    if (!incoming.url?.endsWith("/chat/completions")) return outgoing.writeHead(404).end("{}");
    requests += 1;
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    const agent = /Bench(\d+)/.exec(Buffer.concat(chunks).toString())?.[1] ?? "";
    const step = (asked.get(agent) ?? 0) + 1;
    asked.set(agent, step);
    setTimeout(() => {
      open -= 1;
      outgoing.setHeader("content-type", "application/json").end(completion(agent, step));
    }, latencyMs);
    return outgoing;
  });
});

process.on("message", () => process.send?.({ requests, mostOpen }));
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", 1024, () => process.send?.((server.address() as AddressInfo).port));

function completion(agent: string, step: number): string {
  const command =
    step < steps
      ? { name: "append_to_file", args: { file: "log.txt", text: `Agent ${agent} was here in step ${step}.\n` } }
      : { name: "task_complete", args: { reason: "All lines are written." } };
  const thoughts = {
    text: `This is step ${step} of agent ${agent}, and one more line is to be written.`,
    reasoning: "The goal asks for lines in a file.",
    plan: "- write a line\n- go on",
    criticism: "None so far.",
    speak: `Line ${step}.`,
  };
  return JSON.stringify({
    id: `reply-${agent}-${step}`,
    object: "chat.completion",
    created: 0,
    model: "gpt-4.1",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: JSON.stringify({ thoughts, command }) },
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 3000, completion_tokens: 150, total_tokens: 3150 },
  });
}
