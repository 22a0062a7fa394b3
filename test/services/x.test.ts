import { describe, expect, it } from "@jest/globals";
import { signRequest } from "#services/x/oauth.ts";
import { countPostLength } from "#services/x/x-posts.ts";

const signatureIn = (header: string): string => decodeURIComponent(/oauth_signature="([^"]+)"/.exec(header)?.[1] ?? "");

/** X's own documented example, "Creating a signature": a form's field counts as one of the address. */
const KEYS = {
  consumerKey: "xvz1evFS4wEEPTGEFPHBog",
  consumerSecret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw",
  accessToken: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
  accessTokenSecret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE",
};
const STAMP = { nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", seconds: 1318622958 };
const FIELDS = "include_entities=true&status=Hello%20Ladies%20%2B%20Gentlemen%2C%20a%20signed%20OAuth%20request%21";

describe("a signature", () => {
  it.each([
    ["https://api.twitter.com/1.1/statuses/update.json", "hCtSmYh+iHYCEqBWrE7C7hYmtUk="],
    ["https://api.twitter.com/1/statuses/update.json", "tnnArxj06cWHq44gCs1OSKk/jLY="],
  ])("of the published example for %s is the published one", (address, published) => {
    const header = signRequest("post", new URL(`${address}?${FIELDS}`), KEYS, STAMP);
    expect(signatureIn(header)).toBe(published);
  });

  it("follows the order of the standard when names repeat and values need escapes", () => {
    const sign = (query: string): string =>
      signatureIn(signRequest("GET", new URL(`http://example.com/request?${query}`), KEYS, STAMP));
    expect(sign("b=2&a=x!y&a=%E2%9C%93")).toBe(sign("a=%e2%9c%93&b=2&a=x%21y"));
    expect(sign("a=1&b=2")).not.toBe(sign("a=2&b=1"));
  });

  it("differs for another time, nonce, method, address or secret", () => {
    const url = new URL("https://api.x.com/2/tweets");
    const all = [
      signRequest("POST", url, KEYS, STAMP),
      signRequest("GET", url, KEYS, STAMP),
      signRequest("POST", new URL("https://api.x.com/2/other"), KEYS, STAMP),
      signRequest("POST", url, KEYS, { ...STAMP, nonce: "n" }),
      signRequest("POST", url, KEYS, { ...STAMP, seconds: 1 }),
      signRequest("POST", url, { ...KEYS, consumerSecret: "other" }, STAMP),
      signRequest("POST", url, { ...KEYS, accessTokenSecret: "other" }, STAMP),
    ].map(signatureIn);
    expect(new Set(all).size).toBe(all.length);
  });

  it("shows no secret", () => {
    const header = signRequest("POST", new URL("https://api.x.com/2/tweets"), KEYS, STAMP);
    expect(header).not.toContain(KEYS.consumerSecret);
    expect(header).not.toContain(KEYS.accessTokenSecret);
  });
});

describe("the length of a post, as X counts", () => {
  it.each<[text: string, length: number]>([
    ["hello", 5],
    ["", 0],
    ["Grüße, Ελλάδα, Привет", 21],
    ["日本語", 6],
    ["한국어", 6],
    ["“quoted” – so…", 15],
    ["e\u0301", 1],
    ["👍", 2],
    ["👩‍👩‍👧‍👦", 2],
    ["🇩🇪 ok", 5],
    ["see https://example.com/a/very/long/path?with=query#and-fragment", 27],
    ["http://a.b. And (https://c.d/e).", 23 + 1 + 6 + 23 + 2],
    ["a\nb", 3],
  ])("of %j is %i", (text, length) => expect(countPostLength(text)).toBe(length));

  it("takes linear time for text that looks like addresses", () => {
    expect(countPostLength("https://".repeat(20_000))).toBeGreaterThan(0);
    expect(countPostLength(`https://${".".repeat(100_000)}`)).toBeGreaterThan(0);
  });
});
