/**
 * routes.ts -- the one table of routes: the server, request validation and config/openapi.json come from it.
 *
 * Two routes reply with more than the result of one call: events and the document.
 */
import type { Schema } from "#util/schema.ts";
import { AgentDetails } from "#views/agent-details.ts";
import { AgentView } from "#views/agent-view.ts";
import { DiffView } from "#views/file-diff.ts";
import { FileStory } from "#views/file-story.ts";
import { FileContent, FileList } from "#views/file-versions.ts";
import { MemoryList, MemorySearch, MemoryView } from "#views/memory-view.ts";
import { FileVersionView } from "#views/parts.ts";
import { PlanView } from "#views/plan-view.ts";
import { ReportFacts } from "#views/report-facts.ts";
import { RestorePlan } from "#views/restore-plan.ts";
import { StepPage } from "#views/step-view.ts";
import { WaitingView } from "#views/waiting.ts";
import { WholeStep } from "#views/whole-step.ts";
import { CONTROL_ROUTES } from "./control-routes.ts";
import { READING_ROUTES } from "./reading-routes.ts";
import type { Route, RouteDescription } from "./route.ts";
import * as schemas from "./schemas.ts";

export const ROUTES: readonly Route[] = [...READING_ROUTES, ...CONTROL_ROUTES];

/** Returns a page as JSON, or with `Accept: text/event-stream` a stream of all further events (event-streams.ts). */
export const EVENTS_ROUTE: RouteDescription = {
  method: "GET",
  path: "/v1/agents/:agent/events",
  operation: "events",
  summary:
    "The committed events of an agent after one of them, oldest first: a page, or a stream that continues; `live`: with pieces of the reply that is arriving; `hold`: runs an agent that is in front.",
  query: schemas.EventsQuery,
  status: 200,
  reply: schemas.EventPage,
};

export const DOCUMENT_ROUTE: RouteDescription = {
  method: "GET",
  path: "/v1/openapi.json",
  operation: "openapi",
  summary: "Returns this document.",
  status: 200,
  reply: schemas.OpenApiDocument,
};

export const ALL_ROUTES: readonly RouteDescription[] = [...ROUTES, EVENTS_ROUTE, DOCUMENT_ROUTE];

/** Schemas with a separate name in the OpenAPI document. */
export const NAMED_SCHEMAS: Readonly<Record<string, Schema>> = {
  ...{ AgentView, AgentDetails, DiffView, FileContent, FileList, FileStory, FileVersion: FileVersionView },
  ...{
    MemoryView,
    MemoryList,
    MemorySearch,
    PlanView,
    ReportFacts,
    RestorePlan,
    StepPage,
    WaitingView,
    WholeStep,
  },
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
  RecordedEvent: schemas.RecordedEvent,
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
