/**
 * door.ts -- the door of the page: who comes in over 127.0.0.1, and the files that make the page.
 *
 * A ticket, which only the socket gives out, becomes a session once. Every call carries the session's key as a bearer
 * token. There is no cookie: a browser adds one also to requests of another page on this machine, such as one that an
 * agent serves.
 *
 * A session goes on when the daemon has died and is back, and another program may have had its port in between. So the
 * page never sends the session's secret. It asks for a proof that the door knows it, made for this port, and computes
 * the key from the secret and the salt of this process. A key that went to another program opens nothing at the next
 * door.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { globSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { basename, extname } from "node:path";
import type { Clock } from "#core/ports/clock.ts";
import { systemClock } from "#util/clock.ts";
import { asRecord, type JsonFile } from "#util/json.ts";
import { type Door, foreign, unknownKey } from "./refusals.ts";
import { ROUTES } from "./routes.ts";
import type { DashboardLink, DoorProof } from "./schemas.ts";

export interface PageDoor extends Door {
  /** Readers of the page's files, by their paths. Nothing else is served as a document. `type`: the content type. */
  readonly files: ReadonlyMap<string, () => Promise<{ readonly type: string; readonly content: string }>>;
  /** The port that pages with a session know, which an earlier door made; null for none. */
  readonly keptPort: number | null;
  /** Makes a ticket of one use, in the address of the page. */
  invite(port: number): DashboardLink;
  /** Returns the secret of a new session; undefined for a ticket that was used, has expired or never was. */
  exchange(ticket: string, port: number): Promise<string | undefined>;
  /** Proves that this process knows the sessions, at a port of its own. */
  prove(nonce: string, port: number): DoorProof;
}

const sign = (secret: string, ...words: readonly (string | number)[]): string =>
  createHmac("sha256", secret).update(words.join(" ")).digest("hex");

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

/** Not `localhost`: a browser asks [::1] first, where another program can listen. */
const hostsAt = (port?: number): readonly string[] => [`127.0.0.1:${port}`];

export interface DoorOptions {
  /** Holds `KeptSessions`. */
  readonly file: JsonFile;
  readonly clock?: Clock;
  /** That of the page's sources, or of the compiled ones in the package; it ends with a slash. */
  readonly folder?: URL;
}

export async function createDoor({ file, clock = systemClock, folder = PAGE_FOLDER }: DoorOptions): Promise<PageDoor> {
  const tickets = createSecrets(TICKET_MS, clock);
  const { port: keptPort, sessions: kept } = await readSessions(file);
  const sessions = createSecrets(SESSION_MS, clock, kept);
  const salt = randomBytes(32).toString("hex");
  return {
    hosts: hostsAt,
    origins: (port) => hostsAt(port).map((host) => `http://${host}`),
    headers: HEADERS,
    files: findPageFiles(folder),
    keptPort: sessions.all().length > 0 ? keptPort : null,
    invite: (port) => {
      const { secret, endsAt } = tickets.make();
      return { url: `http://127.0.0.1:${port}/#t=${secret}`, expiresAt: new Date(endsAt).toISOString() };
    },
    exchange: async (ticket, port) => {
      if (!tickets.take(ticket)) return undefined;
      const { secret } = sessions.make();
      await file.write({ port, sessions: sessions.all() } satisfies KeptSessions);
      return secret;
    },
    prove: (nonce, port) => ({
      salt,
      proofs: sessions.all().map(({ secret }) => sign(secret, "proof", port, salt, nonce)),
    }),
    authenticate: ({ headers, method, routeOptions }, { raw }) => {
      const key = /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
      const session = sessions.all().find(({ secret }) => isEqual(sign(secret, "key", salt), key));
      if (session === undefined) return unknownKey;
      const route = ROUTES.find((each) => each.method === method && each.path === routeOptions.url);
      if (route?.socketOnly) return foreign(403, `A page cannot make this call. ${route.socketOnly}`);
      // A stream ends with the session.
      const answered = new AbortController();
      raw.once("close", () => answered.abort());
      void clock.sleep(session.endsAt - clock.now().getTime(), answered.signal).then(() => raw.destroy());
      return undefined;
    },
  };
}

/** `endsAt`: in ms since 1970. */
interface Secret {
  readonly secret: string;
  readonly endsAt: number;
}
/** `port`: the one that the pages know. */
interface KeptSessions {
  readonly port: number;
  readonly sessions: readonly Secret[];
}

/** Reads what a door has kept: no sessions when the file is missing or damaged. */
async function readSessions(file: JsonFile): Promise<KeptSessions> {
  const { port, sessions } = asRecord(await file.read());
  const isKept = Number.isInteger(port) && Array.isArray(sessions);
  return isKept ? ({ port, sessions } as KeptSessions) : { port: 0, sessions: [] };
}

/** More than the pages of one person; further secrets end the oldest. */
const MAX_SECRETS = 100;

/** Compares in constant time, whatever the lengths. */
const isEqual = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(sign("", one)), Buffer.from(sign("", other)));

/** Secrets of 256 bits, valid for `lifeMs`. */
function createSecrets(lifeMs: number, clock: Clock, kept: readonly Secret[] = []) {
  const all = (): readonly Secret[] => kept.filter(({ endsAt }) => endsAt > clock.now().getTime());
  return {
    /** Returns the secrets that have not ended. */
    all,
    make: (): Secret => {
      // Hexadecimal, because no pattern of a redactor takes it for a key of somebody.
      const made = { secret: randomBytes(32).toString("hex"), endsAt: clock.now().getTime() + lifeMs };
      kept = [...all(), made].slice(-MAX_SECRETS);
      return made;
    },
    /** Returns true once for each secret that has not ended. */
    take: (secret: string): boolean => {
      const found = all().find((each) => isEqual(each.secret, secret));
      kept = all().filter((each) => each !== found);
      return found !== undefined;
    },
  };
}

const PAGE_FOLDER = new URL("../page/", import.meta.url);
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * Returns the files of the page by their paths: a path is looked up in this table and never becomes a path on the disk.
 * A script has the path that other scripts import, `/page/NAME.ts`, also where it is compiled.
 */
function findPageFiles(folder: URL): PageDoor["files"] {
  const own = globSync("*.{css,html,js,svg,ts}", { cwd: folder, exclude: ["*.d.ts"] }).map((name) => {
    const path = name === "index.html" ? "/" : `/page/${name.replace(/\.js$/, ".ts")}`;
    return [path, createFileReader(new URL(name, folder))] as const;
  });
  const packages = ["preact", "preact/hooks", "htm", "marked"].map(
    (name) => [`/vendor/${basename(name)}.js`, createFileReader(new URL(import.meta.resolve(name)))] as const,
  );
  return new Map([...own, ...packages]);
}

/**
 * Reads the file again when it has changed. Types are stripped here in a checkout, and by the build in the package. A
 * browser finds no package by its name, and the policy allows no import map.
 */
function createFileReader(file: URL) {
  const extension = extname(file.pathname);
  let known = { mtimeMs: 0, content: "" };
  return async () => {
    const { mtimeMs } = await stat(file);
    if (known.mtimeMs !== mtimeMs) {
      const text = await readFile(file, "utf8");
      known = {
        mtimeMs,
        content: (extension === ".ts" ? stripTypeScriptTypes(text) : text).replace(
          'from"preact"',
          'from"/vendor/preact.js"',
        ),
      };
    }
    return { type: TYPES[extension] ?? "text/javascript; charset=utf-8", content: known.content };
  };
}
