/** idle-daemon.child.ts -- a daemon that ends when nothing has needed it for IDLE_MS: `node … daemon --home FOLDER`. */
import { daemonVerb } from "../../src/cli/verbs/daemon.ts";

const home = process.argv.at(-1) ?? "";
process.exitCode = await daemonVerb({ home, revives: false, idleMs: Number(process.env.IDLE_MS) });
