/** events-route.ts -- GET /v1/agents/:agent/events: replies with a page of the log as JSON, or starts a stream. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { GoaldError } from "#core/errors.ts";
import type { Static } from "#util/schema.ts";
import { createTurns } from "#util/turns.ts";
import type { Control } from "./control.ts";
import type { EventStreams } from "./event-streams.ts";
import type { ToJson } from "./json.ts";
import { DEFAULT_PAGE, type Given } from "./route.ts";
import type { EventPage, EventsQuery } from "./schemas.ts";

export interface EventsParts {
  readonly control: Pick<Control, "agent" | "page">;
  readonly streams: EventStreams;
  readonly toJson: ToJson;
}
export type EventsRequest = Given<{ readonly agent: string }, Static<typeof EventsQuery>>;

/** Resolves to the JSON of a page, or to undefined after it has started a stream. */
export async function answerWithEvents(
  { params, query }: EventsRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  { control, streams, toJson }: EventsParts,
): Promise<string | undefined> {
  const after = lastEventId(request) ?? query.after ?? 0;
  // Resolves the name once, because a newer agent may take it while the stream is open.
  const { id } = await control.agent(params.agent);
  if (!wantsStream(request)) return pageToJson(await control.page(id, after, query.limit ?? DEFAULT_PAGE), toJson);
  const { head } = await control.page(id, after, 1);
  if (after > head)
    throw new GoaldError("GOALD_CONFLICT", `The log of ${id} ends with event ${head}; there is no event ${after}.`, {
      hint: "The agent may have been removed and created again. Start without Last-Event-ID and `after`.",
    });
  if (streams.isFull)
    throw new GoaldError("GOALD_DAEMON", `Too many clients follow agents: ${streams.count}.`, {
      hint: "Close some of them and retry.",
    });
  reply.hijack();
  streams.open(id, { after, live: query.live ?? false, hold: query.hold ?? false }, reply.raw);
  return undefined;
}

const wantsStream = ({ headers }: FastifyRequest): boolean =>
  (headers.accept ?? "").split(",").some((type) => type.split(";")[0]?.trim().toLowerCase() === "text/event-stream");

/** Sent by a reconnecting client; has precedence over `after`. */
function lastEventId({ headers }: FastifyRequest): number | undefined {
  const id = headers["last-event-id"];
  if (id === undefined) return undefined;
  if (typeof id === "string" && /^\d{1,15}$/.test(id)) return Number(id);
  throw new GoaldError("GOALD_USAGE", "Last-Event-ID must be the number of an event.", {
    hint: "Send the id of the last event that was received, or none.",
  });
}

/** Converts event by event, so that a page of long events does not block the agents. */
async function pageToJson({ events, head }: EventPage, toJson: ToJson): Promise<string> {
  const turn = createTurns();
  const texts: string[] = [];
  for (const event of events) {
    texts.push(toJson(event));
    await turn();
  }
  return `{"events":[${texts.join(",")}],"head":${head}}`;
}
