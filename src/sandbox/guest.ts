/** guest.ts -- the program of a cell process, which the host starts in a cage. An import does nothing: scripts/warm-up.js compiles it. */
import { serveCells } from "./guest-conversation.ts";
import type { GuestOptions } from "./protocol.ts";

if (import.meta.main) {
  const options = JSON.parse(process.argv[2] ?? "") as GuestOptions;
  const { openEngine } = await import("./python-engine.ts");
  await serveCells((host) => openEngine(options, host));
}
