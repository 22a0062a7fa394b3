/**
 * main-daemon.ts -- the composition of the daemon: a host that serves, goes on with its agents by itself, and reads its settings again.
 *
 * `openDaemon` takes the home's lock and takes calls when it resolves; nothing here decides anything.
 */
import type { Home } from "#config/home.ts";
import { chooseSocketPath } from "#config/open-home.ts";
import type { Settings } from "#config/settings.ts";
import type { Log } from "#util/log.ts";
import { type Host, openHost } from "./main.ts";
import { type Redactors, serveHost } from "./serve.ts";

/** Settings with what keeps their secrets out of what is shown and kept. */
export interface LoadedSettings extends Redactors {
  readonly settings: Settings;
}

export interface DaemonParts extends LoadedSettings {
  readonly home: Home;
  readonly log: Log;
  /** Reads the settings again. What it gives keeps out the secrets of all that it gave before, too: one that was replaced is still one. */
  load(): Promise<LoadedSettings>;
}

export interface Daemon {
  readonly socket: string;
  /** Agents go on from here; the local API answers already. */
  start(): Promise<void>;
  /** Resolves when somebody has asked over the local API that it goes down. */
  readonly asked: Promise<{ readonly graceMs: number }>;
  reload(): Promise<readonly string[]>;
  /** Finishes steps, closes streams, gives the lock back. What is not done after `graceMs` is cut off. */
  close(graceMs: number): Promise<void>;
  /** Cuts off what is under way now. */
  hurry(): void;
}

/** Throws as `openHost` does. */
export async function openDaemon(parts: DaemonParts): Promise<Daemon> {
  const { home, log } = parts;
  const socket = await chooseSocketPath(home, process.getuid?.());
  const host = await openHost(home, parts.settings, log, { role: "daemon", socket });
  try {
    return await serve(host, socket, parts);
  } catch (thrown) {
    await host[Symbol.asyncDispose]();
    throw thrown;
  }
}

async function serve(host: Host, socket: string, parts: DaemonParts): Promise<Daemon> {
  const asked = Promise.withResolvers<{ graceMs: number }>();
  let redactors: Redactors = parts;

  async function reload(): Promise<readonly string[]> {
    const loaded = await parts.load();
    const before = host.settings;
    await host.reload(loaded.settings);
    redactors = {
      redact: (text) => parts.redact(loaded.redact(text)),
      scrub: (text) => parts.scrub(loaded.scrub(text)),
    };
    host.log.info("Settings, commands and words were read again.");
    return changesBetween(before, loaded.settings);
  }

  const { supervisor, ...serving } = await serveHost({
    host,
    socket,
    role: "daemon",
    redact: (text) => redactors.redact(text),
    scrub: (text) => redactors.scrub(text),
    reload,
    shutdown: (graceMs) => asked.resolve({ graceMs }),
  });
  return {
    socket,
    start: () => supervisor.start(),
    asked: asked.promise,
    reload,
    close: async (graceMs) => {
      serving.setStopping();
      await supervisor.drain(graceMs);
      await serving.close("The daemon goes down.");
      await host[Symbol.asyncDispose]();
    },
    hurry: () => supervisor.abortAll("The daemon goes down at once."),
  };
}

/** Names only: values may be secrets. */
function changesBetween(before: Settings, after: Settings): readonly string[] {
  const flat = (value: unknown, name: string): readonly (readonly [string, string])[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key))
      : [[name, JSON.stringify(value)]];
  const earlier = new Map(flat(before, ""));
  return flat(after, "").flatMap(([name, text]) => (earlier.get(name) === text ? [] : [`${name} changed.`]));
}
