/** _service.ts -- sends the requests of the methods. The file _origin beside it has the address of their server. */
import { readFileSync } from "node:fs";
import type { CommandContext } from "#core/command.ts";

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

/** Sends the bytes of a picture, if one is given, in the place of its path. */
export async function post(
  path: string,
  message: Args,
  { workspace, signal }: CommandContext,
  picture = "image",
): Promise<unknown> {
  const file = message[picture];
  const bytes = file === undefined ? undefined : await workspace.read(String(file));
  const body = JSON.stringify({ ...message, [picture]: bytes && Buffer.from(bytes).toString("base64") });
  const headers = { "content-type": "application/json" };
  return (await requireOk(await fetch(`${origin()}/${path}`, { method: "POST", headers, body, signal }))).json();
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

type Args = Readonly<Record<string, unknown>>;
interface Words {
  readonly name: string;
  readonly summary: string;
  /** Arguments that a call may leave out. */
  readonly optional?: readonly string[];
  readonly args?: Readonly<Record<string, object>>;
  readonly returns?: object;
}

/** An object that has all of these members. */
export const every = (properties: Readonly<Record<string, object>>) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});

/** What all methods have in common: an unlisted command that returns a text, unless it says otherwise. */
export const method = ({ args = {}, optional = [], ...words }: Words) => {
  const required = Object.keys(args).filter((name) => !optional.includes(name));
  return { listed: false, args: { type: "object", properties: args, required }, returns: { type: "string" }, ...words };
};

/** A method that asks a service for JSON. */
export const asking = (path: string, words: Words) => ({
  ...method(words),
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  sends: Object.keys(words.args ?? {}),
  effect: "pure",
  run: async (args: Args, { signal }: CommandContext) => observe(await get(path, args, signal)),
});

/** A method that posts its arguments to a service. `picture`: the argument with the path of a picture. */
export const posting = (path: string, words: Words, picture?: string) => ({
  ...method(words),
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  sends: Object.keys(words.args ?? {}),
  effect: "at-most-once",
  run: async (args: Args, context: CommandContext) => observe(await post(path, args, context, picture)),
});
