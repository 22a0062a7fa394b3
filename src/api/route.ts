/** route.ts -- what one route of the local API is: address, schemas, and the call behind it. */
import type { Control } from "./control.ts";
import type { ObjectSchema, Schema } from "./schemas.ts";

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

export interface RouteDescription {
  readonly method: (typeof METHODS)[number];
  /** With `:agent` where an agent is named. */
  readonly path: string;
  /** Name of the operation, for clients that are generated. */
  readonly operation: string;
  readonly summary: string;
  readonly query?: ObjectSchema;
  readonly body?: ObjectSchema;
  readonly status: number;
  readonly reply: Schema;
}

/** What came with a request, checked. */
export interface Given<Body = unknown, Query = unknown> {
  /** Empty where the path names none. */
  readonly agent: string;
  readonly query: Query;
  readonly body: Body;
}

export interface Route extends RouteDescription {
  act(control: Control, given: Given): Promise<unknown>;
}

export function route<Body = unknown, Query = unknown>(
  description: Omit<RouteDescription, "status"> & { readonly status?: number },
  act: (control: Control, given: Given<Body, Query>) => Promise<unknown>,
): Route {
  // The schemas are what makes the cast true.
  return { status: 200, ...description, act: act as Route["act"] };
}
