/** control-routes.ts -- the HTTP routes of `Control`. */
import { AgentView } from "#views/agent-view.ts";
import { RestorePlan, RestoreRequest } from "#views/restore-plan.ts";
import { type Route, route } from "./route.ts";
import * as schemas from "./schemas.ts";
import { MemoryChanged, MemoryChanges, PlanEdited, PlanEdits, Trust, Trusted } from "./schemas.ts";

const DEFAULT_GRACE_MS = 30_000;

// Why a page must not make these calls.
const LOADS_PROGRAMS = "It loads programs: the commands of the home.";
const ENDS_PAGE = "The page would end with the daemon, and could not start it again.";
const RENEWS_SESSION = "A session that could open others would never end.";

export const CONTROL_ROUTES: readonly Route[] = [
  route(
    "GET /v1/status",
    "status",
    "Returns the host's load, limits and problems.",
    { reply: schemas.DaemonStatus },
    ({ control }) => control.status(),
  ),
  route(
    "POST /v1/reload",
    "reload",
    "Reads settings, commands and prompts again.",
    { body: schemas.Nothing, reply: schemas.Changes, socketOnly: LOADS_PROGRAMS },
    async ({ control }) => ({ changes: await control.reload() }),
  ),
  route(
    "POST /v1/shutdown",
    "shutdown",
    "Begins to shut down; replies at once.",
    { body: schemas.Grace, status: 202, reply: schemas.Accepted, socketOnly: ENDS_PAGE },
    async ({ control }, { body }) => {
      await control.shutdown(body.graceMs ?? DEFAULT_GRACE_MS);
      return {};
    },
  ),
  route(
    "POST /v1/dashboard",
    "openDashboard",
    "Opens the door of the page on 127.0.0.1, unless it is open; returns an address with a ticket for one minute.",
    { body: schemas.Nothing, reply: schemas.DashboardLink, socketOnly: RENEWS_SESSION },
    ({ control }) => control.openDashboard(),
  ),
  route(
    "POST /v1/agents",
    "createAgent",
    "Creates an agent and starts it. The settings of the home for new agents do not apply; those of the body do.",
    { body: schemas.NewAgent, status: 201, reply: AgentView },
    ({ control }, { body }) => control.create(body),
  ),
  route(
    "DELETE /v1/agents/:agent",
    "removeAgent",
    "Removes an agent and its log; `force`: also a running one; `files`: also its folder.",
    { query: schemas.Removal, reply: schemas.Removed },
    ({ control }, { params, query }) =>
      control.remove(params.agent, { force: query.force ?? false, files: query.files ?? false }),
  ),
  route(
    "POST /v1/agents/:agent/fork",
    "forkAgent",
    "Creates an agent that begins where this one was after a step. It is paused, unless that one had finished.",
    { body: schemas.Fork, status: 201, reply: schemas.ForkedAgent },
    ({ control }, { params, body }) => control.fork(params.agent, body),
  ),
  route(
    "POST /v1/agents/:agent/restore",
    "restore",
    "Restores an agent's files to their versions after a step; the agent must not be at work.",
    { body: RestoreRequest, reply: RestorePlan },
    ({ control }, { params, body }) => control.restore(params.agent, body),
  ),
  route(
    "POST /v1/agents/:agent/pause",
    "pause",
    "Pauses an agent after its step; replies at once.",
    { body: schemas.Pause, reply: schemas.ControlResult },
    ({ control }, { params, body }) => control.pause(params.agent, body.reason),
  ),
  route(
    "POST /v1/agents/:agent/resume",
    "resume",
    "Continues an agent after a pause, a stop, a limit or a crash; changes the settings first.",
    { body: schemas.Resume, reply: schemas.ControlResult },
    ({ control }, { params, body: { settings = {}, ...how } }) => control.resume(params.agent, settings, how),
  ),
  route(
    "POST /v1/agents/:agent/turns",
    "beginTurn",
    "Begins the next turn of a finished agent with new goals; changes the settings first.",
    { body: schemas.NextTurn, reply: schemas.ControlResult },
    ({ control }, { params, body }) => control.beginTurn(params.agent, body),
  ),
  route(
    "POST /v1/agents/:agent/stop",
    "stop",
    "Finishes the step and writes the report; replies when the agent has stopped.",
    { body: schemas.Grace, reply: schemas.ControlResult },
    ({ control }, { params, body }) => control.stop(params.agent, body.graceMs ?? DEFAULT_GRACE_MS),
  ),
  route(
    "POST /v1/agents/:agent/kill",
    "kill",
    "Cuts off the step under way; replies when the agent has stopped.",
    { body: schemas.Nothing, reply: schemas.ControlResult },
    ({ control }, { params }) => control.kill(params.agent),
  ),
  route(
    "POST /v1/agents/:agent/messages",
    "say",
    "Sends an agent a message, which it reads in its next step.",
    { body: schemas.Words, reply: schemas.ControlResult },
    ({ control }, { params, body }) => control.say(params.agent, body),
  ),
  route(
    "PUT /v1/agents/:agent/goals",
    "setGoals",
    "Replaces an agent's goals and their checks.",
    { body: schemas.Goals, reply: schemas.ControlResult },
    ({ control }, { params, body }) => control.setGoals(params.agent, body.goals, body.checks),
  ),
  route(
    "POST /v1/agents/:agent/plan",
    "editPlan",
    "Adds tasks to an agent's plan and sets their states; the agent reads that in its next step.",
    { body: PlanEdits, reply: PlanEdited },
    ({ control }, { params, body }) => control.editPlan(params.agent, body),
  ),
  route(
    "PATCH /v1/agents/:agent/settings",
    "changeSettings",
    "Changes the settings in the body.",
    { body: schemas.SettingsChange, reply: schemas.ControlResult },
    ({ control }, { params, body }) => control.changeSettings(params.agent, body),
  ),
  route(
    "POST /v1/agents/:agent/approval",
    "answer",
    "Approves or denies the command that waits for a person.",
    { body: schemas.ApprovalAnswer, reply: schemas.ControlResult },
    ({ control }, { params, body }) => control.answer(params.agent, body),
  ),
  route(
    "POST /v1/agents/:agent/trust",
    "trust",
    "Trusts words from outside that an agent has read, for a person who has looked at them.",
    { body: Trust, reply: Trusted },
    ({ control }, { params, body }) => control.trust(params.agent, body),
  ),
  route(
    "POST /v1/agents/:agent/memory",
    "changeMemory",
    "Adds, pins, corrects and forgets memories of an agent; `shared` is the memory that all agents share.",
    { body: MemoryChanges, reply: MemoryChanged },
    async ({ control }, { params, body }) => ({
      changed: await control.changeMemory(params.agent, body.changes, body.key),
    }),
  ),
];
