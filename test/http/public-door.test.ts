import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "@jest/globals";
import { Agent, fetch as unguarded } from "undici";
import { isGoaldError } from "#core/errors.ts";
import { createHttp } from "#http/http.ts";
import { isNeverAllowed, isPublicAddress } from "#http/public-address.ts";
import type { PublicOptions } from "#http/public-door.ts";
import { failureOf, refusalOf, useShared } from "../helpers/folder.ts";
import { listenOnBoth, resolver } from "../helpers/loopback.ts";

const CASES = JSON.parse(readFileSync(new URL("../data/url_cases.json", import.meta.url), "utf8")) as {
  readonly ok: readonly string[];
  readonly rewrites: readonly (readonly [string, string])[];
  readonly bad: readonly (readonly [string, string])[];
  readonly local_must_be_refused: readonly string[];
};
/** `http://name/ (what it resolves to)`: the address alone. */
const LOCAL = CASES.local_must_be_refused.map((text) => text.replace(/ \(.*\)$/, ""));
const LOOPBACK = [["127.0.0.1"]];
const OF_LOOPBACK = ["localhost", "localhost.", "localtest.me", "a.test.example", "b.test.example"];
const NAMES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  ...Object.fromEntries(OF_LOOPBACK.map((name) => [name, LOOPBACK])),
  "six.example": [["::1"]],
  "mapped.example": [["::ffff:127.0.0.1"]],
  "nat64.example": [["64:ff9b::7f00:1"]],
  "mixed.example": [["8.8.8.8", "127.0.0.1"]],
  "zero.example": [["0.0.0.0"]],
  "metadata.example": [["169.254.169.254"]],
  "empty.example": [[]],
};

/** What the site answers in this test. */
let answer: RequestListener;
const site = useShared(() => listenOnBoth((request, response) => answer(request, response)));
afterEach(() => {
  answer = (_request, response) => response.end("reached");
});
answer = (_request, response) => response.end("reached");

/** The port of the site in the place where a browser would look for it. */
const withPort = (text: string): string => text.replace(/^(https?:\/\/[^/?#\\]*?):?(?=[/?#\\]|$)/i, `$1:${site.port}`);
const door = (options: PublicOptions = {}, limits = {}) =>
  createHttp({}, { lookup: resolver(NAMES).lookup, ports: [80, 443, site.port], ...options }).public(limits);
const at = (host: string, path = "/"): string => `http://${host}:${site.port}${path}`;
/** A site of the public web, as far as the door can tell: one that a person has opened. */
const A = () => at("a.test.example", "");
const B = () => at("b.test.example", "");
const open = (limits = {}, options: PublicOptions = {}) => door({ allow: [A(), B()], ...options }, limits);

async function expectRefused(promise: Promise<unknown>): Promise<string> {
  const error = await failureOf(promise);
  expect(error).toMatchObject({ name: "GoaldError", code: "GOALD_HTTP_REFUSED" });
  return String(error);
}

/** Every way to write this machine that has been tried, under the site's own port. */
const FORMS = [
  ...["http://127.0.0.1", "http://127.1", "http://2130706433", "http://0x7f000001", "http://0x7f.1"],
  ...["http://0177.0.0.1", "http://017700000001", "http://0", "http://0.0.0.0", "http://0000", "http://127.0.0.1."],
  ...["http://①②⑦.⓪.⓪.①", "http://127。0。0。1", "http://[::1]", "http://[::]", "http://[0:0:0:0:0:0:0:1]"],
  ...["http://[::ffff:127.0.0.1]", "http://[::ffff:7f00:1]", "http://[::ffff:0:0]", "http://localhost"],
  ...["http://LOCALHOST", "http://localhost.", "http://ⓛocalhost", "http://localtest.me", "http://six.example"],
  ...["http://mapped.example", "http://zero.example", "HTTP://127.0.0.1", "https://127.0.0.1"],
  ...["https://localtest.me", "http:\\\\127.0.0.1", "http:127.0.0.1", "http:/127.0.0.1", "http:///127.0.0.1"],
];

describe("this machine and its networks (CVE-2025-0454, CVE-2025-22603, CVE-2026-56663)", () => {
  it.each([...LOCAL, ...FORMS])("are not reached by %s", async (text) => {
    const before = site.connections;
    await expectRefused(door()(text));
    await expectRefused(door()(withPort(text)));
    expect(site.connections).toBe(before);
  });

  const RESOLVED = ["mixed.example", "nat64.example", "mapped.example", "metadata.example"];
  const UNRESOLVED = ["LOCALHOST.", "a.localhost", "printer", "printer.", "nas.local", "db.internal", "x.home.arpa"];
  it.each([...RESOLVED, ...UNRESOLVED, "metadata.google.internal"])("are not reached by the name %s", async (name) => {
    const before = site.connections;
    const message = await expectRefused(door()(at(name)));
    expect(message).toContain("is not on the public Internet");
    expect(site.connections).toBe(before);
  });

  it.each([
    ["http://8.8.8.8/", "8.8.8.8"],
    ["http://own.example/", "8.8.8.8"],
    ["http://[::ffff:8.8.8.8]/", "8.8.8.8"],
    ["http://[2606:4700::1]/", "2606:4700:0:0::0001"],
  ])("are not reached by a public address of this machine: %s", async (text, own) => {
    const { lookup } = resolver({ "own.example": [["8.8.8.8"]] });
    await expectRefused(door({ lookup, ownAddresses: () => ["127.0.0.1", own] })(text));
  });

  it("are reached by all of these forms without the guard", async () => {
    const { lookup } = resolver(NAMES);
    const meaning =
      /^(?:127\.0\.0\.1|0\.0\.0\.0|\[::1?\]|\[::ffff:(?:7f00:1|0:0)\]|localhost\.?|\w+\.example|localtest\.me)$/;
    const isReachable = (hostname: string): boolean => site.hasIPv6 || !/^\[::1?\]$|^six\./.test(hostname);
    const isOurs = ({ protocol, hostname }: URL): boolean =>
      /^https?:$/.test(protocol) && meaning.test(hostname) && isReachable(hostname);
    const forms = [...LOCAL, ...FORMS].filter((text) => URL.canParse(text) && isOurs(new URL(text)));
    const missed: string[] = [];
    for (const text of forms) {
      const url = new URL(text);
      [url.username, url.port] = ["", String(site.port)];
      const agent = new Agent({ connect: { lookup, timeout: 1_000 } });
      const before = site.connections;
      await failureOf(unguarded(url, { dispatcher: agent }).then((response) => response.text()));
      if (site.connections === before) missed.push(text);
      await agent.destroy();
    }
    expect(forms.length).toBeGreaterThan(45);
    expect(missed).toEqual([]);
  });
});

describe("an invalid address", () => {
  it("has more than 2,000 characters", async () => {
    const longest = A().padEnd(2_000, "/a");
    expect(await (await open()(longest)).text()).toBe("reached");
    const message = await expectRefused(open()(`${longest}a`));
    expect(message).toContain("An address of 2001 characters is too long; the longest is 2000.");
  });

  it.each([
    ...CASES.bad.map(([text]) => [text, text, "nothing"] as const),
    ["a password", "http://user:hunter2@a.test.example/", "hunter2"],
    ["a tab in the name", "http://secret\tplace.com/", "place"],
    ["a backslash", "http://example.com\\@127.0.0.1/", "127"],
    ["a port of another service", "http://example.com:6379/", "nothing"],
    ["a web socket", "ws://example.com/", "nothing"],
    ["a blob", "blob:http://example.com/x", "nothing"],
    ["a third slash", "http:///a.test.example/", "nothing"],
    ["an empty part in its name", "http://localhost../", "localhost"],
    ["nothing before the first dot", "https://.com/", "nothing"],
    ["a name for everybody", "https://*.example.com/", "nothing"],
    ["a sign in its name", "https://a$(id),b.example.com/", "nothing"],
    ["a part of a name that is too long", `https://${"a".repeat(64)}.example.com/`, "nothing"],
    ["a name that is too long", `https://${"a.".repeat(127)}com/`, "nothing"],
    ["a browser's own scheme", "view-source:http://example.com/", "nothing"],
    ["a zone", "http://[fe80::1%25eth0]/", "eth0"],
  ])("with %.60s is refused before a name is resolved, and repeats no secret", async (_title, text, hidden) => {
    const { lookup, asked } = resolver(NAMES);
    expect(await expectRefused(door({ lookup })(text))).not.toContain(hidden);
    expect(asked).toEqual([]);
  });

  it.each([
    [
      "a port",
      "http://example.com:3000/",
      "A person who wants agents to reach it can name that origin in the setting web.allow.",
    ],
    ["a user name", "http://ada@example.com/", "Leave them out."],
    ["a blank", "http://example.com/a b", "without blanks and backslashes"],
    ["a name for everybody", "https://*.example.com/", "such as https://example.com/page"],
  ])("with %s is refused with what to do instead", async (_title, text, remedy) => {
    const { message, hint } = await refusalOf(door()(text));
    expect(`${message} ${hint}`).toContain(remedy);
  });

  it.each([...CASES.ok, "http://localhost.example.com/", "http://mylocal.de/"])("%s is requested", async (text) => {
    const { lookup, asked } = resolver({});
    expect(isGoaldError(await failureOf(door({ lookup })(text)))).toBe(false);
    expect(asked).toEqual([new URL(text).hostname]);
  });

  it("loses its fragment", async () => {
    for (const [given, sent] of CASES.rewrites) {
      const path = (text: string): string => new URL(text).pathname + new URL(text).search + new URL(text).hash;
      const response = await open()(A() + path(given));
      expect(response.url).toBe(A() + path(sent));
      await response.text();
    }
  });
});

describe("origins that the settings allow", () => {
  it("are requested, with exactly their port, even if private", async () => {
    expect(await (await open()(`${A()}/x`)).text()).toBe("reached");
    const own = door({ allow: [at("127.0.0.1", "")], ports: [80] });
    expect(await (await own(at("127.0.0.1"))).text()).toBe("reached");
    await expectRefused(own(at("localhost")));
    await expectRefused(own(at("[::1]")));
    await expectRefused(own("http://127.0.0.1/"));
    expect(["127.0.0.1", "192.168.1.5", "::1", "fd00::1"].filter(isNeverAllowed)).toEqual([]);
  });

  const MAPPED = ["[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]"];
  const METADATA = ["169.254.169.254", "169.254.0.1", ...MAPPED, "168.63.129.16", "metadata.example"];
  it.each([...METADATA, "metadata.google.internal"])("are never cloud metadata: %s", async (host) => {
    await expectRefused(door({ allow: [at(host, "")] })(at(host)));
  });
});

describe("a name that changes its address (CVE-2025-31490)", () => {
  it("is resolved once per connection: the checked address is connected to", async () => {
    const { lookup, asked } = resolver({ "a.test.example": [["127.0.0.1"], ["169.254.169.254"]] });
    await (await open({}, { lookup })(A())).text();
    expect(asked).toEqual(["a.test.example"]);
    const again = createHttp({}, { lookup, allow: [A()] }).public();
    await expectRefused(again(A()));
  });

  it("gets through a check that is separate from the connection", async () => {
    // Public when it is looked at, this machine when it is connected to.
    const { lookup } = resolver({ "rebind.example": [["8.8.8.8"], ["127.0.0.1"]] });
    const looking = Promise.withResolvers<unknown>();
    lookup("rebind.example", { all: true }, (_error, found) => looking.resolve(found));
    const seen = await looking.promise;
    expect(seen).toMatchObject([{ address: "8.8.8.8" }]);
    const agent = new Agent({ connect: { lookup } });
    const before = site.connections;
    await (await unguarded(at("rebind.example"), { dispatcher: agent })).text();
    expect(site.connections).toBe(before + 1);
    await agent.destroy();
  });
});

describe("a redirect (CVE-2025-31491)", () => {
  const to =
    (location: string, status = 302): RequestListener =>
    (request, response) =>
      request.url === "/from" ? response.writeHead(status, { location }).end() : response.end("reached");

  it.each([
    ["this machine", () => at("127.0.0.1")],
    ["this machine by another name", () => at("localtest.me")],
    ["a mapped address", () => at("[::ffff:127.0.0.1]")],
    ["the other protocol's loopback", () => at("[::1]")],
    ["a cloud's metadata", () => "http://169.254.169.254/latest/meta-data/"],
    ["a file", () => "file:///etc/passwd"],
    ["data", () => "data:text/html,x"],
    ["a port of another service", () => "http://example.com:6379/"],
    ["a place with credentials", () => "http://user:pass@example.com/"],
    ["two readings of an address", () => `//localhost:${site.port}\\@google.com/`],
    ["nowhere", () => "http://["],
  ])("to %s is refused", async (_title, target) => {
    answer = to(target());
    const before = site.connections;
    await expectRefused(open()(`${A()}/from`));
    // The one of the first request; a connection may also have been kept.
    expect(site.connections).toBeLessThanOrEqual(before + 1);
  });

  it("within the public web is followed, and the final address is returned", async () => {
    answer = to(`${B()}/caf\u00c3\u00a9?x=1#y`);
    const response = await open()(`${A()}/from`);
    expect([response.url, await response.text()]).toEqual([`${B()}/caf%C3%A9?x=1`, "reached"]);
  });

  it("is not followed a sixth time", async () => {
    let asked = 0;
    answer = (request, response) => {
      asked++;
      response.writeHead(302, { location: `/${Number(request.url?.slice(1)) + 1}` }).end();
    };
    expect(await expectRefused(open()(`${A()}/0`))).toContain("More than 5 redirects");
    expect(asked).toBe(6);
  });

  it("drops possible credentials at another origin, even if it leads back", async () => {
    const seen: unknown[] = [];
    answer = ({ url, headers }, response) => {
      const { authorization, cookie, accept } = headers;
      seen.push([url, authorization, cookie, headers["proxy-authorization"], headers["x-api-key"], accept]);
      const location = { "/from": `${A()}/same`, "/same": `${B()}/other`, "/other": `${A()}/back` }[url ?? ""];
      if (location) response.writeHead(307, { location, "set-cookie": "session=1" }).end();
      else response.end("reached");
    };
    const secrets = { Authorization: "a", Cookie: "c", "Proxy-Authorization": "p", "X-Api-Key": "k" };
    await (await open()(`${A()}/from`, { headers: { ...secrets, accept: "text/html" } })).text();
    const [all, none] = [["a", "c", "p", "k"], Array(4).fill(undefined)];
    const given = { "/from": all, "/same": all, "/other": none, "/back": none };
    expect(seen).toEqual(Object.entries(given).map(([path, values]) => [path, ...values, "text/html"]));
  });

  it.each([
    [301, "GET", ""],
    [302, "GET", ""],
    [303, "GET", ""],
    [307, "POST", "q=1"],
    [308, "POST", "q=1"],
  ])("of a form with %i is a %s of the same origin", async (status, method, sent) => {
    answer = async (request, response) => {
      if (request.url === "/from") {
        response.writeHead(status, { location: "/to" }).end();
        return;
      }
      const body = Buffer.concat(await Array.fromAsync<Buffer>(request)).toString();
      response.end(`${request.method} ${body} ${request.headers["content-type"] ?? ""}`.trim());
    };
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const response = await open()(`${A()}/from`, { method: "POST", body: "q=1", headers });
    expect(await response.text()).toBe(`${method} ${sent} ${sent ? headers["content-type"] : ""}`.trim());
  });

  it("does not send a form to another origin", async () => {
    answer = to(`${B()}/to`, 307);
    await expectRefused(open()(`${A()}/from`, { method: "POST", body: "q=1" }));
  });

  it(`is returned with redirect: "manual"`, async () => {
    answer = to("/to");
    const response = await open()(`${A()}/from`, { redirect: "manual" });
    expect([response.status, response.headers.get("location"), response.url]).toEqual([302, "/to", `${A()}/from`]);
    await response.body?.cancel();
  });
});

describe("the limits of a page", () => {
  it.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
    ["gzip, gzip", (bytes: Buffer) => gzipSync(gzipSync(bytes))],
  ])("count decompressed bytes: a %s bomb of 16 MB is aborted at the limit", async (encoding, pack) => {
    const bomb = pack(Buffer.alloc(16 * 1024 * 1024));
    answer = (_request, response) => response.writeHead(200, { "content-encoding": encoding }).end(bomb);
    const response = await open()(A());
    let read = 0;
    const reading = (async () => {
      for await (const piece of response.body ?? []) read += piece.byteLength;
    })();
    expect(isGoaldError(await failureOf(reading), "GOALD_HTTP_TOO_LARGE")).toBe(true);
    expect(read).toBeLessThanOrEqual(5 * 1024 * 1024);
  });

  it("reject an invalid status, as some sites send to robots", async () => {
    answer = (_request, response) => response.writeHead(999).end("no");
    expect(await failureOf(open()(A()))).toMatchObject({ code: "GOALD_WEB" });
  });
});

/** Written by hand from the registries of IANA: the edges of each range, and each way to write or wrap an address. */
const PRIVATE = [
  ...["0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1"],
  ...["127.255.255.254", "169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255"],
  ...["192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255"],
  ...["198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
  ...["100.100.100.200", "192.0.0.192", "168.63.129.16", "::", "::1", "::127.0.0.1", "::7f00:1", "::8.8.8.8"],
  ...["::808:808", "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:10.0.0.1", "::ffff:169.254.169.254"],
  ...["::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8"],
  ...["64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::1", "2001::1", "2001:0:808:808::1", "2001:db8::1"],
  ...["2001:2::1", "2001:10::1", "2001:20::1", "100::1", "fc00::1", "fd00::1", "fdff::1", "fe80::1"],
  ...["fe80::1%eth0", "febf::1", "fec0::1", "ff02::1", "fd00:ec2::254", "4000::1", "5f00::1", "3fff::1", "1fff::1"],
  ...["2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:a00:1", "", "localhost", "127.1", "0x7f.0.0.1"],
  ...["2130706433", "0177.0.0.1", "8.8.8", "1.1.1.1/32", "::g"],
];
const PUBLIC = [
  ...["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"],
  ...["128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255"],
  ...["192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15", "2001:4860:4860::8888"],
  ...["2606:4700:4700::1111", "[2a00:1450:4001::200e]", "2000::1", "::ffff:8.8.8.8", "::ffff:808:808"],
  ...["64:ff9b::8.8.8.8", "64:ff9b::808:808"],
];

it(`isPublicAddress is true for ${PUBLIC.length} public addresses, and false for ${PRIVATE.length} others`, () => {
  expect(PUBLIC.filter((address) => !isPublicAddress(address))).toEqual([]);
  expect(PRIVATE.filter(isPublicAddress)).toEqual([]);
});
