/**
 * connections.ts -- tells whether two processes of a home ask the same servers and models, with the same keys and
 * proxies. A daemon keeps what it was started with, and a terminal may have other variables. Each value becomes a short
 * digest that is salted with the daemon's start: it shows that two values differ, and nothing else about them.
 */
import { hash } from "node:crypto";
import { SETTINGS, type Setting, type Settings, valueAt } from "./settings.ts";

const OTHERS = /\.baseUrl$|^models\.(?:smart|fast|fallback|embedding)$|^pinecone\.controller$/;
const isConnection = ({ name, secret }: Pick<Setting, "name" | "secret">): boolean =>
  secret === true || OTHERS.test(name);

/** Node reads them, in small letters first. */
const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] as const;
const DIGEST_CHARS = 10;

/** Returns a digest and the name of each setting or variable, as `6fe1dd3e02 openai.baseUrl`; `-` for an unset one. */
export function connectionsOf(settings: Settings, env: NodeJS.ProcessEnv, salt: string): readonly string[] {
  const settled = SETTINGS.filter(isConnection).map(({ name }) => [name, valueAt(settings, name)] as const);
  const proxies = PROXIES.map((name) => [name, env[name.toLowerCase()] ?? env[name]] as const);
  return [...settled, ...proxies].map(([name, value]) => `${digestOf([salt, name, value ?? ""])} ${name}`);
}

const digestOf = (parts: readonly unknown[]): string =>
  parts.at(-1) === "" ? "-" : hash("sha256", JSON.stringify(parts)).slice(0, DIGEST_CHARS);

/** Returns the names whose values differ. */
export const differingConnections = (ours: readonly string[], theirs: readonly string[]): readonly string[] =>
  ours.filter((line) => !theirs.includes(line)).map((line) => line.split(" ")[1] ?? "");
