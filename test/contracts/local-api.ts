/**
 * local-api.ts -- the contract of every host's local API, whatever implements `Control`.
 *
 * `make` returns a Control without agents, and functions that add an agent and lengthen its log.
 */
import { describe, expect, it } from "@jest/globals";
import { Ajv } from "ajv";
import fc from "fast-check";
import type { Control, Reading } from "#api/control.ts";
import type { RouteDescription } from "#api/route.ts";
import { ALL_ROUTES } from "#api/routes.ts";
import { ErrorReply } from "#api/schemas.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Schema } from "#util/schema.ts";
import type { AgentView } from "#views/agent-view.ts";
import { type Reply, serve } from "../helpers/local-server.ts";
import { strict } from "../helpers/view-schemas.ts";

export interface ControlUnderTest extends AsyncDisposable {
  readonly control: Control;
  readonly reading: Reading;
  /** Makes an agent with at least one event, and resolves to its id. */
  makeAgent(name: string): Promise<string>;
  /** Makes the log of an agent longer by at least one event. */
  lengthen(id: string): Promise<void>;
}

export function describeLocalApi(name: string, make: () => Promise<ControlUnderTest>): void {
  describe(`the local API over ${name}`, () => {
    it("returns replies that match their schemas, and finds an agent by id and by name", async () => {
      await using host = await make();
      await using api = await serve(host.control, { reading: host.reading });
      const id = await host.makeAgent("reader");
      // The stream of changes has no end to wait for.
      const routes = ALL_ROUTES.filter(({ method, operation }) => method === "GET" && operation !== "changes");
      for (const { path } of routes.filter((route) => !/:(?!agent)/.test(route.path))) {
        const address = path.replace(":agent", id) + queryFor(path);
        expectReply(await api.ask("GET", address), "GET", address);
      }
      const byId = (await api.ask("GET", `/v1/agents/${id}`)).body as AgentView;
      const byName = (await api.ask("GET", `/v1/agents/${encodeURIComponent(byId.name)}`)).body as AgentView;
      expect([byId.id, byName.id]).toEqual([id, id]);
    });

    it("returns GOALD_NOT_FOUND for an unknown agent on every route", async () => {
      await using host = await make();
      await using api = await serve(host.control, { reading: host.reading });
      for (const { method, path } of ALL_ROUTES.filter((route) => route.path.includes(":agent"))) {
        const address = `${path.replace(":agent", "nobody").replace(/:\w+/g, "1")}${queryFor(path)}`;
        const reply = await api.ask(method, address, method === "GET" ? {} : bodyFor(path));
        expect([path, reply.status, codeOf(reply)]).toEqual([path, 404, "GOALD_NOT_FOUND"]);
        expect(validate(ErrorReply, reply.body)).toEqual([]);
      }
    });

    it("changes an agent's memory and the shared memory", async () => {
      await using host = await make();
      await using api = await serve(host.control, { reading: host.reading });
      const id = await host.makeAgent("minded");
      for (const [name, namespace] of [
        ["minded", id],
        ["shared", "shared"],
      ]) {
        const reply = await api.ask("POST", `/v1/agents/${name}/memory`, bodyFor("/memory"));
        expectReply(reply, "POST", `/v1/agents/${name}/memory`);
        expect(reply.body).toEqual({ changed: [{ id: `${namespace}/+1`, isNew: true }] });
      }
    });

    it("returns the log in pages, without gaps", async () => {
      await using host = await make();
      await using api = await serve(host.control, { reading: host.reading });
      const id = await host.makeAgent("paged");
      for (let more = 0; more < 5; more++) await host.lengthen(id);
      const numbers: number[] = [];
      for (let head = Infinity; numbers.length < head; ) {
        const { body } = await api.ask("GET", `/v1/agents/${id}/events?after=${numbers.length}&limit=2`);
        const page = body as { events: RecordedEvent[]; head: number };
        head = page.head;
        expect(page.events.length).toBeLessThanOrEqual(2);
        numbers.push(...page.events.map(({ seq }) => seq));
      }
      expect(numbers).toEqual(upTo(numbers.length));
    });

    it("streams every event once and in order, also to a reader that reconnects while the log grows", async () => {
      await using host = await make();
      await using api = await serve(host.control, { reading: host.reading, limits: { pageEvents: 3 } });
      let made = 0;
      const breaks = fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 4 });
      await fc.assert(
        fc.asyncProperty(breaks, fc.boolean(), async (pauses, byHeader) => {
          const id = await host.makeAgent(`follower-${++made}`);
          const seen: number[] = [];
          for (const more of pauses) {
            const last = seen.at(-1) ?? 0;
            const path = `/v1/agents/${id}/events${byHeader ? "" : `?after=${last}`}`;
            await using reader = await api.follow(path, byHeader && last > 0 ? { "last-event-id": String(last) } : {});
            for (let left = more; left > 0; left--) await host.lengthen(id);
            const { head } = await host.control.page(id, 0, 1);
            await reader.until(() => (reader.numbers.at(-1) ?? last) >= head);
            expect(reader.messages.map((message) => message.id)).toEqual(reader.numbers.map(String));
            seen.push(...reader.numbers);
          }
          expect(seen).toEqual(upTo(seen.length));
        }),
        { numRuns: 15 },
      );
    });

    it("CVE-2025-53944: never shows a reader of one agent an event of another", async () => {
      await using host = await make();
      await using api = await serve(host.control, { reading: host.reading });
      const [mine, other] = [await host.makeAgent("mine"), await host.makeAgent("other")];
      for (let more = 0; more < 3; more++) await host.lengthen(other);
      await using reader = await api.follow(`/v1/agents/${mine}/events`);
      for (let more = 0; more < 3; more++) {
        await host.lengthen(other);
        await host.lengthen(mine);
      }
      const own = await host.control.page(mine, 0, 1_000);
      await reader.until(() => reader.numbers.length >= own.head);
      expect(reader.messages.map(({ data }) => data)).toEqual(own.events);
      const { status } = await api.ask("GET", `/v1/agents/${mine}%2F..%2F${other}/events`);
      expect(status).toBe(404);
    });

    it("ends a stream with a bye event when the agent is removed or the host closes", async () => {
      await using host = await make();
      await using api = await serve(host.control, { reading: host.reading });
      const [gone, stays] = [await host.makeAgent("gone"), await host.makeAgent("stays")];
      await using first = await api.follow(`/v1/agents/${gone}/events`);
      await using second = await api.follow(`/v1/agents/${stays}/events`);
      await api.ask("DELETE", `/v1/agents/${gone}?force=true`);
      await first.ended;
      expect(first.messages.at(-1)).toEqual({ event: "bye", id: null, data: { reason: "The agent was removed." } });
      await api.server.close("The host goes down.");
      await second.ended;
      expect(second.messages.at(-1)).toEqual({ event: "bye", id: null, data: { reason: "The host goes down." } });
    });
  });
}

const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, at) => at + 1);
const codeOf = ({ body }: Reply): unknown => (body as { error?: { code?: unknown } } | undefined)?.error?.code;

/** Returns a body that the schemas of the route accept. */
function bodyFor(path: string): { readonly body?: unknown } {
  const end = path.split("/").at(-1) ?? "";
  const bodies: Readonly<Record<string, unknown>> = {
    messages: { from: "you", text: "hello" },
    goals: { goals: ["be there"] },
    settings: { stepLimit: 7 },
    plan: { edits: [{ kind: "add", parent: "0", goal: "look" }] },
    turns: { goals: ["go further"] },
    pause: { reason: "to look" },
    resume: {},
    stop: { graceMs: 0 },
    kill: {},
    approval: { verdict: "approved" },
    trust: { what: "all" },
    fork: { step: 0, name: "Forked", key: "k" },
    restore: { step: 0 },
    memory: { changes: [{ op: "add", kind: "note", text: "x", importance: 1, trust: "person" }], key: "k" },
  };
  return end in bodies ? { body: bodies[end] } : {};
}

/** Returns the query that a route needs. */
const queryFor = (path: string): string =>
  path.endsWith("/search") ? "?query=x" : path.endsWith("/restore-plan") ? "?step=0" : "";

/** Returns the route of an address: of several, the one with the fewest parameters. */
export function routeOf(method: string, path: string): RouteDescription | undefined {
  const plain = path.split("?")[0] ?? "";
  return ALL_ROUTES.filter(
    (route) => route.method === method && new RegExp(`^${route.path.replace(/:\w+/g, "[^/]+")}$`).test(plain),
  ).sort((a, b) => a.path.split(":").length - b.path.split(":").length)[0];
}

/** Fails when the reply does not match the table of routes, member by member. */
export function expectReply(reply: Reply, method: string, path: string): void {
  const found = routeOf(method, path);
  if (!found) throw new Error(`There is no route ${method} ${path}.`);
  expect([reply.status, reply.headers["content-type"]]).toEqual([found.status, "application/json; charset=utf-8"]);
  expect(
    validate(
      found.operation === "openapi" || found.operation === "events" ? found.reply : strict(found.reply),
      reply.body,
    ),
  ).toEqual([]);
}

/** Returns the validation errors of a value. */
export function validate(schema: Schema, value: unknown): readonly string[] {
  const ajv = new Ajv({
    allErrors: true,
    allowUnionTypes: true,
    discriminator: true,
    formats: { "date-time": /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ },
  });
  return ajv.validate(schema, value) ? [] : [ajv.errorsText()];
}
