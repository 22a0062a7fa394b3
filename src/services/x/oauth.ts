/**
 * oauth.ts -- OAuth 1.0a (RFC 5849), signed with HMAC-SHA1: a request in the name of the user whose token it carries.
 *
 * The signature covers the method, the address, the parameters of the address and those of OAuth itself; a JSON body is not part
 * of it. Nothing here is kept or logged: the secrets go into the hash and nowhere else.
 */
import { createHmac } from "node:crypto";

export interface OAuthKeys {
  readonly consumerKey: string;
  readonly consumerSecret: string;
  readonly accessToken: string;
  readonly accessTokenSecret: string;
}
export interface Stamp {
  /** Never used twice within one second. */
  readonly nonce: string;
  readonly seconds: number;
}

/** The Authorization header. */
export function signRequest(method: string, url: URL, keys: OAuthKeys, { nonce, seconds }: Stamp): string {
  const own: readonly Pair[] = [
    ["oauth_consumer_key", keys.consumerKey],
    ["oauth_nonce", nonce],
    ["oauth_signature_method", "HMAC-SHA1"],
    ["oauth_timestamp", String(seconds)],
    ["oauth_token", keys.accessToken],
    ["oauth_version", "1.0"],
  ];
  const signature = signatureOf(method, url, own, keys);
  const fields = [...own, ["oauth_signature", signature] as const].map(([name, value]) => `${name}="${encode(value)}"`);
  return `OAuth ${fields.join(", ")}`;
}

type Pair = readonly [name: string, value: string];

function signatureOf(method: string, url: URL, own: readonly Pair[], keys: OAuthKeys): string {
  const pairs = [...own, ...url.searchParams].map(([name, value]) => [encode(name), encode(value)] as const);
  pairs.sort(([a, x], [b, y]) => order(a, b) || order(x, y));
  const parameters = pairs.map(([name, value]) => `${name}=${value}`).join("&");
  const base = [method.toUpperCase(), url.origin + url.pathname, parameters].map(encode).join("&");
  const key = `${encode(keys.consumerSecret)}&${encode(keys.accessTokenSecret)}`;
  return createHmac("sha1", key).update(base).digest("base64");
}

const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** RFC 3986: everything but letters, digits, "-", ".", "_" and "~". */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
