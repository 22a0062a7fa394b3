/** memory-routes.ts -- the HTTP routes of `Reading` for memory. */
import { closed, flag, oneOf, type Schema, text } from "#util/schema.ts";
import { MEMORY_KINDS, MemoryList, MemoryPage, MemorySearch, MemoryView } from "#views/memory-view.ts";
import { DEFAULT_PAGE, type Route, route } from "./route.ts";
import { eventNumber, pageSize } from "./schemas.ts";

const DEFAULT_MEMORIES = 50;
const SharedQuery = closed({ shared: flag }, "shared");
const memoryQuery = { shared: flag, all: flag, kind: oneOf(...MEMORY_KINDS), limit: pageSize };
const searchText: Schema<string> = { ...text, minLength: 1, maxLength: 10_000 };

export const MEMORY_ROUTES: readonly Route[] = [
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
