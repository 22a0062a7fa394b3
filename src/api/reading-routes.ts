/** reading-routes.ts -- the HTTP routes of `Reading`. */
import { MEMORY_KINDS } from "#core/memory.ts";
import { closed, flag, listOf, oneOf, open, type Schema, text } from "#util/schema.ts";
import { AgentDetails } from "#views/agent-details.ts";
import { AgentView } from "#views/agent-view.ts";
import { DiffView } from "#views/file-diff.ts";
import { FileStory } from "#views/file-story.ts";
import { FileContent, FileList } from "#views/file-versions.ts";
import { MemoryList, MemoryPage, MemorySearch, MemoryView } from "#views/memory-view.ts";
import { VerifyView } from "#views/parts.ts";
import { PlanView } from "#views/plan-view.ts";
import { GoalsView, LoadedAgent } from "#views/read-agent.ts";
import { ReportFacts } from "#views/report-facts.ts";
import { RestorePlan } from "#views/restore-plan.ts";
import { StepPage } from "#views/step-view.ts";
import { WaitingView } from "#views/waiting.ts";
import { WholeStep } from "#views/whole-step.ts";
import { DEFAULT_PAGE, type Route, route } from "./route.ts";
import { AgentList, eventNumber, PARAMS, pageSize } from "./schemas.ts";

const DEFAULT_MEMORIES = 50;
const SharedQuery = closed({ shared: flag }, "shared");
const memoryQuery = { shared: flag, all: flag, kind: oneOf(...MEMORY_KINDS), limit: pageSize };
const searchText: Schema<string> = { ...text, minLength: 1, maxLength: 10_000 };

const PageQuery = closed({ after: eventNumber, limit: pageSize }, "after", "limit");
const paths = listOf<string>(PARAMS.path, { maxItems: 100 });
const WaitingList = open({ waiting: listOf(WaitingView) });

export const READING_ROUTES: readonly Route[] = [
  route("GET /v1/agents", "agents", "Lists all agents.", { reply: AgentList }, async ({ reading }) => ({
    agents: await reading.agents(),
  })),
  route("GET /v1/agents/:agent", "agent", "Returns one agent.", { reply: AgentView }, ({ reading }, { params }) =>
    reading.agent(params.agent),
  ),
  route(
    "GET /v1/agents/:agent/details",
    "agentDetails",
    "Describes one agent in full: goals, limits, cost, files, its own agents, and what a person can do next.",
    { reply: AgentDetails },
    ({ reading }, { params }) => reading.details(params.agent),
  ),
  route(
    "GET /v1/agents/:agent/state",
    "agentState",
    "Returns the folded state of an agent, for programs that follow its events from there.",
    { reply: LoadedAgent },
    ({ reading }, { params }) => reading.state(params.agent),
  ),
  route(
    "GET /v1/agents/:agent/goals",
    "goals",
    "Lists an agent's goals, with those that it has not read yet.",
    { reply: GoalsView },
    ({ reading }, { params }) => reading.goals(params.agent),
  ),
  route(
    "GET /v1/agents/:agent/plan",
    "plan",
    "Returns an agent's plan, with a person's changes that it has not read yet.",
    { reply: PlanView },
    ({ reading }, { params }) => reading.plan(params.agent),
  ),
  route(
    "GET /v1/agents/:agent/report",
    "report",
    "Returns the facts of an agent's report.",
    { reply: ReportFacts },
    ({ reading }, { params }) => reading.report(params.agent),
  ),
  route(
    "GET /v1/agents/:agent/verify",
    "verifyAgent",
    "Checks the hash chain and the references of an agent's log.",
    { reply: VerifyView },
    ({ reading }, { params }) => reading.verify(params.agent),
  ),
  route(
    "GET /v1/verify",
    "verify",
    "Checks the hash chains and references of the whole store.",
    { reply: VerifyView },
    ({ reading }) => reading.verify(null),
  ),
  route(
    "GET /v1/waiting",
    "waiting",
    "Lists the approvals and answers that agents wait for, the oldest first.",
    { reply: WaitingList },
    async ({ reading }) => ({ waiting: await reading.waiting() }),
  ),
  route(
    "GET /v1/agents/:agent/steps",
    "steps",
    "Lists the steps of an agent after one of them, in short, oldest first; without `after`, the last ones.",
    { query: PageQuery, reply: StepPage },
    ({ reading }, { params, query }) => reading.steps(params.agent, { ...query, limit: query.limit ?? DEFAULT_PAGE }),
  ),
  route(
    "GET /v1/agents/:agent/steps/:step",
    "step",
    "Returns one step in full, with its prompt and reply.",
    { reply: WholeStep },
    ({ reading }, { params }) => reading.step(params.agent, params.step),
  ),
  route(
    "GET /v1/agents/:agent/files",
    "files",
    "Lists the files of an agent, and every version of them unless `versions` is false.",
    { query: closed({ versions: flag }, "versions"), reply: FileList },
    ({ reading }, { params, query }) => reading.files(params.agent, query),
  ),
  route(
    "GET /v1/agents/:agent/files/:path",
    "file",
    "Returns the content of a file now, or after a step.",
    { query: closed({ step: PARAMS.step }, "step"), reply: FileContent },
    ({ reading }, { params, query }) => reading.file(params.agent, params.path, query.step ?? null),
  ),
  route(
    "GET /v1/agents/:agent/files/:path/story",
    "fileStory",
    "Explains why a file exists: each version with goals, thoughts and sources.",
    { reply: FileStory },
    ({ reading }, { params }) => reading.fileStory(params.agent, params.path),
  ),
  route(
    "GET /v1/agents/:agent/diff",
    "diff",
    "Shows what changed in an agent's files between two steps; by default in the last step that changed any.",
    { query: closed({ from: PARAMS.step, to: PARAMS.step, path: paths }, "from", "to", "path"), reply: DiffView },
    ({ reading }, { params, query: { path, ...range } }) => reading.diff(params.agent, { ...range, paths: path ?? [] }),
  ),
  route(
    "GET /v1/agents/:agent/restore-plan",
    "restorePlan",
    "Shows what restoring files to their versions after a step would change.",
    { query: closed({ step: PARAMS.step, path: paths }, "path"), reply: RestorePlan },
    ({ reading }, { params, query: { step, path = [] } }) => reading.restorePlan(params.agent, step, path),
  ),
  route(
    "GET /v1/agents/:agent/memory",
    "memories",
    "An agent's memories, the newest first; `all`: forgotten and superseded ones too. The agent `shared` is the memory that all agents share.",
    { query: closed(memoryQuery, "shared", "all", "kind", "limit"), reply: MemoryList },
    ({ reading }, { params, query: { shared = false, limit = DEFAULT_MEMORIES, ...filter } }) =>
      reading.memories({ name: params.agent, shared }, { ...filter, limit }),
  ),
  route(
    "GET /v1/agents/:agent/memory/changes",
    "memoryPage",
    "Lists all rows of a memory whose `change` is above `after`, in the order of their last change.",
    {
      query: closed({ shared: flag, after: eventNumber, limit: pageSize }, "shared", "after", "limit"),
      reply: MemoryPage,
    },
    ({ reading }, { params, query: { shared = false, after = 0, limit = DEFAULT_PAGE } }) =>
      reading.memoryPage({ name: params.agent, shared }, { after, limit }),
  ),
  route(
    "GET /v1/agents/:agent/memory/search",
    "searchMemory",
    "Finds what the agent would recall for a query.",
    { query: closed({ shared: flag, query: searchText, limit: pageSize }, "shared", "limit"), reply: MemorySearch },
    ({ reading }, { params, query: { shared = false, query, limit = null } }) =>
      reading.searchMemory({ name: params.agent, shared }, query, limit),
  ),
  route(
    "GET /v1/agents/:agent/memory/:memory",
    "memory",
    "Returns one memory.",
    { query: SharedQuery, reply: MemoryView },
    ({ reading }, { params, query: { shared = false } }) =>
      reading.memory({ name: params.agent, shared }, params.memory),
  ),
];
