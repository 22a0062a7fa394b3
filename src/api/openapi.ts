/**
 * openapi.ts -- builds the OpenAPI 3.1 document from the table of routes.
 *
 * Served at /v1/openapi.json; `npm run openapi` writes it into config/openapi.json, which test/api/routes.test.ts checks.
 */
import type { Schema } from "#util/schema.ts";
import { PROTOCOL_VERSION } from "./control.ts";
import { paramsOf, type RouteDescription } from "./route.ts";
import { ALL_ROUTES, EVENTS_ROUTE, NAMED_SCHEMAS } from "./routes.ts";
import { ErrorReply, eventNumber, PARAMS } from "./schemas.ts";

const ABOUT = `Speak HTTP to goald's unix socket; its file permission is the authentication.
Send \`Host: goald\`, bodies as \`application/json\`, and neither \`Origin\` nor \`Sec-Fetch-*\`:
requests that a web page could send are refused. Requests with unknown members are refused; replies may have
unknown members. Every error has the form of \`ErrorReply\`.`;

const STREAM = `\`id: <seq>\` and \`data: <event>\` for each committed event, oldest first, then new ones as they are committed. Without an id:
\`event: dropped\` with \`{reason, after}\` for a reader that is too slow, \`event: bye\` with \`{reason}\` at the end, and
comments that keep the connection alive.`;

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

const NAMES = new Map(Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [schema, name]));

/** Returns a reference for a named schema; otherwise the schema, with references inside. */
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
