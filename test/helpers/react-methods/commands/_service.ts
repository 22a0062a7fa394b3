/** _service.ts -- sends the requests of the methods. The file _origin beside it has the address of their server. */
import { readFileSync } from "node:fs";

const origin = (): string => readFileSync(new URL("_origin", import.meta.url), "utf8").trim();

/** Returns the JSON of a service. Rejects with the status and the text of a refusal. */
export async function get(
  path: string,
  query: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<unknown> {
  const words = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return (await requireOk(await fetch(`${origin()}/${path}?${words}`, { signal }))).json();
}

export async function post(path: string, body: object, signal: AbortSignal): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  return (
    await requireOk(await fetch(`${origin()}/${path}`, { method: "POST", headers, body: JSON.stringify(body), signal }))
  ).json();
}

export const download = async (url: string, signal: AbortSignal): Promise<Uint8Array> =>
  new Uint8Array(await (await requireOk(await fetch(url, { signal }))).arrayBuffer());

async function requireOk(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw new Error(`the service answered ${response.status}: ${await response.text()}`);
}

/** A result whose text is the value as JSON. */
export const observe = (value: unknown, artifacts: readonly string[] = []) => ({
  status: "ok",
  text: typeof value === "string" ? value : JSON.stringify(value),
  value,
  source: "web",
  artifacts,
});
