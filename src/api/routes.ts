/**
 * routes.ts -- the one table of routes: the server, request validation and config/openapi.json come from it. Two routes
 * reply with more than the result of one call: events and the document.
 */
import type { Schema } from "#util/schema.ts";
import { AgentDetails } from "#views/agent-details.ts";
import { AgentView } from "#views/agent-view.ts";
import { DiffView } from "#views/file-diff.ts";
import { FileStory } from "#views/file-story.ts";
import { FileContent, FileList } from "#views/file-versions.ts";
import { MemoryList, MemorySearch, MemoryView } from "#views/memory-view.ts";
import { EventView, FileVersionView } from "#views/parts.ts";
import { PlanView } from "#views/plan-view.ts";
import { ReportFacts } from "#views/report-facts.ts";
import { RestorePlan } from "#views/restore-plan.ts";
import { StepPage } from "#views/step-view.ts";
import { WaitingView } from "#views/waiting.ts";
import { WholeStep } from "#views/whole-step.ts";
import { PROTOCOL_VERSION } from "./control.ts";
import { CONTROL_ROUTES } from "./control-routes.ts";
import { READING_ROUTES } from "./reading-routes.ts";
import { describeRoute, paramsOf, type Route, type RouteDescription } from "./route.ts";
import * as schemas from "./schemas.ts";
import { ErrorReply, eventNumber, PARAMS } from "./schemas.ts";

export const ROUTES: readonly Route[] = [...READING_ROUTES, ...CONTROL_ROUTES];

/** Returns a page as JSON, or with `Accept: text/event-stream` a stream of all further events (event-stream.ts). */
export const EVENTS_ROUTE = describeRoute(
  "GET /v1/agents/:agent/events",
  "events",
  "The committed events of an agent after one of them, oldest first: a page, or a stream that continues; `live`: with pieces of the reply that is arriving; `hold`: runs an agent that is in front.",
  { query: schemas.EventsQuery, reply: schemas.EventPage },
);

/** A stream (event-stream.ts), whatever the client accepts. */
export const CHANGES_ROUTE = describeRoute(
  "GET /v1/changes",
  "changes",
  "A stream of all agents: first the views of all, then of those that changed and the ids of those that were removed, at most four times a second.",
  { reply: schemas.AgentChanges },
);

export const DOCUMENT_ROUTE = describeRoute("GET /v1/openapi.json", "openapi", "Returns this document.", {
  reply: schemas.OpenApiDocument,
});

export const ALL_ROUTES: readonly RouteDescription[] = [...ROUTES, EVENTS_ROUTE, CHANGES_ROUTE, DOCUMENT_ROUTE];

/** Schemas with a separate name in the OpenAPI document. */
export const NAMED_SCHEMAS: Readonly<Record<string, Schema>> = {
  AgentView,
  AgentDetails,
  DiffView,
  FileContent,
  FileList,
  FileStory,
  FileVersion: FileVersionView,
  MemoryView,
  MemoryList,
  MemorySearch,
  PlanView,
  ReportFacts,
  RestorePlan,
  StepPage,
  WaitingView,
  WholeStep,
  AgentList: schemas.AgentList,
  ApprovalAnswer: schemas.ApprovalAnswer,
  ChangedSettings: schemas.ChangedSettings,
  Changes: schemas.Changes,
  ControlResult: schemas.ControlResult,
  DaemonStatus: schemas.DaemonStatus,
  ErrorReply: schemas.ErrorReply,
  EventPage: schemas.EventPage,
  GivenSettings: schemas.GivenSettings,
  Goals: schemas.Goals,
  NewAgent: schemas.NewAgent,
  RecordedEvent: EventView,
  Removed: schemas.Removed,
  Words: schemas.Words,
};

/** Returns the methods of an address; none for an unknown address. */
export function methodsOf(path: string): readonly string[] {
  const parts = path.split("/");
  const matches = (route: RouteDescription): boolean => {
    const own = route.path.split("/");
    return own.length === parts.length && own.every((part, at) => part.startsWith(":") || part === parts[at]);
  };
  return [...new Set(ALL_ROUTES.filter(matches).map(({ method }) => method))];
}

const ABOUT = `Speak HTTP to goald's unix socket; its file permission is the authentication.
Send \`Host: goald\`, bodies as \`application/json\`, and neither \`Origin\` nor \`Sec-Fetch-*\`:
requests that a web page could send are refused. goald's own page sends the same requests to 127.0.0.1, with
the key of its session as a bearer token. Requests with unknown members are refused; replies may have
unknown members. Every error has the form of \`ErrorReply\`.`;

const STREAM = `\`id: <seq>\` and \`data: <event>\` for each committed event, oldest first, then new ones as they are committed. Without an id:
with \`live\`, \`event: delta\` with \`{seq, from, text}\` and \`event: printed\` with \`{line}\`; \`event: failed\` with \`{code, message, hint}\`,
\`event: dropped\` with \`{reason, after}\` for a reader that is too slow, \`event: bye\` with \`{reason}\` at the end, and comments.`;

/**
 * Builds the OpenAPI 3.1 document from the table of routes. It is served at /v1/openapi.json; `npm run openapi` writes
 * it into config/openapi.json, which test/api/server.test.ts checks.
 */
export function buildOpenApi(): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const route of ALL_ROUTES) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  const schemas = Object.fromEntries(Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [name, inside(schema)]));
  return {
    openapi: "3.1.0",
    info: {
      title: "goald",
      version: String(PROTOCOL_VERSION),
      summary: "The local API of the goal daemon.",
      description: ABOUT,
    },
    servers: [{ url: "http://goald", description: "The unix socket of a home, .goald/daemon.sock." }],
    paths,
    components: { schemas },
  };
}

function operationOf(route: RouteDescription): Schema {
  const type = route === CHANGES_ROUTE ? "text/event-stream" : "application/json";
  const content: Record<string, Schema> = { [type]: { schema: named(route.reply) } };
  if (route === EVENTS_ROUTE) content["text/event-stream"] = { schema: { type: "string", description: STREAM } };
  const parameters = parametersOf(route);
  return {
    operationId: route.operation,
    summary: route.summary,
    ...(route.socketOnly ? { description: `On the socket alone. ${route.socketOnly}` } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: route.body.required.length > 0,
            content: { "application/json": { schema: named(route.body) } },
          },
        }
      : {}),
    responses: {
      [route.status]: { description: "Done.", content },
      default: {
        description: "The error, with a hint what to do.",
        content: { "application/json": { schema: named(ErrorReply) } },
      },
    },
  };
}

function parametersOf(route: RouteDescription): readonly Schema[] {
  const path = paramsOf(route.path).map((name) => ({ name, in: "path", required: true, schema: PARAMS[name] }));
  const last = { name: "Last-Event-ID", in: "header", required: false, schema: eventNumber };
  const query = Object.entries(route.query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: route.query?.required.includes(name) ?? false,
    schema: named(schema),
  }));
  return [...path, ...query, ...(route === EVENTS_ROUTE ? [last] : [])];
}

/** Returns a reference for a named schema; otherwise the schema, with references inside. */
function named(schema: Schema): Schema {
  const name = Object.entries(NAMED_SCHEMAS).find(([, each]) => each === schema)?.[0];
  return name === undefined ? inside(schema) : { $ref: `#/components/schemas/${name}` };
}

const inside = (schema: Schema): Schema =>
  Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, withReferences(value)]));

function withReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReferences);
  return typeof value === "object" && value !== null ? named(value as Schema) : value;
}
