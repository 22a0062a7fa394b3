/**
 * openapi.ts -- the table of routes as an OpenAPI 3.1 document.
 *
 * Served at /v1/openapi.json, and written into config/openapi.json by scripts/openapi.ts for those who read
 * before they run; test/server/openapi.test.ts goes red when that file is out of date.
 */
import { PROTOCOL_VERSION } from "./control.ts";
import type { RouteDescription } from "./route.ts";
import { ALL_ROUTES, EVENTS_ROUTE } from "./routes.ts";
import { agentName, ErrorReply, eventNumber, NAMED, type Schema } from "./schemas.ts";

const ABOUT = `Speak HTTP to goald's unix socket; its file permission is the authentication.
Send \`Host: goald\`, bodies as \`application/json\`, and neither \`Origin\` nor \`Sec-Fetch-*\`:
what could come from a web page is refused. Members that are not named here are refused in requests,
and may come in replies. Every error has the same form.`;

const STREAM = `\`id: <seq>\` and \`data: <event>\` for each committed event, oldest first, then as they come. Without an id:
\`event: dropped\` with \`{reason, after}\` for a reader that is too slow, \`event: bye\` with \`{reason}\` at the end, and
comments that keep the connection alive.`;

export function buildOpenApi(): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const route of ALL_ROUTES) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  const schemas = Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, inside(schema)]));
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
  const content: Record<string, Schema> = { "application/json": { schema: named(route.reply) } };
  if (route === EVENTS_ROUTE) content["text/event-stream"] = { schema: { type: "string", description: STREAM } };
  const parameters = parametersOf(route);
  return {
    operationId: route.operation,
    summary: route.summary,
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
        description: "What was wrong, and what to do about it.",
        content: { "application/json": { schema: named(ErrorReply) } },
      },
    },
  };
}

function parametersOf(route: RouteDescription): readonly Schema[] {
  const agent = { name: "agent", in: "path", required: true, schema: agentName };
  const last = { name: "Last-Event-ID", in: "header", required: false, schema: eventNumber };
  const query = Object.entries(route.query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: route.query?.required.includes(name) ?? false,
    schema: named(schema),
  }));
  return [...(route.path.includes(":agent") ? [agent] : []), ...query, ...(route === EVENTS_ROUTE ? [last] : [])];
}

const NAMES = new Map(Object.entries(NAMED).map(([name, schema]) => [schema, name]));

/** A reference, for a schema that has a name; else the schema, with references inside. */
function named(schema: Schema): Schema {
  const name = NAMES.get(schema);
  return name === undefined ? inside(schema) : { $ref: `#/components/schemas/${name}` };
}

const inside = (schema: Schema): Schema =>
  Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, withReferences(value)]));

function withReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReferences);
  return typeof value === "object" && value !== null ? named(value as Schema) : value;
}
