/** route.ts -- one route of the local API: address, schemas and the call behind it. */
import type { ObjectSchema, Schema, Static } from "#util/schema.ts";
import type { Control, Reading } from "./control.ts";
import type { PARAMS } from "./schemas.ts";

export const DEFAULT_PAGE = 200;

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

export interface RouteDescription {
  readonly method: (typeof METHODS)[number];
  /** May contain `:agent` and other names of `PARAMS`. */
  readonly path: string;
  /** Operation id, for generated clients. */
  readonly operation: string;
  readonly summary: string;
  readonly query?: ObjectSchema;
  readonly body?: ObjectSchema;
  readonly status: number;
  readonly reply: Schema;
  /** Why a page must not make this call: a sentence. Such a route is served on the socket alone. */
  readonly socketOnly?: string;
}

export interface HostApi {
  readonly control: Control;
  readonly reading: Reading;
}

export interface Given<Params = Readonly<Record<string, unknown>>, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

export interface Route extends RouteDescription {
  act(host: HostApi, given: Given): Promise<unknown>;
}

type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
type ParamsIn<Path extends string> = {
  readonly [Name in NamesIn<Path> & keyof typeof PARAMS]: Static<(typeof PARAMS)[Name]>;
};

/** Default of `status`: 200. */
interface Schemas<Reply, Query, Body> extends Partial<Pick<RouteDescription, "status" | "socketOnly">> {
  readonly query?: ObjectSchema<Query>;
  readonly body?: ObjectSchema<Body>;
  readonly reply: Schema<Reply>;
}

/** `address`: such as `GET /v1/agents/:agent`. */
export function describeRoute(
  address: `${RouteDescription["method"]} ${string}`,
  operation: string,
  summary: string,
  schemas: Schemas<unknown, unknown, unknown>,
): RouteDescription {
  const [method, path = ""] = address.split(" ");
  return { status: 200, method: method as RouteDescription["method"], path, operation, summary, ...schemas };
}

/** The types of `act` come from the address and the schemas. */
export function route<const Path extends string, Reply, Query = unknown, Body = unknown>(
  address: `${RouteDescription["method"]} ${Path}`,
  operation: string,
  summary: string,
  schemas: Schemas<Reply, Query, Body>,
  act: (host: HostApi, given: Given<ParamsIn<Path>, Query, Body>) => Promise<NoInfer<Reply>>,
): Route {
  // Validation by the schemas makes the cast true.
  return { ...describeRoute(address, operation, summary, schemas), act: act as Route["act"] };
}

export const paramsOf = (path: string): readonly (keyof typeof PARAMS)[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as keyof typeof PARAMS);
