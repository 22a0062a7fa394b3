import { findHome, type Home } from "#config/home.ts";
import type { Goald } from "./goald.ts";

/** The home of a test, found by its flag. */
export const homeOf = ({ home, cwd, userHome }: Pick<Goald, "home" | "cwd" | "userHome">): Promise<Home> =>
  findHome({
    ...{ flag: home, env: {}, cwd, checkout: undefined, userHome, configHome: undefined, isTerminal: false },
    ...{ askTrust: async () => false, uid: process.getuid?.() },
  });
