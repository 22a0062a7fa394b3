/**
 * changes-stream.ts -- sends one client the views of all agents of the host, and then those that have changed.
 *
 * At most four messages a second, and none while the client has not read the one before. So a client costs the views that
 * it has seen, and no agent waits for it. There are no numbers: a client that connects again gets all views.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { toError } from "#core/errors.ts";
import type { AgentView } from "#views/agent-view.ts";
import { type Response, ServerSentEvents, type StreamParts } from "./server-sent-events.ts";

const EVERY_MS = 250;
/** A client sees a stalled agent and a failure of the host, which are no events, after at most this time. */
const LOOK_MS = 5_000;

export class ChangesStream extends ServerSentEvents {
  /** Each view that was sent with its JSON, by the id of the agent. The host keeps the view of an agent at rest. */
  #sent: ReadonlyMap<string, { readonly view: AgentView; readonly json: string }> = new Map();

  constructor(response: Response, parts: StreamParts) {
    super(response, parts);
    void this.#follow().catch((thrown: unknown) => {
      const reason = `The agents could not be read: ${toError(thrown).message}`;
      parts.onProblem(reason);
      this.end("dropped", { reason });
    });
  }

  async #follow(): Promise<void> {
    const { signal } = this.waiting;
    for (let isFirst = true; !this.hasEnded; isFirst = false) {
      // Listens before it looks, so that no change is missed.
      const changed = this.parts.control.whenChanged(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]));
      await this.#look(isFirst);
      if (this.farewell !== undefined) return this.end("bye", { reason: this.farewell });
      await Promise.all([changed, sleep(EVERY_MS, undefined, { signal }).catch(() => undefined)]);
    }
  }

  async #look(isFirst: boolean): Promise<void> {
    if (this.response.writableNeedDrain) return;
    const { control, toJson } = this.parts;
    const before = this.#sent;
    const now = new Map(
      (await control.agents()).map((view) => {
        const sent = before.get(view.id);
        return [view.id, sent?.view === view ? sent : { view, json: toJson(view) }];
      }),
    );
    const changed = [...now].flatMap(([id, { json }]) => (before.get(id)?.json === json ? [] : [json]));
    const removed = [...before.keys()].filter((id) => !now.has(id));
    this.#sent = now;
    if (this.hasEnded || (!isFirst && changed.length === 0 && removed.length === 0)) return;
    this.response.write(`data: {"agents":[${changed.join(",")}],"removed":${toJson(removed)}}\n\n`);
  }
}
