import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { CageLevel } from "#cage/cage.ts";
import { findCage, probeCage } from "#cage/find-cage.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { makeRepository } from "../helpers/git-repository.ts";
import { type GitServer, startGitServer } from "../helpers/git-server.ts";
import { useCloning } from "./cloning.ts";

/** A clone over TLS, as all of them are but those of these tests: by a certificate for a name that no resolver knows. */

/** Of the machine, as git is. */
const OPENSSL = "openssl";
const NAME = "pinned.test";
const NOWHERE = "http://127.0.0.1:1";
const levels = findLevelsHere();
const { root, at, clone: cloneFrom } = useCloning();
let behind: GitServer;
let server: Server;
let origin: string;

beforeAll(async () => {
  makeRepository(root, "plain.git", [{ path: "README.md", text: "# Plain\n" }]);
  const openssl = (...args: readonly string[]): void => void execFileSync(OPENSSL, args, { cwd: root, stdio: "pipe" });
  const newKey = ["-newkey", "rsa:2048", "-nodes"] as const;
  openssl("req", "-x509", ...newKey, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test");
  openssl("req", ...newKey, "-keyout", "server.key", "-out", "server.csr", "-subj", `/CN=${NAME}`);
  writeFileSync(join(root, "names"), `subjectAltName=DNS:${NAME}`);
  const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"] as const;
  openssl("x509", "-req", "-in", "server.csr", "-out", "server.pem", ...signing);
  behind = await startGitServer({ root });
  const pair = { key: readFileSync(join(root, "server.key")), cert: readFileSync(join(root, "server.pem")) };
  server = createServer(pair, (incoming, outgoing) => {
    const { url, method, headers } = incoming;
    const onwards = request({ host: "127.0.0.1", port: behind.port, path: url, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onwards);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `https://${NAME}:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await behind[Symbol.asyncDispose]();
});

interface CloneOptions {
  readonly name?: string;
  readonly atMost?: CageLevel;
}
const clone = (environment: NodeJS.ProcessEnv, { name = NAME, atMost }: CloneOptions = {}) => {
  const allow = origin.replace(NAME, name);
  const cage = () => (atMost ? probeCage({ atMost }) : findCage());
  const resolve = async () => ["127.0.0.1"];
  return cloneFrom(`${allow}/plain.git`, { environment, allow, resolve, findCage: cage });
};

describe("a clone over TLS", () => {
  it.each(levels)("connects to the checked address under the requested name, without a proxy (%s)", async (atMost) => {
    const proxies = Object.fromEntries(["https_proxy", "HTTPS_PROXY", "ALL_PROXY"].map((name) => [name, NOWHERE]));
    await clone({ ...process.env, ...proxies, GIT_SSL_CAINFO: join(root, "ca.pem") }, { atMost });
    expect(await readFile(at("README.md"), "utf8")).toBe("# Plain\n");
  });

  it.each<[title: string, more: Readonly<Record<string, string>>, name: string]>([
    ["a certificate that nobody vouches for", { GIT_SSL_NO_VERIFY: "1" }, NAME],
    ["a certificate for another name", { GIT_SSL_CAINFO: "ca.pem" }, "other.test"],
  ])("fails at %s in any environment", async (_title, more, name) => {
    const environment: NodeJS.ProcessEnv = { ...process.env, ...more };
    if (more.GIT_SSL_CAINFO) environment.GIT_SSL_CAINFO = join(root, more.GIT_SSL_CAINFO);
    const asked = behind.requests.length;
    const words = "could not show that it is the one of that name";
    const refusal = { code: "GOALD_GIT", message: expect.stringContaining(words) };
    await expect(clone(environment, { name })).rejects.toMatchObject(refusal);
    expect(behind.requests).toHaveLength(asked);
  });
});
