/** model-server.ts -- a model server in a process of its own that completes every task at once. */
import { serveParent, streamReply, writeReply } from "../shared/model-server.ts";

const REPLY = writeReply({ name: "task_complete", args: { reason: "It is noted." } }, "I note it.");

await serveParent((_request, response) => streamReply(response, REPLY));
