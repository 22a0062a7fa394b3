import { describe, expect, it } from "@jest/globals";
import { openMemoryLate } from "#app/lazy-memory.ts";
import type { Home } from "#config/home.ts";
import { loadSettings } from "#config/load-settings.ts";
import type { MemoryRow } from "#core/ports/memory.ts";

const ROW = {
  id: "a/1",
  namespace: "a",
  kind: "step",
  seq: 1,
  step: 1,
  text: "Paris has rain.",
  at: "2026-11-20T10:00:00.000Z",
};
const QUERY = { agent: "a", texts: ["rain"], count: 5, excludeSteps: new Set<number>() };

const SERVER = { OPENAI_API_KEY: "sk-0123456789abcdefghij", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };

/** Opens memory that asks a server for embeddings, and counts its requests and its readings of the store. */
async function memoryOf(rows: readonly unknown[], env: Readonly<Record<string, string>> = SERVER) {
  const { settings } = await loadSettings({ env });
  let requests = 0;
  let readings = 0;
  const send = async (): Promise<Response> => {
    requests++;
    throw new Error("connection refused");
  };
  const memory = openMemoryLate({
    home: { root: "/nowhere", privateFolder: "/nowhere/.goald" } as Home,
    settings,
    server: { baseUrl: settings.openai.baseUrl, apiKey: settings.openai.apiKey ?? "", http: { to: () => send } },
    store: {
      memories: async (namespace, after) => {
        readings++;
        return namespace === "a" && after === 0 ? (rows as MemoryRow[]) : [];
      },
      memoryVersion: async () => ({ seq: 0, curation: 0, sha: "" }),
      memory: async (_namespace, id) => (rows as MemoryRow[]).find((row) => row.id === id),
      saveVectors: async () => undefined,
    },
    report: () => undefined,
  });
  return { memory, requests: () => requests, readings: () => readings };
}

describe("long-term memory", () => {
  const { signal } = new AbortController();

  it("asks for no embeddings while an agent has no memories", async () => {
    const { memory, requests } = await memoryOf([]);
    expect(await memory.recall(QUERY, signal)).toEqual([]);
    expect(requests()).toBe(0);
    expect(memory.remote).toBe(true);
    await memory.close();
  });

  const row = {
    ...ROW,
    change: 1,
    trust: "agent",
    importance: 0.5,
    pinned: false,
    forgotten: null,
    supersedes: null,
    supersededBy: null,
    source: null,
    embedder: "text-embedding@1536",
    vector: Float32Array.of(1),
  };

  it.each<[what: string, requests: number, row: object, env: Readonly<Record<string, string>>]>([
    ["asks for embeddings when its rows have vectors of a server", 1, {}, SERVER],
    [
      "sends nothing for a person's search of rows without a server's vectors",
      0,
      { embedder: null, vector: null },
      SERVER,
    ],
    [
      "asks for embeddings of such rows when the settings say so",
      1,
      { embedder: null, vector: null },
      { ...SERVER, GOALD_MEMORY_EMBEDDER: "openai" },
    ],
    ["sends nothing without a key and a server", 0, {}, {}],
  ])("%s", async (_what, sent, change, env) => {
    const { memory, requests } = await memoryOf([{ ...row, ...change }], env);
    expect(await memory.recall(QUERY, signal)).toMatchObject([{ id: "a/1" }]);
    expect(requests()).toBe(sent);
    await memory.close();
  });

  it("embeds nothing, searches nothing and reads nothing when no memory is to be recalled", async () => {
    const { memory, requests, readings } = await memoryOf([row]);
    expect(await memory.recall({ ...QUERY, count: 0 }, signal)).toEqual([]);
    expect([requests(), readings()]).toEqual([0, 0]);
    await memory.recall(QUERY, signal);
    const before = [requests(), readings()];
    expect(await memory.recall({ ...QUERY, texts: ["snow"], count: 0 }, signal)).toEqual([]);
    expect([requests(), readings()]).toEqual(before);
    await memory.close();
  });
});
