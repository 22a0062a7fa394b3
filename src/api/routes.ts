/**
 * routes.ts -- every route of the local API: address, schemas, and the one call of `Control` behind it.
 *
 * The one table. The server, the checks and config/openapi.json come from it. A route adds nothing to
 * `Control` but HTTP; the two that answer otherwise than with what one call returned stand at the end.
 */
import type { AgentSettings } from "#core/agent-settings.ts";
import type { MemoryChange } from "#core/ports/memory-row.ts";
import type { Answer, Control, NewAgent } from "./control.ts";
import { type Route, type RouteDescription, route } from "./route.ts";
import * as words from "./schemas.ts";

/** As long as `docker stop` and systemd leave a service, and most steps take. */
const DEFAULT_GRACE_MS = 30_000;
export const DEFAULT_PAGE_EVENTS = 200;

const agentIn = (settings: Partial<AgentSettings> | undefined): Partial<AgentSettings> => settings ?? {};

export const ROUTES: readonly Route[] = [
  route(
    { method: "GET", path: "/v1/status", operation: "status", summary: "How the host is.", reply: words.DaemonStatus },
    (control) => control.status(),
  ),
  route(
    { method: "GET", path: "/v1/agents", operation: "agents", summary: "All agents.", reply: words.AgentList },
    async (control) => ({ agents: await control.agents() }),
  ),
  route<NewAgent>(
    {
      method: "POST",
      path: "/v1/agents",
      operation: "createAgent",
      summary: "Makes an agent and sets it to work.",
      body: words.NewAgent,
      status: 201,
      reply: words.AgentView,
    },
    (control, { body }) => control.create(body),
  ),
  route(
    { method: "GET", path: "/v1/agents/:agent", operation: "agent", summary: "One agent.", reply: words.AgentView },
    (control, { agent }) => control.agent(agent),
  ),
  route<unknown, { readonly force?: boolean; readonly files?: boolean }>(
    {
      method: "DELETE",
      path: "/v1/agents/:agent",
      operation: "removeAgent",
      summary: "Removes an agent and its log; `force`: one that is running too; `files`: its folder too.",
      query: words.closed({ force: words.yesOrNo, files: words.yesOrNo }, "force", "files"),
      reply: words.Removed,
    },
    (control, { agent, query }) => control.remove(agent, { force: query.force ?? false, files: query.files ?? false }),
  ),
  route<{ readonly from: string; readonly text: string; readonly key?: string }>(
    {
      method: "POST",
      path: "/v1/agents/:agent/messages",
      operation: "say",
      summary: "Tells an agent something; it reads it at its next step.",
      body: words.Words,
      reply: words.Done,
    },
    (control, { agent, body }) => control.say(agent, body),
  ),
  route<{ readonly goals: readonly string[] }>(
    {
      method: "PUT",
      path: "/v1/agents/:agent/goals",
      operation: "setGoals",
      summary: "Gives an agent these goals in place of those it has.",
      body: words.Goals,
      reply: words.Done,
    },
    (control, { agent, body }) => control.setGoals(agent, body.goals),
  ),
  route<Partial<AgentSettings>>(
    {
      method: "PATCH",
      path: "/v1/agents/:agent/settings",
      operation: "changeSettings",
      summary: "Changes the settings that are named.",
      body: words.SettingsChange,
      reply: words.Done,
    },
    (control, { agent, body }) => control.changeSettings(agent, body),
  ),
  route<{ readonly reason: string }>(
    {
      method: "POST",
      path: "/v1/agents/:agent/pause",
      operation: "pause",
      summary: "Pauses an agent when its step is finished; answers at once.",
      body: words.Pause,
      reply: words.Done,
    },
    (control, { agent, body }) => control.pause(agent, body.reason),
  ),
  route<{ readonly settings?: Partial<AgentSettings>; readonly record?: string }>(
    {
      method: "POST",
      path: "/v1/agents/:agent/resume",
      operation: "resume",
      summary: "Lets an agent go on after a pause, a stop, a limit or a crash; settings are changed first.",
      body: words.Resume,
      reply: words.Done,
    },
    (control, { agent, body: { settings, ...how } }) => control.resume(agent, agentIn(settings), how),
  ),
  route<{ readonly graceMs?: number }>(
    {
      method: "POST",
      path: "/v1/agents/:agent/stop",
      operation: "stop",
      summary: "Finishes the step and writes the report; answers when the agent stands.",
      body: words.Grace,
      reply: words.Done,
    },
    (control, { agent, body }) => control.stop(agent, body.graceMs ?? DEFAULT_GRACE_MS),
  ),
  route(
    {
      method: "POST",
      path: "/v1/agents/:agent/kill",
      operation: "kill",
      summary: "Cuts off what is under way; answers when the agent stands.",
      body: words.Nothing,
      reply: words.Done,
    },
    (control, { agent }) => control.kill(agent),
  ),
  route<Answer>(
    {
      method: "POST",
      path: "/v1/agents/:agent/approval",
      operation: "answer",
      summary: "Approves or denies the command that waits for a person.",
      body: words.Answer,
      reply: words.Done,
    },
    (control, { agent, body }) => control.answer(agent, body),
  ),
  route<{ readonly changes: readonly MemoryChange[]; readonly key: string }>(
    {
      method: "POST",
      path: "/v1/agents/:agent/memory",
      operation: "changeMemory",
      summary:
        "Adds to an agent's memory, or pins, corrects and forgets in it; `shared` is the one that all agents read.",
      body: words.MemoryChanges,
      reply: words.MemoryChanged,
    },
    async (control, { agent, body }) => ({ changed: await control.changeMemory(agent, body.changes, body.key) }),
  ),
  route<Parameters<Control["fork"]>[1]>(
    {
      method: "POST",
      path: "/v1/agents/:agent/fork",
      operation: "forkAgent",
      summary: "Makes an agent that begins where this one stood after a step; it is paused.",
      body: words.Fork,
      status: 201,
      reply: words.ForkedAgent,
    },
    (control, { agent, body }) => control.fork(agent, body),
  ),
  route(
    {
      method: "POST",
      path: "/v1/reload",
      operation: "reload",
      summary: "Reads settings, commands and words again.",
      body: words.Nothing,
      reply: words.Changes,
    },
    async (control) => ({ changes: await control.reload() }),
  ),
  route<{ readonly graceMs?: number }>(
    {
      method: "POST",
      path: "/v1/shutdown",
      operation: "shutdown",
      summary: "Begins to go down; answers at once.",
      body: words.Grace,
      status: 202,
      reply: words.Accepted,
    },
    async (control, { body }) => {
      await control.shutdown(body.graceMs ?? DEFAULT_GRACE_MS);
      return {};
    },
  ),
];

/** A page as JSON; with `Accept: text/event-stream` all that follows, and then what comes (event-stream.ts). */
export const EVENTS_ROUTE: RouteDescription = {
  method: "GET",
  path: "/v1/agents/:agent/events",
  operation: "events",
  summary:
    "The committed events of an agent after one of them, oldest first: a page, or a stream that goes on; `live`: with pieces of the reply that is arriving.",
  query: words.EventsQuery,
  status: 200,
  reply: words.EventPage,
};

export const DOCUMENT_ROUTE: RouteDescription = {
  method: "GET",
  path: "/v1/openapi.json",
  operation: "openapi",
  summary: "This document.",
  status: 200,
  reply: words.OpenApiDocument,
};

export const ALL_ROUTES: readonly RouteDescription[] = [...ROUTES, EVENTS_ROUTE, DOCUMENT_ROUTE];

/** The methods that an address knows; none for an address that is not there. */
export function methodsOf(path: string): readonly string[] {
  const parts = path.split("/");
  return ALL_ROUTES.filter((each) => {
    const own = each.path.split("/");
    return own.length === parts.length && own.every((part, at) => part.startsWith(":") || part === parts[at]);
  }).map(({ method }) => method);
}
