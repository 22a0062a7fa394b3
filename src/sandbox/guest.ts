/** guest.ts -- the program of a cell process, which the host starts in a cage. An import does nothing: scripts/warm-up.js compiles it. */
import type { CellLanguage } from "#core/ports/sandbox.ts";
import { serveCells } from "./guest-conversation.ts";
import type { Engine, EngineHost, GuestOptions } from "./protocol.ts";

interface EngineModule {
  openEngine(options: GuestOptions, host: EngineHost): Promise<Engine>;
}

/** An engine is loaded only in its own process. */
const ENGINES: { readonly [L in CellLanguage]: () => Promise<EngineModule> } = {
  python: () => import("./python-engine.ts"),
  javascript: () => import("./javascript-engine.ts"),
};

if (import.meta.main) {
  const options = JSON.parse(process.argv[2] ?? "") as GuestOptions;
  const { openEngine } = await ENGINES[options.language]();
  await serveCells((host) => openEngine(options, host));
}
