/** open-host.ts -- opens a host in this process: the daemon's, or one for a demo or a test in a home that nobody else uses. */
import { connectHost } from "#api/client.ts";
import type { RedactedSettings } from "#app/agent.ts";
import { type Host, type HostParts, openHost } from "#app/host.ts";
import { printNote } from "#cli/terminal/print.ts";
import { chooseSocketPath } from "#config/open-home.ts";
import { type Log, openLog } from "#util/log.ts";
import { clean } from "#util/outside-text.ts";
import type { CliContext } from "./context.ts";

/** Limits how long a slow client can delay the end. */
const LIMITS = { closeMs: 2_000, flushMs: 500 };

/** Throws as `openHost` does. Disposing it cuts off what still runs. */
export async function openPrivateHost(context: CliContext, parts: Pick<HostParts, "services" | "edges"> = {}) {
  const { redact, output } = context;
  const log = await openHostLog(context);
  const onProblem = (problem: string): void => output.say(redact(clean(problem)));
  const { host, socket } = await openServingHost(context, { ...parts, log, onProblem }, LIMITS);
  const close = async (): Promise<void> => {
    await host.stopServing("It is over.");
    await host.supervisor.drain(0);
    await host[Symbol.asyncDispose]();
  };
  return { host, client: connectHost(socket), [Symbol.asyncDispose]: close };
}

/** Accepts requests when it resolves. Throws as `openHost` does, and GOALD_DAEMON when it cannot listen. */
export async function openServingHost(
  { home, settings, redact, scrub }: CliContext,
  parts: Omit<HostParts, keyof RedactedSettings | "home" | "socket">,
  limits: Parameters<Host["serve"]>[0] = {},
) {
  const socket = await chooseSocketPath(home, process.getuid?.());
  await using closing = new AsyncDisposableStack();
  const host = closing.use(await openHost({ ...parts, home, settings, redact, scrub, socket }));
  await host.serve(limits);
  closing.move();
  return { host, socket };
}

/** A line that cannot be written is reported once. */
export const openHostLog = ({ home, redact, settings }: CliContext): Promise<Log> =>
  openLog({ folder: home.logFolder, redact, level: settings.log.level, onProblem: printNote });
