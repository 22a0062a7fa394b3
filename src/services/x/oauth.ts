/**
 * oauth.ts -- signs requests with OAuth 1.0a (RFC 5849, HMAC-SHA1) for the user who owns the access token.
 *
 * The signature covers the method, the address, its parameters and those of OAuth, but not a JSON body. The secrets are
 * only hashed, never stored or logged.
 */
import { createHmac } from "node:crypto";

export interface OAuthKeys {
  readonly consumerKey: string;
  readonly consumerSecret: string;
  readonly accessToken: string;
  readonly accessTokenSecret: string;
}
export interface OAuthStamp {
  /** Unique within its second. */
  readonly nonce: string;
  readonly seconds: number;
}

/** Returns the Authorization header. */
export function signRequest(method: string, url: URL, keys: OAuthKeys, { nonce, seconds }: OAuthStamp): string {
  const oauthParameters: readonly (readonly [name: string, value: string])[] = [
    ["oauth_consumer_key", keys.consumerKey],
    ["oauth_nonce", nonce],
    ["oauth_signature_method", "HMAC-SHA1"],
    ["oauth_timestamp", String(seconds)],
    ["oauth_token", keys.accessToken],
    ["oauth_version", "1.0"],
  ];
  const pairs = [...oauthParameters, ...url.searchParams].map(
    ([name, value]) => [percentEncode(name), percentEncode(value)] as const,
  );
  pairs.sort(([a, x], [b, y]) => compareText(a, b) || compareText(x, y));
  const parameters = pairs.map(([name, value]) => `${name}=${value}`).join("&");
  const base = [method.toUpperCase(), url.origin + url.pathname, parameters].map(percentEncode).join("&");
  const key = `${percentEncode(keys.consumerSecret)}&${percentEncode(keys.accessTokenSecret)}`;
  const signature = createHmac("sha1", key).update(base).digest("base64");
  const fields = [...oauthParameters, ["oauth_signature", signature] as const].map(
    ([name, value]) => `${name}="${percentEncode(value)}"`,
  );
  return `OAuth ${fields.join(", ")}`;
}

const compareText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Percent-encodes all but letters, digits, "-", ".", "_" and "~" (RFC 3986). */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
