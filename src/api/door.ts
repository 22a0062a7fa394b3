/**
 * door.ts -- the door of the page: who comes in over 127.0.0.1, and the files that make the page.
 *
 * A ticket, which only the socket gives out, becomes a session key once. Every call carries the key as a bearer token.
 * There is no cookie: a browser adds one also to requests of another page on this machine, such as one that an agent
 * serves. Keys live in this process alone.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { globSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { extname } from "node:path";
import type { Clock } from "#core/ports/clock.ts";
import { systemClock } from "#util/clock.ts";
import { type Door, foreign, unknownKey } from "./refusals.ts";
import { ROUTES } from "./routes.ts";
import type { DashboardLink } from "./schemas.ts";

export interface PageDoor extends Door {
  /** Readers of the page's files, by their paths. Nothing else is served as a document. `type`: the content type. */
  readonly files: ReadonlyMap<string, () => Promise<{ readonly type: string; readonly content: string }>>;
  /** Makes a ticket of one use, in the address of the page. */
  invite(port: number): DashboardLink;
  /** Returns a session key; undefined for a ticket that was used, has expired or never was. */
  exchange(ticket: string): string | undefined;
}

const TICKET_MS = 60_000;
const SESSION_MS = 12 * 3_600_000;

const HEADERS = {
  // Scripts, styles and connections of our own origin alone; no frame, no form, and no HTML made from text.
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
} as const;

const hostsAt = (port?: number): readonly string[] => [`127.0.0.1:${port}`, `localhost:${port}`];

/** `folder`: that of the page's sources, or of the compiled ones in the package; it ends with a slash. */
export function createDoor(clock: Clock = systemClock, folder = new URL("../page/", import.meta.url)): PageDoor {
  const tickets = createSecrets(TICKET_MS, clock);
  const keys = createSecrets(SESSION_MS, clock);
  return {
    hosts: hostsAt,
    origins: (port) => hostsAt(port).map((host) => `http://${host}`),
    headers: HEADERS,
    files: findPageFiles(folder),
    invite: (port) => {
      const { secret, endsAt } = tickets.make();
      return { url: `http://127.0.0.1:${port}/#t=${secret}`, expiresAt: new Date(endsAt).toISOString() };
    },
    exchange: (ticket) => (tickets.take(ticket) ? keys.make().secret : undefined),
    authenticate: ({ headers, method, routeOptions }, { raw }) => {
      const endsAt = keys.endOf(/^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1] ?? "");
      if (endsAt === undefined) return unknownKey;
      const route = ROUTES.find((each) => each.method === method && each.path === routeOptions.url);
      if (route?.socketOnly) return foreign(403, `A page cannot make this call. ${route.socketOnly}`);
      // A stream ends with the session.
      const answered = new AbortController();
      raw.once("close", () => answered.abort());
      void clock.sleep(endsAt - clock.now().getTime(), answered.signal).then(() => raw.destroy());
      return undefined;
    },
  };
}

/** More than the pages of one person; further secrets end the oldest. */
const MAX_SECRETS = 100;

/** Secrets of 256 bits, valid for `lifeMs`. Their digests alone are kept, and compared in constant time. */
function createSecrets(lifeMs: number, clock: Clock) {
  let kept: readonly { readonly digest: Uint8Array; readonly endsAt: number }[] = [];
  const digestOf = (secret: string): Uint8Array => createHash("sha256").update(secret).digest();
  const find = (secret: string) => {
    const digest = digestOf(secret);
    const found = kept.filter((each) => timingSafeEqual(each.digest, digest));
    return found.find(({ endsAt }) => endsAt > clock.now().getTime());
  };
  return {
    make: () => {
      // Hexadecimal, because no pattern of a redactor takes it for a key of somebody.
      const secret = randomBytes(32).toString("hex");
      const endsAt = clock.now().getTime() + lifeMs;
      kept = [...kept, { digest: digestOf(secret), endsAt }].slice(-MAX_SECRETS);
      return { secret, endsAt };
    },
    /** Returns when the secret ends, in ms since 1970; undefined for one that has ended or never was. */
    endOf: (secret: string) => find(secret)?.endsAt,
    /** Returns true once for each secret that has not ended. */
    take: (secret: string) => {
      const found = find(secret);
      kept = kept.filter((each) => each !== found);
      return found !== undefined;
    },
  };
}

// The files of the page. A path is looked up in a table and never becomes a path on the disk.

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A script has the path that other scripts import, `/page/NAME.ts`, also where it is compiled. */
function findPageFiles(folder: URL): PageDoor["files"] {
  const own = globSync("*.{css,html,js,svg,ts}", { cwd: folder, exclude: ["*.d.ts"] }).map((name) => {
    const path = name === "index.html" ? "/" : `/page/${name.replace(/\.js$/, ".ts")}`;
    return [path, createFileReader(new URL(name, folder))] as const;
  });
  return new Map([
    ...own,
    ["/vendor/preact-htm.js", createFileReader(new URL(import.meta.resolve("htm/preact/standalone")))],
    ["/vendor/marked.js", createFileReader(new URL(import.meta.resolve("marked")))],
  ]);
}

/** Reads the file again when it has changed. Types are stripped here in a checkout, and by the build in the package. */
function createFileReader(file: URL) {
  const extension = extname(file.pathname);
  let known = { mtimeMs: 0, content: "" };
  return async () => {
    const { mtimeMs } = await stat(file);
    if (known.mtimeMs !== mtimeMs) {
      const text = await readFile(file, "utf8");
      known = { mtimeMs, content: extension === ".ts" ? stripTypeScriptTypes(text) : text };
    }
    return { type: TYPES[extension] ?? "text/javascript; charset=utf-8", content: known.content };
  };
}
