/**
 * x-server.ts -- X's API v2 on loopback, strict in its input: it computes each signature again from the request
 * and the shared secrets, and rejects repeated posts and nonces.
 */
import { createHmac } from "node:crypto";
import { createAjv } from "#util/schema.ts";
import type { Answer } from "./openai-answers.ts";
import { type ServiceRequest, type ServiceServer, startServiceServer } from "./service-server.ts";

export const X_KEYS = {
  consumerKey: "consumer-key-0123456789",
  consumerSecret: "consumer+secret/with=signs&more",
  accessToken: "4242-access-token",
  accessTokenSecret: "token-secret-ABCDEF",
};
export const X_ENVIRONMENT = {
  TW_CONSUMER_KEY: X_KEYS.consumerKey,
  TW_CONSUMER_SECRET: X_KEYS.consumerSecret,
  TW_ACCESS_TOKEN: X_KEYS.accessToken,
  TW_ACCESS_TOKEN_SECRET: X_KEYS.accessTokenSecret,
};

const isPost = createAjv({}).compile<{ text: string }>({
  type: "object",
  properties: { text: { type: "string", minLength: 1 } },
  required: ["text"],
  additionalProperties: false,
});

export interface XServer extends ServiceServer {
  readonly posts: readonly string[];
  /** Violations of the API, each a sentence. */
  readonly violations: readonly string[];
}

/** `reply` may replace X's own answer. */
export async function startXServer(
  reply: (text: string) => Answer | undefined = () => undefined,
  now: () => number = Date.now,
): Promise<XServer> {
  const posts: string[] = [];
  const violations: string[] = [];
  const nonces = new Set<string>();
  const server: ServiceServer = await startServiceServer((request) => {
    const fields = fieldsOf(request.headers.authorization ?? "");
    const problem = problemWith(request, fields, nonces, server.origin, now());
    if (problem) {
      violations.push(problem);
      return problemAnswer(401, "Unauthorized", "Unauthorized");
    }
    const body: unknown = JSON.parse(request.body.toString("utf8"));
    if (!isPost(body)) {
      violations.push(JSON.stringify(isPost.errors));
      return problemAnswer(400, "Invalid Request", "One or more parameters to your request was invalid.");
    }
    const { text } = body;
    const scripted = reply(text);
    if (scripted !== undefined) return scripted;
    if (posts.includes(text))
      return problemAnswer(403, "Forbidden", "You are not allowed to create a Tweet with duplicate content.");
    const id = `17000000000000000${String(posts.push(text)).padStart(2, "0")}`;
    return { status: 201, body: { data: { id, text, edit_history_tweet_ids: [id] } } };
  });
  return Object.assign(server, { posts, violations });
}

export const problemAnswer = (status: number, title: string, detail: string, headers = {}): Answer => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: { title, detail, type: "about:blank", status },
});

function problemWith(
  { method, path, headers }: ServiceRequest,
  fields: ReadonlyMap<string, string>,
  nonces: Set<string>,
  origin: string,
  now: number,
): string | undefined {
  if (method !== "POST" || path !== "/2/tweets") return `${method} ${path}`;
  if (headers["content-type"] !== "application/json") return `content type ${headers["content-type"]}`;
  const names = ["consumer_key", "nonce", "signature", "signature_method", "timestamp", "token", "version"];
  if ([...fields.keys()].sort().join() !== names.map((name) => `oauth_${name}`).join())
    return `fields ${[...fields.keys()]}`;
  const nonce = fields.get("oauth_nonce") ?? "";
  if (nonces.has(nonce) || nonce.length < 16) return `nonce ${nonce}`;
  nonces.add(nonce);
  if (Math.abs(Number(fields.get("oauth_timestamp")) - now / 1000) > 300)
    return `timestamp ${fields.get("oauth_timestamp")}`;
  if (fields.get("oauth_signature") !== signature(method, origin + path, fields)) return "signature";
  return undefined;
}

function fieldsOf(header: string): ReadonlyMap<string, string> {
  if (!header.startsWith("OAuth ")) return new Map();
  return new Map(
    header
      .slice(6)
      .split(/,\s*/)
      .map((field) => /^(\w+)="([^"]*)"$/.exec(field))
      .map((match) => [match?.[1] ?? "", decodeURIComponent(match?.[2] ?? "")] as const),
  );
}

/** RFC 5849, implemented byte by byte and independently of goald's own code. */
function signature(method: string, address: string, fields: ReadonlyMap<string, string>): string {
  const signed = [...fields].filter(([name]) => name !== "oauth_signature");
  const pairs = signed.map(([name, value]) => `${octets(name)}=${octets(value)}`).sort();
  const base = `${method}&${octets(address)}&${octets(pairs.join("&"))}`;
  const key = `${octets(X_KEYS.consumerSecret)}&${octets(X_KEYS.accessTokenSecret)}`;
  return createHmac("sha1", key).update(base).digest("base64");
}

const octets = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9\-._~]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
