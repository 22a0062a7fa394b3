/** control-routes.ts -- the HTTP routes of `Control`. */
import { AgentView } from "#views/agent-view.ts";
import { RestorePlan, RestoreRequest } from "#views/restore-plan.ts";
import { MemoryChanged, MemoryChanges } from "./memory-schemas.ts";
import { PlanEdited, PlanEdits } from "./plan-schemas.ts";
import { defineRoute, type Route } from "./route.ts";
import * as schemas from "./schemas.ts";
import { Trust, Trusted } from "./trust-schemas.ts";

const DEFAULT_GRACE_MS = 30_000;

const HOST_ROUTES: readonly Route[] = [
  defineRoute(
    {
      method: "GET",
      path: "/v1/status",
      operation: "status",
      summary: "Returns the host's load, limits and problems.",
      reply: schemas.DaemonStatus,
    },
    ({ control }) => control.status(),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/reload",
      operation: "reload",
      summary: "Reads settings, commands and prompts again.",
      body: schemas.Nothing,
      reply: schemas.Changes,
    },
    async ({ control }) => ({ changes: await control.reload() }),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/shutdown",
      operation: "shutdown",
      summary: "Begins to shut down; replies at once.",
      body: schemas.Grace,
      status: 202,
      reply: schemas.Accepted,
    },
    async ({ control }, { body }) => {
      await control.shutdown(body.graceMs ?? DEFAULT_GRACE_MS);
      return {};
    },
  ),
];

const LIFE_ROUTES: readonly Route[] = [
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents",
      operation: "createAgent",
      summary: "Creates an agent and starts it.",
      body: schemas.NewAgent,
      status: 201,
      reply: AgentView,
    },
    ({ control }, { body }) => control.create(body),
  ),
  defineRoute(
    {
      method: "DELETE",
      path: "/v1/agents/:agent",
      operation: "removeAgent",
      summary: "Removes an agent and its log; `force`: also a running one; `files`: also its folder.",
      query: schemas.Removal,
      reply: schemas.Removed,
    },
    ({ control }, { params, query }) =>
      control.remove(params.agent, { force: query.force ?? false, files: query.files ?? false }),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/fork",
      operation: "forkAgent",
      summary: "Creates a paused agent that begins where this one was after a step.",
      body: schemas.Fork,
      status: 201,
      reply: schemas.ForkedAgent,
    },
    ({ control }, { params, body }) => control.fork(params.agent, body),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/restore",
      operation: "restore",
      summary: "Restores an agent's files to their versions after a step; the agent must not be at work.",
      body: RestoreRequest,
      reply: RestorePlan,
    },
    ({ control }, { params, body }) => control.restore(params.agent, body),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/pause",
      operation: "pause",
      summary: "Pauses an agent after its step; replies at once.",
      body: schemas.Pause,
      reply: schemas.ControlResult,
    },
    ({ control }, { params, body }) => control.pause(params.agent, body.reason),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/resume",
      operation: "resume",
      summary: "Continues an agent after a pause, a stop, a limit or a crash; changes the settings first.",
      body: schemas.Resume,
      reply: schemas.ControlResult,
    },
    ({ control }, { params, body: { settings = {}, ...how } }) => control.resume(params.agent, settings, how),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/turns",
      operation: "beginTurn",
      summary: "Begins the next turn of a finished agent with new goals; changes the settings first.",
      body: schemas.NextTurn,
      reply: schemas.ControlResult,
    },
    ({ control }, { params, body }) => control.beginTurn(params.agent, body),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/stop",
      operation: "stop",
      summary: "Finishes the step and writes the report; replies when the agent has stopped.",
      body: schemas.Grace,
      reply: schemas.ControlResult,
    },
    ({ control }, { params, body }) => control.stop(params.agent, body.graceMs ?? DEFAULT_GRACE_MS),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/kill",
      operation: "kill",
      summary: "Cuts off the step under way; replies when the agent has stopped.",
      body: schemas.Nothing,
      reply: schemas.ControlResult,
    },
    ({ control }, { params }) => control.kill(params.agent),
  ),
];

const STEERING_ROUTES: readonly Route[] = [
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/messages",
      operation: "say",
      summary: "Sends an agent a message, which it reads in its next step.",
      body: schemas.Words,
      reply: schemas.ControlResult,
    },
    ({ control }, { params, body }) => control.say(params.agent, body),
  ),
  defineRoute(
    {
      method: "PUT",
      path: "/v1/agents/:agent/goals",
      operation: "setGoals",
      summary: "Replaces an agent's goals and their checks.",
      body: schemas.Goals,
      reply: schemas.ControlResult,
    },
    ({ control }, { params, body }) => control.setGoals(params.agent, body.goals, body.checks),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/plan",
      operation: "editPlan",
      summary: "Adds tasks to an agent's plan and sets their states; the agent reads that in its next step.",
      body: PlanEdits,
      reply: PlanEdited,
    },
    ({ control }, { params, body }) => control.editPlan(params.agent, body),
  ),
  defineRoute(
    {
      method: "PATCH",
      path: "/v1/agents/:agent/settings",
      operation: "changeSettings",
      summary: "Changes the settings in the body.",
      body: schemas.SettingsChange,
      reply: schemas.ControlResult,
    },
    ({ control }, { params, body }) => control.changeSettings(params.agent, body),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/approval",
      operation: "answer",
      summary: "Approves or denies the command that waits for a person.",
      body: schemas.ApprovalAnswer,
      reply: schemas.ControlResult,
    },
    ({ control }, { params, body }) => control.answer(params.agent, body),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/trust",
      operation: "trust",
      summary: "Trusts words from outside that an agent has read, for a person who has looked at them.",
      body: Trust,
      reply: Trusted,
    },
    ({ control }, { params, body }) => control.trust(params.agent, body),
  ),
  defineRoute(
    {
      method: "POST",
      path: "/v1/agents/:agent/memory",
      operation: "changeMemory",
      summary: "Adds, pins, corrects and forgets memories of an agent; `shared` is the memory that all agents share.",
      body: MemoryChanges,
      reply: MemoryChanged,
    },
    async ({ control }, { params, body }) => ({
      changed: await control.changeMemory(params.agent, body.changes, body.key),
    }),
  ),
];

export const CONTROL_ROUTES: readonly Route[] = [...HOST_ROUTES, ...LIFE_ROUTES, ...STEERING_ROUTES];
