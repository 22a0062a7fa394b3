/** model-server.ts -- a model server in a process of its own that completes every task at once. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const command = { name: "task_complete", args: { reason: "It is noted." } };
const thoughts = {
  text: "I note it.",
  reasoning: "I was told.",
  plan: "- note it",
  criticism: "none",
  speak: "Noted.",
};
const head = { id: "reply", object: "chat.completion.chunk", created: 0, model: "gpt-4.1" };
const content = JSON.stringify({ thoughts, command });
const usage = { prompt_tokens: 3000, completion_tokens: 150, total_tokens: 3150 };
const chunks = [
  { choices: [{ index: 0, delta: { content }, finish_reason: null }], usage: null },
  { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: null },
  { choices: [], usage },
].map((chunk) => `data: ${JSON.stringify({ ...head, ...chunk })}\n\n`);

const server = createServer((incoming, outgoing) => {
  incoming.resume().on("end", () => {
    outgoing.setHeader("content-type", "text/event-stream").end(`${chunks.join("")}data: [DONE]\n\n`);
  });
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
