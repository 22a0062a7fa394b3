/**
 * model-server.ts -- a model server in a process of its own that answers after 50 ms.
 *
 * It finds the agent's number in its name, `Bench17`, and gives each agent the same number of appends and
 * then task_complete. It counts requests and the most that were open at the same time.
 */
import { sendReply, serveParent, writeReply } from "../shared/model-server.ts";

const [latencyMs = 50, steps = 10] = process.argv.slice(2).map(Number);
const asked = new Map<string, number>();
let open = 0;
let mostOpen = 0;
let requests = 0;

process.on("message", () => process.send?.({ requests, mostOpen }));
await serveParent((request, response, body) => {
  if (!request.url?.endsWith("/chat/completions")) return response.writeHead(404).end("{}");
  requests += 1;
  open += 1;
  mostOpen = Math.max(mostOpen, open);
  const agent = /Bench(\d+)/.exec(body)?.[1] ?? "";
  const step = (asked.get(agent) ?? 0) + 1;
  asked.set(agent, step);
  setTimeout(() => {
    open -= 1;
    sendReply(response, replyOf(agent, step));
  }, latencyMs);
  return response;
});

function replyOf(agent: string, step: number): string {
  const command =
    step < steps
      ? { name: "append_to_file", args: { file: "log.txt", text: `Agent ${agent} was here in step ${step}.\n` } }
      : { name: "task_complete", args: { reason: "All lines are written." } };
  return writeReply(command, `This is step ${step} of agent ${agent}, and one more line is to be written.`);
}
