/** events-route.ts -- GET /v1/agents/:agent/events: a page of the log as JSON, or the start of a stream. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { GoaldError } from "#core/errors.ts";
import { createTurns } from "#util/turns.ts";
import type { Control, EventPage } from "./control.ts";
import type { EventStreams } from "./event-streams.ts";
import type { ToJson } from "./json.ts";
import type { Given } from "./route.ts";
import { DEFAULT_PAGE_EVENTS } from "./routes.ts";

export interface EventsParts {
  readonly control: Pick<Control, "agent" | "page">;
  readonly streams: EventStreams;
  readonly toJson: ToJson;
}
export type EventsQuery = Given<unknown, { readonly after?: number; readonly limit?: number; readonly live?: boolean }>;

/** Resolves to the JSON of a page; to undefined when a stream has taken the reply over. */
export async function answerWithEvents(
  { agent, query }: EventsQuery,
  request: FastifyRequest,
  reply: FastifyReply,
  { control, streams, toJson }: EventsParts,
): Promise<string | undefined> {
  const after = lastEventId(request) ?? query.after ?? 0;
  // Once: the name may pass on to a newer agent while the stream is open.
  const { id } = await control.agent(agent);
  if (!wantsStream(request))
    return pageToJson(await control.page(id, after, query.limit ?? DEFAULT_PAGE_EVENTS), toJson);
  const { head } = await control.page(id, after, 1);
  if (after > head)
    throw new GoaldError("GOALD_CONFLICT", `The log of ${id} ends with event ${head}, there is no event ${after}.`, {
      hint: "Was the agent removed and made again? Begin anew, without Last-Event-ID and `after`.",
    });
  if (streams.isFull)
    throw new GoaldError("GOALD_DAEMON", `Too many programs follow agents at once: ${streams.count}.`, {
      hint: "End some of them, and try again.",
    });
  reply.hijack();
  streams.open(id, { after, live: query.live ?? false }, reply.raw);
  return undefined;
}

const wantsStream = ({ headers }: FastifyRequest): boolean =>
  (headers.accept ?? "").split(",").some((type) => type.split(";")[0]?.trim().toLowerCase() === "text/event-stream");

/** Of a reader that comes back; it stands above `after`, which such a reader sends again. */
function lastEventId({ headers }: FastifyRequest): number | undefined {
  const id = headers["last-event-id"];
  if (id === undefined) return undefined;
  if (typeof id === "string" && /^\d{1,15}$/.test(id)) return Number(id);
  throw new GoaldError("GOALD_USAGE", "Last-Event-ID must be the number of an event.", {
    hint: "Send the id of the last event that came, or none.",
  });
}

/** Event by event, so that a page of long ones does not hold up the agents. */
async function pageToJson({ events, head }: EventPage, toJson: ToJson): Promise<string> {
  const turn = createTurns();
  const texts: string[] = [];
  for (const event of events) {
    texts.push(toJson(event));
    await turn();
  }
  return `{"events":[${texts.join(",")}],"head":${head}}`;
}
